/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_REMOTE_RESULT_IN_H
#define HUTCH_REMOTE_RESULT_IN_H

#include <jansson.h>

#include "hutch/result.h"

/* The result that the daemon tells of, without its output: that has come before. */
int remote_result_in(const json_t *json, struct hutch_result **ret_result, struct hutch_error *err);
/* One that the daemon could not tell of any more: the caller has ended it. */
int remote_result_cancelled(struct hutch_result **ret_result, struct hutch_error *err);

/* figures: "connections", ...; denials: the list. Each may be NULL. */
int remote_egress_in(const json_t *figures, const json_t *denials, struct hutch_egress **ret_egress,
                     struct hutch_error *err);

#endif
