/* SPDX-License-Identifier: Apache-2.0 */
/* As `docker save` wrote it until version 24: layers are plain tar archives. The store has them
 * compressed, and a header tells the size before the content, so each is decompressed twice: to
 * count, and to write. That costs less than a copy on the disk. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/archive_save.h"
#include "image/inflate.h"
#include "util/own.h"

#define COUNT_BYTES (256u << 10)

static void config_name(char *ret_name, size_t size, const char *digest)
{
    (void)snprintf(ret_name, size, "%s.json", IMAGE_DIGEST_HEX(digest));
}

static void layer_name(char *ret_name, size_t size, const char *diff_id)
{
    (void)snprintf(ret_name, size, "%s.tar", IMAGE_DIGEST_HEX(diff_id));
}

struct layer {
    int fd;
    struct inflate *inflate;
};

static void layer_close(struct layer *layer)
{
    inflate_free(layer->inflate);
    hutch_fd_close(&layer->fd);
}

static int layer_open(const struct save *save, const char *digest, struct layer *layer,
                      struct hutch_error *err)
{
    layer->fd = store_open_blob(save->store, digest, err);
    if (layer->fd < 0)
        return layer->fd;
    return inflate_new(save_read_fd, &layer->fd, &layer->inflate, err);
}

static ssize_t layer_read(void *context, void *buffer, size_t size, struct hutch_error *err)
{
    const struct layer *layer = context;
    return inflate_read(layer->inflate, buffer, size, err);
}

static int count_bytes(const struct save *save, const char *digest, uint64_t *ret_size,
                       struct hutch_error *err)
{
    hutch_cleanup(layer_close) struct layer layer = {.fd = HUTCH_NO_FD};
    uint64_t size = 0;
    ssize_t got = 0;
    if (layer_open(save, digest, &layer, err) < 0)
        return -(int)err->code;
    hutch_autofree char *buffer = malloc(COUNT_BYTES);
    if (!buffer)
        return hutch_fail_nomem(err);
    while ((got = layer_read(&layer, buffer, COUNT_BYTES, err)) > 0)
        size += (uint64_t)got;
    *ret_size = size;
    return got < 0 ? -(int)err->code : 0;
}

static int save_layer(struct save *save, const char *digest, const char *diff_id,
                      struct hutch_error *err)
{
    hutch_cleanup(layer_close) struct layer layer = {.fd = HUTCH_NO_FD};
    char name[128];
    layer_name(name, sizeof(name), diff_id);
    struct save_file file = {
        .name = name, .digest = diff_id, .read = layer_read, .context = &layer};
    if (save_has(save, name))
        return 0;
    if (count_bytes(save, digest, &file.size, err) < 0 || layer_open(save, digest, &layer, err) < 0)
        return -(int)err->code;
    return save_stream(save, &file, err);
}

static int save_image(struct save *save, const struct save_image *saved, struct hutch_error *err)
{
    hutch_autofree char *config = NULL;
    char name[128];
    size_t length = 0;
    for (size_t i = 0; i < saved->manifest.layer_count; i++)
        if (save_layer(save, saved->manifest.layers[i].digest, saved->diff_ids.items[i], err) < 0)
            return -(int)err->code;
    config_name(name, sizeof(name), saved->image.config_digest);
    if (save_has(save, name)) /* two manifests may have one configuration */
        return 0;
    if (hutch_strlist_add(&save->written, name, err) < 0 ||
        store_read_blob(save->store, saved->image.config_digest, CONFIG_MAX_BYTES, &config, &length,
                        err) < 0)
        return -(int)err->code;
    return save_text(save, name, config, length, err);
}

int save_docker(struct save *save, struct hutch_error *err)
{
    if (save_docker_manifest(save, config_name, layer_name, true, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < save->count; i++)
        if (save_image(save, &save->images[i], err) < 0)
            return -(int)err->code;
    return 0;
}
