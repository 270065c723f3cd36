/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in sandboxes, their sessions, logs and files: what the handlers share. The table of
 * their routes is in routes_streams.c. */
#ifndef HUTCH_SERVER_STREAMS_H
#define HUTCH_SERVER_STREAMS_H

#include "server/api.h"
#include "server/events_out.h"
#include "server/util.h"

static inline void sandbox_freep(struct hutch_sandbox **sandbox)
{
    hutch_sandbox_free(*sandbox);
}
#define server_autosandbox SERVER_CLEANUP(sandbox_freep)

/* ---- command.c: what is to be run, out of the body ---- */

struct command {
    const char **argv; /* borrowed from the body */
    size_t argc;
    char **env;
    int input; /* the reading end of what it is given to read */
    struct hutch_exec_options options;
};

/* Of "command", or of "script" as a shell's. Fails the call itself. Release it in any case. */
HUTCH_MUST_CHECK int command_read(struct api_call *call, struct command *ret_command);
/* The text of "stdin" becomes what it reads. Fails the call itself. */
HUTCH_MUST_CHECK int command_read_input(struct api_call *call, struct command *command);
void command_done(struct command *command);

/* ---- follow.c ---- */

/* Where to go on: Last-Event-ID of whoever comes back, or ?from. Fails the call itself. */
HUTCH_MUST_CHECK int follow_start(struct api_call *call, uint64_t *ret_offset);
/* What a recorded command says, from there to its end, and how it ended. */
void follow_command(struct events_out *out, struct hutch_sandbox *sandbox, const char *id,
                    uint64_t offset);

/* ---- sessions.c ---- */

/* NULL when there is no memory. */
json_t *session_json(const struct hutch_session *session);
/* Is it there? Fails the call itself. */
HUTCH_MUST_CHECK int session_check(struct api_call *call, struct hutch_sandbox *sandbox,
                                   const char *id);
/* "INT", "SIGINT", "2" or 2; 0 when it is none. */
int signal_number(const json_t *value);
/* Of something that was asked of a command: one that has ended is no unknown one. */
void session_fail(struct api_call *call, struct hutch_sandbox *sandbox, const char *id,
                  const struct hutch_error *err);

/* ---- routes_files.c ---- */

/* ?path has to be absolute. Fails the call itself. */
HUTCH_MUST_CHECK int file_check_path(struct api_call *call);
/* Much passes by: every time a pipe runs full or empty, two threads change places. */
void file_widen(int pipe);
/* A full disk is the sandbox's own limit, and no fault of the daemon. */
void file_fail(struct api_call *call, const struct hutch_error *err);

/* ---- handlers ---- */

void handle_execute(struct api_call *call);
void handle_session_start(struct api_call *call);
void handle_session_list(struct api_call *call);
void handle_processes(struct api_call *call);
void handle_session_get(struct api_call *call);
void handle_session_attach(struct api_call *call);
void handle_session_websocket(struct api_call *call); /* in the loop's thread */
void handle_session_stdin(struct api_call *call);
void handle_session_resize(struct api_call *call);
void handle_session_signal(struct api_call *call);
void handle_logs(struct api_call *call);
void handle_file_get(struct api_call *call);
void handle_file_put(struct api_call *call);
void handle_file_delete(struct api_call *call);
void handle_archive_get(struct api_call *call);
void handle_archive_put(struct api_call *call);

#endif
