/* SPDX-License-Identifier: Apache-2.0 */
/* Logins for registries, as an engine wants them: JSON in base64, of the kind for URLs. They are
 * those that docker keeps, and travel in a header of the request that needs them. */
#ifndef HUTCH_DOCKER_LOGIN_H
#define HUTCH_DOCKER_LOGIN_H

#include "util/error.h"
#include "util/strlist.h"

/* For X-Registry-Auth. NULL: there is none for this registry. */
int docker_login_of(const char *registry, char **ret_login,
                    struct hutch_error *err) HUTCH_MUST_CHECK;
/* For X-Registry-Config. NULL: there is none for any of them. */
int docker_logins_of(const struct hutch_strlist *registries, char **ret_logins,
                     struct hutch_error *err) HUTCH_MUST_CHECK;
/* Frees it, and nothing of it stays in memory. */
void docker_login_free(char **login);

#endif
