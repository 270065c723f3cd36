/* SPDX-License-Identifier: Apache-2.0 */
#include "image/push.h"

#include <stdlib.h>
#include <string.h>

#include "image/progress.h"
#include "image/registry.h"
#include "image/store_add.h"
#include "util/own.h"

struct push {
    const struct image_store *store;
    struct manifest manifest;
    char *text; /* of the manifest */
    size_t length;
    struct registry *registry;
    struct progress progress;
    const struct descriptor *blob; /* on its way */
};

static void push_done(struct push *push)
{
    registry_free(push->registry);
    manifest_done(&push->manifest);
    free(push->text);
}

static void tell(struct push *push, const char *action, uint64_t done)
{
    progress_tell(&push->progress, action, push->blob->digest, done, push->blob->size);
}

static void on_sent(void *context, uint64_t done)
{
    tell(context, "upload", done);
}

static int push_blob(struct push *push, const struct descriptor *blob, struct hutch_error *err)
{
    push->blob = blob;
    if (registry_has_blob(push->registry, blob->digest)) {
        tell(push, "exists", blob->size);
        return 0;
    }
    hutch_autofd int fd = store_open_blob(push->store, blob->digest, err);
    if (fd < 0)
        return fd;
    tell(push, "upload", 0);
    int r = registry_put_blob(push->registry, blob, fd, on_sent, push, err);
    if (r == 0)
        tell(push, "done", blob->size);
    return r;
}

static int push_all(struct push *push, const struct image_reference *to, struct hutch_error *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < push->manifest.layer_count; i++)
        r = push_blob(push, &push->manifest.layers[i], err);
    if (r == 0)
        r = push_blob(push, &push->manifest.config, err);
    if (r < 0)
        return r;
    return registry_put_manifest(push->registry, *to->digest ? to->digest : to->tag,
                                 manifest_media_type(&push->manifest), push->text, push->length,
                                 err);
}

int image_push(const struct image_store *store, const struct image *image,
               const struct image_reference *to, const struct hutch_image_options *options,
               struct hutch_error *err)
{
    hutch_cleanup(push_done) struct push push = {.store = store,
                                                 .progress = PROGRESS_INIT(options)};
    if (*to->digest && strcmp(to->digest, image->digest) != 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "an image with the digest %s cannot be sent as one with %s",
                          image->digest, to->digest);
    int r =
        store_read_blob(store, image->digest, MANIFEST_MAX_BYTES, &push.text, &push.length, err);
    if (r == 0)
        r = manifest_parse(push.text, push.length, NULL, &push.manifest, err);
    if (r == 0)
        r = registry_open(to, REGISTRY_PUSH, &push.registry, err);
    return r < 0 ? r : push_all(&push, to, err);
}
