/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_NATIVE_CLIENT_H
#define HUTCH_NATIVE_CLIENT_H

#include "hutch/sandbox.h"

/* A question without details that is answered by "ok". */
int client_simple(struct hutch_sandbox *sandbox, const char *verb, struct hutch_error *err);
int client_exec(struct hutch_sandbox *sandbox, size_t argc, const char *const *argv,
                const struct hutch_exec_options *options, struct hutch_result **ret_result,
                struct hutch_error *err);
int client_spawn(struct hutch_sandbox *sandbox, size_t argc, const char *const *argv,
                 const struct hutch_exec_options *options, char *ret_id, struct hutch_error *err);

#endif
