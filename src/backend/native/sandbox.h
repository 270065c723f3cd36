/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of a sandbox that stays. */
#ifndef HUTCH_NATIVE_SANDBOX_H
#define HUTCH_NATIVE_SANDBOX_H

#include "backend/native/home.h"
#include "backend/native/wire.h"
#include "core/spec.h"
#include "hutch/sandbox.h"

struct hutch_sandbox {
    struct home home;
    char id[33];
    int socket;     /* to its keeper; negative: not connected */
    int null;       /* /dev/null for commands that read nothing; negative: not needed yet */
    bool is_silent; /* the last question was not answered in time */
    struct hutch_asker asker;
    bool owes_answer; /* and was sent: its answer comes before any other on this connection */
};

/* A connection, kept for later calls. Where the keeper has no room for one more caller, os_errno is
 * EAGAIN unless this waits. */
int sandbox_connect(struct hutch_sandbox *sandbox, bool waits, struct hutch_error *err);
/* Gives up the connection to a keeper that is not there any more. */
void sandbox_forget_stale(struct hutch_sandbox *sandbox);
static inline bool sandbox_owes(const struct hutch_sandbox *sandbox)
{
    return sandbox->owes_answer && sandbox->socket >= 0;
}
int sandbox_fail_gone(const struct hutch_sandbox *sandbox, struct hutch_error *err);
/* One question, one answer; reconnects once when the keeper has changed since the last one. */
int sandbox_ask(struct hutch_sandbox *sandbox, const struct wire_message *request,
                struct wire_message *ret_answer, struct hutch_error *err);
/* "exited" and what it says, as a result. */
int sandbox_result(const struct wire_message *message, struct hutch_result **ret_result,
                   struct hutch_error *err);
int sandbox_spec(const struct hutch_sandbox *sandbox, struct hutch_spec **ret_spec,
                 struct hutch_error *err);

#endif
