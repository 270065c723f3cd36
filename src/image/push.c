/* SPDX-License-Identifier: Apache-2.0 */
#include "image/push.h"

#include <stdlib.h>
#include <string.h>

#include "image/registry.h"
#include "image/store_add.h"
#include "util/own.h"

struct push {
    struct image_store store;
    struct image image;
    struct manifest manifest;
    char *text; /* of the manifest */
    size_t length;
    struct registry *registry;
    image_push_fn *on_step;
    void *context;
    const struct descriptor *blob; /* on its way */
};

static void tell(const struct push *push, const char *action, uint64_t done)
{
    const struct descriptor *blob = push->blob;
    char item[13] = "";
    if (!push->on_step)
        return;
    memcpy(item, IMAGE_DIGEST_HEX(blob->digest), sizeof(item) - 1);
    push->on_step(push->context, action, item, done, blob->size);
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
    hutch_autofd int fd = store_open_blob(&push->store, blob->digest, err);
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
                                 push->manifest.is_docker
                                     ? "application/vnd.docker.distribution.manifest.v2+json"
                                     : "application/vnd.oci.image.manifest.v1+json",
                                 push->text, push->length, err);
}

static int read_image(struct push *push, const struct image_reference *reference,
                      struct hutch_error *err)
{
    int r = image_store_open(&push->store, false, err);
    if (r == 0)
        r = image_find(&push->store, reference, &push->image, err);
    if (r == 0)
        r = store_read_blob(&push->store, push->image.digest, MANIFEST_MAX_BYTES, &push->text,
                            &push->length, err);
    if (r == 0)
        r = manifest_parse(push->text, push->length, NULL, &push->manifest, err);
    return r;
}

int image_push(const struct image_reference *reference, const struct image_reference *to,
               image_push_fn *on_step, void *context, struct hutch_error *err)
{
    struct push push = {
        .store = {HUTCH_NO_FD}, .image = IMAGE_INIT, .on_step = on_step, .context = context};
    int r = read_image(&push, reference, err);
    if (r == 0 && *to->digest && strcmp(to->digest, push.image.digest) != 0)
        r = hutch_fail(err, HUTCH_E_INVALID, 0,
                       "an image with the digest %s cannot be sent as one with %s",
                       push.image.digest, to->digest);
    if (r == 0)
        r = registry_open(to, REGISTRY_PUSH, &push.registry, err);
    if (r == 0)
        r = push_all(&push, to, err);
    registry_free(push.registry);
    manifest_done(&push.manifest);
    free(push.text);
    image_done(&push.image);
    image_store_close(&push.store);
    return r;
}
