/* SPDX-License-Identifier: Apache-2.0 */
#include "image/use.h"

#include <stdio.h>
#include <string.h>

#include "util/own.h"

const char *image_pinned_digest(const struct hutch_spec *spec)
{
    const char *at = spec->image ? strrchr(spec->image, '@') : NULL;
    const char *digest = at ? at + 1 : spec->image;
    return digest && image_digest_is_valid(digest) ? digest : NULL;
}

static int find(struct image_use *use, const char *text, struct hutch_error *err)
{
    struct image_reference reference;
    if (image_digest_is_valid(text))
        return image_find_digest(&use->store, text, &use->image, err);
    if (image_reference_parse(text, &reference, err) < 0)
        return -(int)err->code;
    return image_find(&use->store, &reference, &use->image, err);
}

int image_use_open(struct image_use *ret_use, const struct hutch_spec *spec,
                   struct hutch_error *err)
{
    struct image_use use = IMAGE_USE_INIT;
    int status = image_store_open(&use.store, false, err);
    if (status == 0)
        status = find(&use, spec->image, err);
    if (status == 0)
        status = image_use_settle(&use, spec, err);
    if (status < 0)
        image_use_done(&use);
    else
        *ret_use = use;
    return status;
}

void image_use_done(struct image_use *use)
{
    image_done(&use->image);
    image_store_close(&use->store);
    hutch_strlist_done(&use->command);
    *use = (struct image_use)IMAGE_USE_INIT;
}

int image_use_pin(const struct image_use *use, struct hutch_spec *spec, struct hutch_error *err)
{
    char text[IMAGE_REFERENCE_BYTES + IMAGE_DIGEST_BYTES];
    size_t name = strcspn(spec->image, "@");
    if (image_digest_is_valid(spec->image))
        return 0;
    (void)snprintf(text, sizeof(text), "%.*s@%s", (int)name, spec->image, use->image.digest);
    return hutch_spec_set(spec, "image", text, err);
}

int image_use_layers_path(const struct image_use *use, char *ret_path, size_t size,
                          struct hutch_error *err)
{
    char self[32];
    hutch_autofd int layers = image_open_layers(&use->store, err);
    if (layers < 0)
        return -(int)err->code;
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", layers);
    ssize_t length = readlink(self, ret_path, size - 1);
    if (length < 0)
        return hutch_fail_errno(err, errno, "see where the image's layers are");
    ret_path[length] = '\0';
    return 0;
}

size_t image_use_name_layers(const struct image_use *use, struct hutch_buf *names)
{
    const struct hutch_strlist *layers = &use->image.layers;
    size_t used = 0;
    for (size_t i = 0; i < layers->count; i++) {
        bool is_again = false;
        for (size_t k = 0; k < i && !is_again; k++)
            is_again = !strcmp(layers->items[k], layers->items[i]);
        if (is_again)
            continue;
        if (used++)
            hutch_buf_append(names, ":", 1);
        hutch_buf_append(names, layers->items[i], strlen(layers->items[i]));
    }
    hutch_buf_append(names, "", 1);
    return used;
}
