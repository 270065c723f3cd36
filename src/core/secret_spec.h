/* SPDX-License-Identifier: Apache-2.0 */
/* What a spec says about secrets: names and where their values go, never a value. */
#ifndef HUTCH_CORE_SECRET_SPEC_H
#define HUTCH_CORE_SECRET_SPEC_H

#include "core/egress.h"
#include "core/spec.h"

#define HUTCH_SECRETS_DIRECTORY "/run/secrets" /* inside */
#define HUTCH_SECRET_NAME_BYTES 65             /* with its NUL */

/* Letters, digits, '.', '_' and '-', not at its beginning: also a name of a file. */
bool hutch_secret_name_is_valid(const char *name);

/* "NAME", "NAME:env=VAR", "NAME:file[=PATH]", "NAME:edge=HOST[:PORT][,HOST...]:HEADER" and the same
 * with "edge-tls=". On failure the secret may hold anything that hutch_secret_done() releases. */
int hutch_secret_parse(const char *text, struct hutch_secret *secret, struct hutch_error *err);
/* Fills in the default and checks what is there: one way of delivery, each part well formed. */
int hutch_secret_complete(struct hutch_secret *secret, struct hutch_error *err);
void hutch_secret_done(struct hutch_secret *secret);

/* One of its hosts, with the port that is meant where none is given. */
int hutch_secret_host_parse(const struct hutch_secret *secret, const char *host,
                            struct egress_rule *ret_rule, struct hutch_error *err);

/* Is the value to be known inside? */
static inline bool hutch_secret_is_inside(const struct hutch_secret *secret)
{
    return secret->env || secret->file;
}

/* Does one of them intercept TLS? */
static inline bool hutch_secrets_intercept(const struct hutch_spec *spec)
{
    for (size_t i = 0; i < spec->secrets.count; i++)
        if (spec->secrets.items[i].intercepts_tls)
            return true;
    return false;
}

/* secret_check.c: a variable or a path is another's already, a host cannot be reached, ... */
int hutch_secrets_check(const struct hutch_spec *spec, struct hutch_error *err);

#endif
