/* SPDX-License-Identifier: Apache-2.0 */
/* What a keeper writes into the audit journal: who asked for a sandbox or a command, with what, and
 * how it ended. No value of a variable is ever among it, and no message: they may quote one. */
#ifndef HUTCH_NATIVE_LEDGER_H
#define HUTCH_NATIVE_LEDGER_H

#include "hutch/result.h"
#include "store/audit.h"

struct hutch_json_out;
struct hutch_spec;
struct keeper;
struct session;
struct warden;
struct wire_message;

/* A run: before its command is known to anybody who could start it; natively while PID 1 makes its
 * namespaces, so that nobody waits. From then on its life has begun, and has to end. For a sandbox
 * that stays it does nothing. */
int ledger_begin_run(struct keeper *keeper, struct hutch_error *err);
/* result NULL: there is none, because of failure. What cannot be written now is written by a sweep.
 */
void ledger_end_run(struct keeper *keeper, const struct hutch_result *result,
                    const struct hutch_error *failure);

/* A sandbox that stays, asked for by whoever waits for it. */
int ledger_begin_life(struct warden *warden, struct hutch_error *err);
void ledger_end_life(struct warden *warden);
/* One of its commands; the sandbox's own is part of its life. message: "exited", with all it says.
 */
int ledger_begin_exec(struct warden *warden, struct session *session, struct hutch_error *err);
void ledger_end_exec(struct warden *warden, struct session *session,
                     const struct wire_message *message);
void ledger_fail_exec(struct warden *warden, struct session *session,
                      const struct hutch_error *failure);

#endif
