/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets by their logical names. A value is read by the process that delivers it, as late as
 * possible, lives in memory that is cleared when it is released, and is in no argument, variable,
 * message, record or file of hutch's own. */
#ifndef HUTCH_SECRETS_SECRETS_H
#define HUTCH_SECRETS_SECRETS_H

#include <stddef.h>

#include "util/error.h"

#define SECRET_MAX_BYTES 65536

struct secret_value {
    char *bytes; /* in pages of their own: locked, not dumped */
    size_t length;
};

/* Finds the name among the operator's providers and reads its value. Any failure names the secret
 * and the provider, never a value. */
int secret_read(const char *name, struct secret_value *ret_value, struct hutch_error *err);
void secret_value_done(struct secret_value *value);

/* Every name that the providers have. Stops when on_name returns other than 0. */
typedef int (*secret_name_fn)(void *userdata, const char *name, const char *provider);
int secret_list(secret_name_fn on_name, void *userdata, struct hutch_error *err);

#endif
