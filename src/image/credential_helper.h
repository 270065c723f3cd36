/* SPDX-License-Identifier: Apache-2.0 */
/* docker-credential-NAME: a program of the user's choice that keeps logins. */
#ifndef HUTCH_IMAGE_CREDENTIAL_HELPER_H
#define HUTCH_IMAGE_CREDENTIAL_HELPER_H

#include "image/credentials.h"

/* None found is no failure. server: as docker names it. */
int credential_helper_get(const char *name, const char *server, struct credentials *ret_credentials,
                          struct hutch_error *err) HUTCH_MUST_CHECK;
int credential_helper_store(const char *name, const char *server, const char *user,
                            const char *password, struct hutch_error *err) HUTCH_MUST_CHECK;
int credential_helper_erase(const char *name, const char *server,
                            struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
