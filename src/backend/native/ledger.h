/* SPDX-License-Identifier: Apache-2.0 */
/* What a keeper writes into the audit journal: who asked for a sandbox or a command, with what, and
 * how it ended. No value of a variable is ever among it, and no message: they may quote one. */
#ifndef HUTCH_NATIVE_LEDGER_H
#define HUTCH_NATIVE_LEDGER_H

#include "backend/native/home.h"
#include "hutch/egress.h"
#include "hutch/result.h"
#include "store/audit.h"

struct hutch_json_out;
struct hutch_spec;
struct keeper;
struct session;
struct warden;
struct wire_message;

/* ledger_egress.c: what a sandbox's table of egress had counted before this life. */
struct ledger_egress {
    uint64_t connections;
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t denied;
};
void ledger_egress_begin(struct ledger_egress *before, int table);
/* "egress": {...}; nothing where it is NULL. */
void ledger_put_egress(struct hutch_json_out *out, const struct hutch_egress *egress,
                       const struct ledger_egress *before);
/* The latest attempts that led nowhere, where there were any, as one event. name: NULL for a run.
 */
void ledger_note_denied(struct audit *audit, const char *id, const char *name,
                        const struct hutch_egress *egress, uint64_t since_us);

/* A run: before its command is known to anybody who could start it; natively while PID 1 makes its
 * namespaces, so that nobody waits. From then on its life has begun, and has to end. For a sandbox
 * that stays it does nothing. */
int ledger_begin_run(struct keeper *keeper, struct hutch_error *err);
/* result NULL: there is none, because of failure. What cannot be written now is written by a sweep.
 */
void ledger_end_run(struct keeper *keeper, const struct hutch_result *result,
                    const struct hutch_error *failure);

/* What the end of a sandbox's life tells of it. */
struct ledger_life {
    uint64_t number; /* 0: none has begun */
    char name[HOME_NAME_BYTES];
    uint64_t started_us;
    struct ledger_egress egress_before;
};

/* A sandbox that stays, asked for by whoever is at the other end of the socket. A life that goes on
 * is left for the new one, and ended by ledger_end_left(). */
int ledger_begin_life(struct warden *warden, int asker, struct hutch_error *err);
void ledger_end_life(struct warden *warden);
void ledger_life(const struct warden *warden, struct ledger_life *ret_life);
void ledger_end_left(struct warden *warden, const struct ledger_life *life, const char *reason);
void ledger_put_name(struct hutch_json_out *out, const struct warden *warden);
/* ledger_exec.c: one of its commands; the sandbox's own is part of its life. message: "exited",
 * with all it says.
 */
int ledger_begin_exec(struct warden *warden, struct session *session, struct hutch_error *err);
void ledger_end_exec(struct warden *warden, struct session *session,
                     const struct wire_message *message);
void ledger_fail_exec(struct warden *warden, struct session *session,
                      const struct hutch_error *failure);

#endif
