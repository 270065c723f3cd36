/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "backend/native/home.h"
#include "core/json_in.h"
#include "image/digest.h"
#include "util/own.h"

/* A home says which image it means as NAME@DIGEST, or by the digest alone. One that cannot be read
 * can only be removed, and one that is gone by now needs nothing. */
static int add_image(const char *name, bool is_leftover, struct hutch_strlist *digests,
                     struct hutch_error *err)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    hutch_cleanup(home_close) struct home home = HOME_INIT;
    hutch_cleanup(hutch_value_done) struct hutch_value spec = {0};
    hutch_autofree char *text = NULL;
    size_t length = 0;
    int r =
        is_leftover ? home_open_leftover(&home, name, &ignored) : home_open(&home, name, &ignored);
    if (r < 0 || home_read_spec(&home, &text, &length, &ignored) < 0 ||
        hutch_json_parse(text, length, &spec, &ignored) < 0)
        return 0;
    const char *image = hutch_value_text(hutch_value_get(&spec, "image"));
    const char *at = image ? strrchr(image, '@') : NULL;
    const char *digest = at ? at + 1 : image;
    return digest && image_digest_is_valid(digest) ? hutch_strlist_add(digests, digest, err) : 0;
}

int home_images(struct hutch_strlist *digests, struct hutch_error *err)
{
    int r = 0;
    for (int leftovers = 1; r >= 0 && leftovers >= 0; leftovers--) {
        hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
        r = home_names(&names, leftovers, err);
        for (size_t i = 0; r >= 0 && i < names.count; i++)
            r = add_image(names.items[i], leftovers, digests, err);
    }
    return r;
}
