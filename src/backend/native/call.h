/* SPDX-License-Identifier: Apache-2.0 */
/* A command that a client runs and waits for, and what flows between the two. */
#ifndef HUTCH_NATIVE_CALL_H
#define HUTCH_NATIVE_CALL_H

#include <stdbool.h>

#include "backend/native/capture.h"
#include "backend/native/keeper.h"
#include "backend/native/sandbox.h"
#include "secrets/share.h"

struct call {
    struct hutch_sandbox *sandbox;
    const struct hutch_exec_options *options;
    char id[33];
    int master;                 /* the command's terminal */
    int outputs[2];             /* our ends, where output passes through us */
    int os_errno;               /* why output could not be passed on, unless its reader left */
    struct feed feed;           /* input, where it passes through us */
    struct capture captures[3]; /* stdout, stderr, both */
    bool relays; /* all output passes through us, for values of secrets are taken out of it */
    struct shared_secrets secrets;
    struct redactor redactors[2];
    bool cancelled;
    struct wire_message end; /* "exited" */
    bool has_ended;
};

/* The command's three descriptors, those to be closed here marked as owned. */
int call_choose_stdio(struct call *call, int *fds, bool *ret_owned, struct hutch_error *err);
/* What the keeper of a sandbox whose output is redacted says. */
int call_take_secrets(struct call *call, int memfd, struct hutch_error *err);
/* From now on input goes to the terminal that the command was given. */
int call_feed_terminal(struct call *call, struct hutch_error *err);
/* What comes out, into the caller's descriptor and into what is kept. False when there is no more
 * now. */
bool call_take_output(struct call *call, int *source, size_t which, struct hutch_error *err);
/* Takes what was written before the end; what background processes write later is not waited for.
 * True when one of them still could. */
bool call_drain(struct call *call, struct hutch_error *err);
/* Has anything been lost on its way? */
int call_check(const struct call *call, struct hutch_error *err);

#endif
