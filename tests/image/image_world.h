/* SPDX-License-Identifier: Apache-2.0 */
/* A store of its own, and small images in it that are whole: a manifest, a configuration, and
 * layers with their blobs. What an image holds follows from its number, so that anybody can check
 * it. */
#ifndef HUTCH_TESTS_IMAGE_WORLD_H
#define HUTCH_TESTS_IMAGE_WORLD_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/hash.h"
#include "image/prune_live.h"
#include "image/store_add.h"
#include "util/own.h"
#include "util/remove_tree.h"

#define WORLD_LAYERS 2
#define WORLD_BLOB_BYTES 9000

struct world {
    char home[64];
    struct image_store store;
};

static inline int world_make(struct world *world, const char *parent)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)snprintf(world->home, sizeof(world->home), "%s/hutch-images-XXXXXX", parent);
    if (!mkdtemp(world->home) || setenv("HUTCH_HOME", world->home, 1) < 0)
        return -1;
    return image_store_open(&world->store, true, &err);
}

static inline int world_remove(struct world *world)
{
    image_store_close(&world->store);
    return remove_tree(AT_FDCWD, world->home);
}

/* The bytes of a layer's blob. Layer 0 is shared by all images. */
static inline void world_bytes(unsigned image, unsigned layer, char bytes[WORLD_BLOB_BYTES])
{
    unsigned key = layer ? image * 100 + layer : 0;
    for (size_t i = 0; i < WORLD_BLOB_BYTES; i++)
        bytes[i] = (char)((key * 131 + i * 7 + (i >> 8)) & 0xff);
}

static inline int world_put(int dir, const char *name, const char *text)
{
    hutch_autofd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static inline int world_add_blob(const struct world *world, const char *bytes, const char *digest,
                                 struct hutch_error *err)
{
    struct blob_writer *writer = NULL;
    bool there = false;
    uint64_t have = 0;
    int r = blob_begin(&world->store, digest, WORLD_BLOB_BYTES, &writer, &there, &have, err);
    while (r >= 0 && !there && have < WORLD_BLOB_BYTES) {
        size_t part = WORLD_BLOB_BYTES - have < 1500 ? WORLD_BLOB_BYTES - (size_t)have : 1500;
        r = blob_write(writer, bytes + have, part, err);
        have += part;
    }
    if (r >= 0 && !there)
        r = blob_commit(writer, err);
    blob_free(writer);
    return r;
}

/* A few files; that of the layer's own name holds its key. */
static inline int world_fill(int dir, unsigned layer, const char *key)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "layer%u", layer);
    if (mkdirat(dir, "etc", 0755) < 0 || world_put(dir, name, key) < 0)
        return -1;
    return world_put(dir, "etc/top", key);
}

static inline int world_add_layer(const struct world *world, unsigned layer, const char *key,
                                  char name[16], struct hutch_error *err)
{
    struct layer_writer *writer = NULL;
    int dir = -1;
    if (store_find_layer(&world->store, key, name))
        return 0;
    int r = layer_begin(&world->store, &writer, &dir, err);
    if (r >= 0 && world_fill(dir, layer, key) < 0)
        r = hutch_fail_errno(err, errno, "fill a layer");
    if (r >= 0)
        r = layer_commit(writer, key, NULL, name, err);
    layer_free(writer);
    return r;
}

static inline int world_add_documents(const struct world *world,
                                      char digests[WORLD_LAYERS][IMAGE_DIGEST_BYTES],
                                      struct image *image, struct hutch_error *err)
{
    char config[1024], manifest[2048];
    int length =
        snprintf(config, sizeof(config),
                 "{\"os\":\"linux\",\"architecture\":\"amd64\",\"config\":{\"Env\":"
                 "[\"A=1\"]},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"%s\",\"%s\"]}}",
                 digests[0], digests[1]);
    int r = store_add_blob(&world->store, config, (size_t)length, image->config_digest, err);
    if (r < 0)
        return r;
    length = snprintf(
        manifest, sizeof(manifest),
        "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\","
        "\"config\":{\"mediaType\":\"application/vnd.oci.image.config.v1+json\",\"digest\":\"%s\","
        "\"size\":%d},\"layers\":[{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\","
        "\"digest\":\"%s\",\"size\":%d},{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\","
        "\"digest\":\"%s\",\"size\":%d}]}",
        image->config_digest, length, digests[0], WORLD_BLOB_BYTES, digests[1], WORLD_BLOB_BYTES);
    return store_add_blob(&world->store, manifest, (size_t)length, image->digest, err);
}

static inline void world_name(unsigned number, struct image_reference *ret_reference)
{
    *ret_reference = (struct image_reference){.registry = "localhost:5000", .tag = "latest"};
    (void)snprintf(ret_reference->repository, sizeof(ret_reference->repository), "test/i%u",
                   number);
}

static inline int world_set_texts(struct image *image)
{
    image->bytes = WORLD_LAYERS * WORLD_BLOB_BYTES;
    (void)snprintf(image->os, sizeof(image->os), "linux");
    (void)snprintf(image->architecture, sizeof(image->architecture), "amd64");
    image->user = strdup("");
    image->workdir = strdup("/");
    image->stop_signal = strdup("");
    return image->user && image->workdir && image->stop_signal ? 0 : -1;
}

/* Adds image `number` and gives it its name, as a pull does it; under the lock of who adds. */
static inline int world_add_unlocked(const struct world *world, unsigned number,
                                     char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    char bytes[WORLD_BLOB_BYTES], digests[WORLD_LAYERS][IMAGE_DIGEST_BYTES];
    char names[WORLD_LAYERS][16];
    struct image_reference reference;
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    int r = world_set_texts(&image);
    for (unsigned i = 0; r >= 0 && i < WORLD_LAYERS; i++) {
        world_bytes(number, i, bytes);
        r = hash_of(bytes, sizeof(bytes), digests[i], err);
        if (r >= 0)
            r = world_add_blob(world, bytes, digests[i], err);
        if (r >= 0)
            r = world_add_layer(world, i, digests[i], names[i], err);
    }
    for (unsigned i = 0; r >= 0 && i < WORLD_LAYERS; i++) /* the topmost first */
        r = hutch_strlist_add(&image.layers, names[WORLD_LAYERS - 1 - i], err);
    if (r >= 0)
        r = world_add_documents(world, digests, &image, err);
    if (r >= 0)
        r = store_add_image(&world->store, &image, err);
    world_name(number, &reference);
    if (r >= 0)
        r = store_set_reference(&world->store, &reference, image.digest, err);
    if (r >= 0 && ret_digest)
        memcpy(ret_digest, image.digest, IMAGE_DIGEST_BYTES);
    return r;
}

static inline int world_add(const struct world *world, unsigned number,
                            char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    hutch_autofd int lock = HUTCH_NO_FD;
    int r = store_begin_adding(&world->store, &lock, err);
    return r < 0 ? r : world_add_unlocked(world, number, ret_digest, err);
}

/* Is all of it there, and as it was added? */
static inline int world_check(const struct world *world, const struct image_reference *reference,
                              struct hutch_error *err)
{
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    char path[32], text[IMAGE_DIGEST_BYTES];
    int r = image_find(&world->store, reference, &image, err);
    if (r >= 0)
        r = store_check_blob(&world->store, image.digest, err);
    if (r >= 0)
        r = store_check_blob(&world->store, image.config_digest, err);
    for (unsigned i = 0; r >= 0 && i < WORLD_LAYERS; i++) {
        (void)snprintf(path, sizeof(path), "/layer%u", i);
        hutch_autofd int fd = image_open_file(&world->store, &image, path, err);
        if (fd < 0)
            return fd;
        if (read(fd, text, sizeof(text)) != IMAGE_DIGEST_BYTES - 1)
            return hutch_fail(err, HUTCH_E_INTERNAL, 0, "'%s' is cut", path);
        text[IMAGE_DIGEST_BYTES - 1] = '\0';
        r = store_check_blob(&world->store, text, err);
    }
    return r;
}

/* How many entries a directory of the store has. */
static inline int world_count(const struct world *world, const char *directory)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    return live_list(&world->store, directory, &names, &err) < 0 ? -1 : (int)names.count;
}

#endif
