/* SPDX-License-Identifier: Apache-2.0 */
/* Logins, where docker keeps them: $DOCKER_CONFIG/config.json or ~/.docker/config.json, and the
 * credential helpers that it names. */
#ifndef HUTCH_IMAGE_CREDENTIALS_H
#define HUTCH_IMAGE_CREDENTIALS_H

#include "util/error.h"

/* All NULL: none. */
struct credentials {
    char *user;
    char *password;
    char *identity_token; /* instead of a password */
    char *origin;         /* the file or the helper they come from */
};

int credentials_find(const char *registry, struct credentials *ret_credentials,
                     struct hutch_error *err) HUTCH_MUST_CHECK;
void credentials_done(struct credentials *credentials);

int credentials_keep(const char *registry, const char *user, const char *password,
                     struct hutch_error *err) HUTCH_MUST_CHECK;
/* HUTCH_E_NOT_FOUND when there are none. */
int credentials_forget(const char *registry, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
