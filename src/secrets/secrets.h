/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets by their logical names. A value is read by the process that delivers it, as late as
 * possible, lives in memory that is cleared when it is released, and is in no argument, variable,
 * message, record or file of hutch's own.
 *
 * Where values come from is the operator's to say, in secrets.yml or secrets.json (config.c):
 *
 *     secrets:
 *       api-key: {file: /etc/hutch/secrets.d/api-key}
 *       token: {env: API_TOKEN}
 *       database: {command: [/usr/bin/pass, show, database], timeout: 5s}
 *     directories: [/run/secrets]
 */
#ifndef HUTCH_SECRETS_SECRETS_H
#define HUTCH_SECRETS_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

#include "hutch/secret.h"
#include "util/error.h"

#define SECRET_MAX_BYTES 65536

struct secret_value {
    char *bytes; /* in pages of their own: locked, not dumped */
    size_t length;
    size_t size; /* of the pages */
};

/* Room for size bytes and a NUL. */
int secret_value_new(struct secret_value *ret_value, size_t size, struct hutch_error *err);
/* Clears it first. */
void secret_value_done(struct secret_value *value);

/* Who reads a value: a keeper outlives its caller, whose variables it does not have. */
enum secret_reader { SECRET_READER_CALLER, SECRET_READER_KEEPER };

/* Finds the name among the operator's providers and reads its value. Any failure names the secret
 * and the provider, never a value. */
int secret_read(const char *name, enum secret_reader reader, struct secret_value *ret_value,
                struct hutch_error *err);

/* Every name that the providers have, each once. Stops when on_secret returns other than 0. */
int secret_list(hutch_secret_fn on_secret, void *userdata, struct hutch_error *err);

#endif
