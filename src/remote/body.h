/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_REMOTE_BODY_H
#define HUTCH_REMOTE_BODY_H

#include <jansson.h>

#include "core/spec.h"

/* What a spec says, as the body of a request: only what was given, for the rest is the daemon's to
 * choose. What depends on the caller is settled first: variables that are passed on have their
 * values, files of variables are read, paths are absolute. */
int remote_body_of_spec(const struct hutch_spec *spec, json_t **ret_body, struct hutch_error *err);

/* A named sandbox that the spec is to begin with, as --sandbox says; NULL: none. */
const char *remote_template(void);
int remote_template_set(const char *name, struct hutch_error *err);

/* A directory of this machine that is to be sent into /workspace: '--workspace DIR:copy' where the
 * daemon is elsewhere. NULL: none. */
const char *remote_sent_workspace(const struct hutch_spec *spec);

#endif
