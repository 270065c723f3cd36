/* SPDX-License-Identifier: Apache-2.0 */
/* The record of what was done. An event is one line of JSON, appended to a journal under a lock
 * together with the hash of itself and of the event before it; from there it gets into a database,
 * for questions. An event that audit_write() has returned for is there, whoever is killed
 * afterwards. */
#ifndef HUTCH_STORE_AUDIT_H
#define HUTCH_STORE_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"
#include "util/json_out.h"

/* kind: "run", "create", "exec", "copy", "end", "denied", "policy", "start", "stop", "remove",
 * "update", ... ; fields: what is written is {"kind": ..., "time": ..., "who": {uid, pid, program},
 * FIELDS}. */
typedef void (*audit_fields_fn)(struct hutch_json_out *out, const void *userdata);
int audit_write(const char *kind, audit_fields_fn fields, const void *userdata,
                struct hutch_error *err);

#endif
