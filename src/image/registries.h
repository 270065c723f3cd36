/* SPDX-License-Identifier: Apache-2.0 */
/* What the host's owner has to say about registries: registries.yml, a map from a registry's name
 * to
 *
 *     mirrors:  [https://mirror.example]   asked first, in this order, and then the registry itself
 *     insecure: true                       no certificate is checked, and plain HTTP will do
 *     ca:       /etc/ssl/private-ca.pem    an authority beside the system's; below the file's own
 *                                          directory when it is relative
 *     stall:    30s                        a connection that is silent for so long is given up
 *
 * $HUTCH_REGISTRIES names the file; otherwise it is hutch/registries.yml in the user's
 * configuration, or in /etc. The first that is there is read, no other. */
#ifndef HUTCH_IMAGE_REGISTRIES_H
#define HUTCH_IMAGE_REGISTRIES_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"
#include "util/strlist.h"

struct registry_settings {
    char *name; /* "localhost:5000" */
    struct hutch_strlist mirrors;
    bool is_insecure;
    char *ca; /* may be NULL */
    unsigned stall_seconds;
};

#define REGISTRY_STALL_SECONDS 30u

struct registries {
    struct registry_settings *entries;
    size_t count;
};

int registries_load(struct registries *ret_registries, struct hutch_error *err) HUTCH_MUST_CHECK;
void registries_done(struct registries *registries);
/* NULL: nothing is said about it. */
const struct registry_settings *registries_find(const struct registries *registries,
                                                const char *name);

#endif
