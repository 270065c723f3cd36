/* SPDX-License-Identifier: Apache-2.0 */
/* A registry, over HTTP: the distribution API with libcurl. Credentials go to the registry they
 * belong to and to the token service it names, never along a redirect. */
#ifndef HUTCH_IMAGE_REGISTRY_H
#define HUTCH_IMAGE_REGISTRY_H

#include "image/manifest.h"
#include "image/reference.h"

struct registry; /* a connection to one registry on behalf of one repository; used by one thread */

enum registry_access { REGISTRY_PULL, REGISTRY_PUSH };

/* Mirrors, plain HTTP and certificate authorities come from the configuration (config.h), the
 * credentials from where docker keeps them (credentials.h), proxies from the environment. */
int registry_open(const struct image_reference *reference, enum registry_access access,
                  struct registry **ret_registry, struct hutch_error *err) HUTCH_MUST_CHECK;
void registry_free(struct registry *registry);

/* A manifest or an index, by tag or digest. With a digest, what comes has to match. */
int registry_get_manifest(struct registry *registry, const char *tag_or_digest, char **ret_text,
                          size_t *ret_length, char ret_media_type[128],
                          char ret_digest[IMAGE_DIGEST_BYTES],
                          struct hutch_error *err) HUTCH_MUST_CHECK;

/* One chunk of a blob; anything but 0 ends the transfer with that failure in *err. */
typedef int registry_sink(void *context, const void *data, size_t length, struct hutch_error *err);
struct registry_get {
    const struct descriptor *blob;
    uint64_t from;                                          /* what is there already */
    int (*restart)(void *context, struct hutch_error *err); /* the server sends it all again */
    registry_sink *sink;
    void *context;
};
/* Fetches several at once, at most `parallel`. A cut connection is taken up again where it broke,
 * with patience that grows, while there is any progress; each failure tells which blob. */
int registry_get_blobs(struct registry *registry, struct registry_get *gets, size_t count,
                       unsigned parallel, struct hutch_error *err) HUTCH_MUST_CHECK;

bool registry_has_blob(struct registry *registry, const char *digest);
/* From a descriptor, size bytes. */
int registry_put_blob(struct registry *registry, const struct descriptor *blob, int fd,
                      void (*progress)(void *context, uint64_t done), void *context,
                      struct hutch_error *err) HUTCH_MUST_CHECK;
int registry_put_manifest(struct registry *registry, const char *tag_or_digest,
                          const char *media_type, const char *text, size_t length,
                          struct hutch_error *err) HUTCH_MUST_CHECK;
/* Do these credentials open the registry? For login. */
int registry_check_login(const char *name, const char *user, const char *password,
                         struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
