/* SPDX-License-Identifier: Apache-2.0 */
/* What manifests, indexes and configurations say: OCI image-spec 1.0 and Docker's version 2 schema
 * 2. Everything unknown is passed over; everything that is used is checked. */
#ifndef HUTCH_IMAGE_MANIFEST_H
#define HUTCH_IMAGE_MANIFEST_H

#include <stddef.h>

#include "image/store.h"

#define MANIFEST_MAX_BYTES (4u << 20)
#define CONFIG_MAX_BYTES (4u << 20)
#define MANIFEST_MAX_LAYERS 500 /* what overlayfs can stack */

struct descriptor {
    char media_type[128];
    char digest[IMAGE_DIGEST_BYTES];
    uint64_t size;
};

struct platform {
    char os[32];
    char architecture[32]; /* as Go calls it: amd64, arm64 */
    char variant[32];
};

/* Of this machine. */
void platform_here(struct platform *ret_platform);
/* "linux/amd64", "linux/arm64/v8", "arm64". */
int platform_parse(const char *text, struct platform *ret_platform,
                   struct hutch_error *err) HUTCH_MUST_CHECK;

#define MEDIA_OCI_INDEX "application/vnd.oci.image.index.v1+json"
#define MEDIA_OCI_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define MEDIA_OCI_CONFIG "application/vnd.oci.image.config.v1+json"
#define MEDIA_OCI_LAYER "application/vnd.oci.image.layer.v1.tar"
#define MEDIA_DOCKER_LIST "application/vnd.docker.distribution.manifest.list.v2+json"
#define MEDIA_DOCKER_MANIFEST "application/vnd.docker.distribution.manifest.v2+json"

enum manifest_kind { MANIFEST_IMAGE, MANIFEST_INDEX };

struct manifest {
    enum manifest_kind kind;
    bool is_docker; /* its media types */
    struct descriptor config;
    struct descriptor *layers; /* the lowest first */
    size_t layer_count;
    /* an index */
    struct descriptor *entries;
    struct platform *platforms;
    size_t entry_count;
};

/* media_type: what the server said, or NULL; the document's own word has to agree with it. */
int manifest_parse(const char *text, size_t length, const char *media_type,
                   struct manifest *ret_manifest, struct hutch_error *err) HUTCH_MUST_CHECK;
void manifest_done(struct manifest *manifest);
/* What the manifest of an image is called where it is sent or written. */
const char *manifest_media_type(const struct manifest *manifest);
/* The entry for the platform; HUTCH_E_NOT_FOUND names those that there are. */
int manifest_choose(const struct manifest *index, const struct platform *platform,
                    const struct descriptor **ret_entry, struct hutch_error *err) HUTCH_MUST_CHECK;
/* Does an image of this platform run on the wanted one? One that does not say which it is for does.
 */
int platform_check(const struct platform *image, const struct platform *wanted,
                   struct hutch_error *err) HUTCH_MUST_CHECK;

/* Fills everything of the image that the configuration tells, and the diff ids, the lowest first.
 */
int config_parse(const char *text, size_t length, struct image *image,
                 struct hutch_strlist *diff_ids, struct hutch_error *err) HUTCH_MUST_CHECK;
/* Manifest and configuration have to name as many layers. */
int manifest_check_layers(const struct manifest *manifest, const struct hutch_strlist *diff_ids,
                          struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
