/* SPDX-License-Identifier: Apache-2.0 */
/* Images: fetched, kept, built, sent. These functions are in a library of their own
 * (libhutch-image), so that who only runs sandboxes loads no network library; hutch_run() with an
 * image that is not there yet starts the hutch program to fetch it. */
#ifndef HUTCH_IMAGE_H
#define HUTCH_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hutch/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HUTCH_IMAGE_DIGEST_BYTES 72

/* One step of a longer work. */
struct hutch_image_progress {
    const char *action; /* "download", "unpack", "upload", "wait", "done", "build", ... */
    const char *item;   /* which: a short digest, a name; of "build": a line of its log */
    uint64_t done;      /* bytes */
    uint64_t total;     /* 0: unknown */
};
/* May be called from other threads, but never from two at once. */
typedef void (*hutch_image_progress_fn)(void *userdata,
                                        const struct hutch_image_progress *progress);

/* Start from HUTCH_IMAGE_OPTIONS_INIT: fields may be added at the end. */
struct hutch_image_options {
    size_t size;
    const char *platform; /* "linux/arm64"; NULL: this machine's. Of push and snapshot: NULL */
    hutch_image_progress_fn on_progress; /* may be NULL */
    void *userdata;
};
#define HUTCH_IMAGE_OPTIONS_INIT                              \
    {                                                         \
        sizeof(struct hutch_image_options), NULL, NULL, NULL, \
    }

/* Fetches an image into the store and gives it its name there; what is there already is not fetched
 * again. */
HUTCH_API HUTCH_MUST_CHECK int hutch_image_pull(const char *reference,
                                                const struct hutch_image_options *options,
                                                char ret_digest[HUTCH_IMAGE_DIGEST_BYTES],
                                                struct hutch_error *err);
/* Sends an image of the store to the registry that `to` names (NULL: the reference's own). */
HUTCH_API HUTCH_MUST_CHECK int hutch_image_push(const char *reference, const char *to,
                                                const struct hutch_image_options *options,
                                                struct hutch_error *err);
/* Checks the credentials and keeps them where docker does. registry: "HOST" or "HOST:PORT"; NULL:
 * Docker Hub. */
HUTCH_API HUTCH_MUST_CHECK int hutch_image_login(const char *registry, const char *user,
                                                 const char *password, struct hutch_error *err);
HUTCH_API HUTCH_MUST_CHECK int hutch_image_logout(const char *registry, struct hutch_error *err);

struct hutch_image_info {
    const char *reference; /* the whole name */
    const char *name;      /* as short as people write it */
    const char *digest;    /* of its manifest; "sha256:" where the name is damaged */
    const char *platform;
    const char *created; /* may be NULL */
    uint64_t bytes;      /* of its layers as they travel */
    uint64_t changed_us; /* when the name was given to it */
    size_t layers;
};
/* Anything but 0 ends the listing. */
typedef int (*hutch_image_fn)(void *userdata, const struct hutch_image_info *info);
HUTCH_API HUTCH_MUST_CHECK int hutch_image_list(hutch_image_fn on_image, void *userdata,
                                                struct hutch_error *err);
/* By name or digest: everything about it as one JSON object. Free it with free(). */
HUTCH_API HUTCH_MUST_CHECK int hutch_image_inspect(const char *reference, char **ret_json,
                                                   struct hutch_error *err);
HUTCH_API HUTCH_MUST_CHECK int hutch_image_tag(const char *reference, const char *new_reference,
                                               struct hutch_error *err);
/* Takes the name away, and what no other name, run or sandbox needs. */
HUTCH_API HUTCH_MUST_CHECK int hutch_image_remove(const char *reference, struct hutch_error *err);
struct hutch_image_pruned {
    uint64_t items;
    uint64_t bytes;
};
typedef void (*hutch_image_pruned_fn)(void *userdata, const char *kind, const char *name);
/* Removes what no name leads to; with all, also the names that no sandbox uses. on_item and
 * ret_pruned may be NULL. */
HUTCH_API HUTCH_MUST_CHECK int hutch_image_prune(bool all, bool dry_run,
                                                 hutch_image_pruned_fn on_item, void *userdata,
                                                 struct hutch_image_pruned *ret_pruned,
                                                 struct hutch_error *err);

/* A root filesystem (a directory, or a tar archive of any compression, "-" is standard input) as an
 * image of one layer. */
HUTCH_API HUTCH_MUST_CHECK int hutch_image_import(const char *path, const char *reference,
                                                  const struct hutch_image_options *options,
                                                  struct hutch_error *err);
/* The image's whole tree as one tar archive. */
HUTCH_API HUTCH_MUST_CHECK int hutch_image_export(const char *reference, int out_fd,
                                                  struct hutch_error *err);
enum hutch_image_format { HUTCH_IMAGE_OCI, HUTCH_IMAGE_DOCKER };
/* Images with their names and layers, as an archive that docker, podman and skopeo read. */
HUTCH_API HUTCH_MUST_CHECK int hutch_image_save(size_t count, const char *const *references,
                                                enum hutch_image_format format, int out_fd,
                                                struct hutch_error *err);
/* From such an archive ("-": standard input), or from the directory of an OCI layout. name: for an
 * image that has none in there; NULL: such an image is refused. on_image may be NULL. */
HUTCH_API HUTCH_MUST_CHECK int hutch_image_load(const char *path, const char *name,
                                                hutch_image_fn on_image, void *userdata,
                                                const struct hutch_image_options *options,
                                                struct hutch_error *err);

/* What a sandbox has written over its image, as one more layer of a new image. A sandbox that runs
 * is paused meanwhile. */
HUTCH_API HUTCH_MUST_CHECK int hutch_image_snapshot(const char *sandbox, const char *reference,
                                                    const struct hutch_image_options *options,
                                                    char ret_digest[HUTCH_IMAGE_DIGEST_BYTES],
                                                    struct hutch_error *err);

struct hutch_image_build {
    size_t size;            /* of this struct */
    const char *directory;  /* "-": standard input is a tar archive of it, of any compression */
    const char *dockerfile; /* NULL: Dockerfile in the directory. Of an archive: in that */
    const char *reference;  /* the name it gets */
    const char *const *build_args; /* NULL-terminated "KEY=VALUE"; may be NULL */
    bool no_cache;
    /* Which sandboxes are to run it; NULL: "native". The engine of "docker" builds it by itself and
     * keeps it; otherwise buildah does, for hutch's own store. */
    const char *backend;
};
HUTCH_API HUTCH_MUST_CHECK int hutch_image_build(const struct hutch_image_build *build,
                                                 const struct hutch_image_options *options,
                                                 struct hutch_error *err);

#ifdef __cplusplus
}
#endif
#endif
