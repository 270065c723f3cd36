/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of the routes of sandboxes and runs, a file for each concern; routes_sandboxes.c has
 * their table. */
#ifndef HUTCH_SERVER_SANDBOXES_H
#define HUTCH_SERVER_SANDBOXES_H

#include "server/api.h"

/* sandboxes_answer.c: everything about it, by hutch_sandbox_to_json(). NULL and *err otherwise. */
json_t *sandbox_answer(struct hutch_sandbox *sandbox, struct hutch_error *err);
/* The same without what only its keeper knows and without its spec, but for the labels. */
json_t *sandbox_summary(struct hutch_sandbox *sandbox, struct hutch_error *err);
/* Answers with it, or with why that cannot be. Frees the handle. */
void sandbox_reply(struct api_call *call, int status, struct hutch_sandbox *sandbox);
/* The same of one that was just made: 201, and its keeper is not asked what it uses. spec: what it
 * was made of, or NULL where that is to be read. Frees nothing. */
void sandbox_reply_made(struct api_call *call, const struct hutch_sandbox *sandbox,
                        const struct hutch_spec *spec);
#define SANDBOX_TIME_BYTES 32
void sandbox_time(uint64_t time_us, char ret_text[SANDBOX_TIME_BYTES]); /* RFC 3339 */

/* sandboxes_create.c */
extern const struct api_field create_fields[];
void handle_create(struct api_call *call);

/* sandboxes_list.c */
void handle_list(struct api_call *call);

/* sandboxes_life.c */
void handle_get(struct api_call *call);
void handle_remove(struct api_call *call);
void handle_start(struct api_call *call);
void handle_stop(struct api_call *call);
void handle_kill(struct api_call *call);
void handle_pause(struct api_call *call);
void handle_resume(struct api_call *call);

/* sandboxes_update.c */
void handle_update(struct api_call *call);

/* sandboxes_derive.c */
void handle_fork(struct api_call *call);
void handle_snapshot(struct api_call *call);
void handle_apply(struct api_call *call);
void handle_diff(struct api_call *call);

/* sandboxes_stats.c, sandboxes_egress.c */
void handle_stats(struct api_call *call);
void handle_egress(struct api_call *call);

/* routes_run.c, batch.c */
extern const struct api_field run_fields[];
extern const struct api_field batch_line_fields[];
void handle_run(struct api_call *call);
void handle_batch(struct api_call *call);

#endif
