/* SPDX-License-Identifier: Apache-2.0 */
/* Of a configuration that is taken every text is there, every variable has a name and every layer a
 * digest; also what a refused one left half filled is released whole. */
#include "fuzz.h"

#include "image/manifest.h"

static void check_image(const struct image *image, const struct hutch_strlist *diff_ids)
{
    REQUIRE(image->user && image->workdir && image->stop_signal, "a text is missing");
    REQUIRE(!image->workdir[0] || image->workdir[0] == '/', "%s", image->workdir);
    for (size_t i = 0; i < image->env.count; i++) {
        const char *equals = strchr(image->env.items[i], '=');
        REQUIRE(equals && equals != image->env.items[i], "%s", image->env.items[i]);
    }
    for (size_t i = 0; i < image->labels.count; i++)
        REQUIRE(strchr(image->labels.items[i], '='), "%s", image->labels.items[i]);
    REQUIRE(diff_ids->count <= MANIFEST_MAX_LAYERS, "%zu", diff_ids->count);
    for (size_t i = 0; i < diff_ids->count; i++)
        REQUIRE(image_digest_is_valid(diff_ids->items[i]), "%s", diff_ids->items[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image image = IMAGE_INIT;
    struct hutch_strlist diff_ids = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    hutch_autofree char *text = fuzz_text(data, size);
    int r = config_parse(text, size, &image, &diff_ids, &err);
    if (r < 0) {
        REQUIRE(r == -HUTCH_E_INVALID || r == -HUTCH_E_UNSUPPORTED, "%d: %s", r, err.msg);
        REQUIRE(!strncmp(err.msg, "configuration: ", 15), "%s", err.msg);
    } else {
        check_image(&image, &diff_ids);
    }
    hutch_strlist_done(&diff_ids);
    image_done(&image);
    return 0;
}
