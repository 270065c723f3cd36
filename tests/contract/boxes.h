/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes that stay, in few words. Each call must succeed. */
#ifndef HUTCH_TESTS_BOXES_H
#define HUTCH_TESTS_BOXES_H

#include "contract.h"

struct hutch_sandbox *box_create(const char *name);
/* With fields of its own: "FIELD", "VALUE", ..., NULL. */
struct hutch_sandbox *box_create_with(const char *name, const char *const *fields);
struct hutch_sandbox *box_reopen(const char *name);
/* Removes it and frees the handle. */
void box_destroy(struct hutch_sandbox *box);

/* "sh -c script" inside. Free the result. */
struct hutch_result *box_shell(struct hutch_sandbox *box, const char *script,
                               const struct hutch_exec_options *options);
/* Must exit with 0 and have said exactly this. */
void box_says(struct hutch_sandbox *box, const char *script, const char *output);
/* In the background; the id is valid until the next call. */
const char *box_spawn(struct hutch_sandbox *box, const char *script);
const char *box_state(const struct hutch_sandbox *box);

/* Everything that a recorded command has said so far. Free it. */
char *box_log(struct hutch_sandbox *box, const char *id);
/* Waits until that many bytes are there. */
void box_await_log(struct hutch_sandbox *box, const char *id, size_t bytes);

#endif
