/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded commands: what they were started as, and what they read.
 *
 * What such a command reads never passes through the keeper, which would have to keep what the
 * command does not read yet, or to wait for it. It holds the writing end of the command's pipe, so
 * that input stays open while writers come and go, and hands it to whoever may talk to it at all:
 * who writes waits in the pipe, and when the keeper has closed its own end and the last writer is
 * gone, the command reads its end. The master of a terminal is handed out in the same way. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backend/native/warden.h"
#include "core/spec.h"
#include "util/fs.h"
#include "util/own.h"

#define WORDS_MAX_BYTES ((size_t)32 << 10) /* of a command line that is kept */

/* A list that is cut would be another command's: then there is none. */
static void add_command(const struct warden *warden, const struct session *session,
                        struct wire_message *about)
{
    size_t bytes = 0;
    for (size_t i = 0; i < session->command.count; i++)
        bytes += strlen(session->command.items[i]) + 1;
    if (bytes > WORDS_MAX_BYTES || hutch_spec_audit_is(warden->spec, "digest"))
        return;
    for (size_t i = 0; i < session->command.count; i++)
        wire_add(about, "arg", session->command.items[i]);
}

void session_record_start(const struct warden *warden, const struct session *session)
{
    struct wire_message about = WIRE_MESSAGE_INIT;
    hutch_autofd int fd = openat(session->directory, "about",
                                 O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    wire_begin(&about, "about");
    wire_add_number(&about, "started_us", warden_clock_us());
    wire_add_number(&about, "terminal", session->has_terminal);
    wire_add_number(&about, "input", session->has_terminal || session->input >= 0);
    add_command(warden, session, &about);
    if (fd >= 0 && !about.text.failed) /* a command is not refused for want of this */
        (void)!hutch_write_all(fd, about.text.data, about.text.length);
    hutch_buf_done(&about.text);
}

int session_make_input(struct session *session, struct wire_message *request, int *ret_fd,
                       struct hutch_error *err)
{
    int ends[2];
    *ret_fd = wire_take_fd(request, 0);
    if (*ret_fd >= 0)
        return 0;
    if (!wire_number(request, "keeps_stdin", 0)) {
        *ret_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return *ret_fd < 0 ? hutch_fail_errno(err, errno, "open '/dev/null'") : 0;
    }
    if (pipe2(ends, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    *ret_fd = ends[0];
    session->input = ends[1];
    return 0;
}

int ask_input(struct warden *warden, struct client *client, struct wire_message *request,
              struct hutch_error *err)
{
    struct wire_message answer = WIRE_MESSAGE_INIT;
    struct session *session = session_by_id(warden, wire_get(request, "id"), err);
    if (!session)
        return -(int)err->code;
    int target = session->has_terminal ? session->pipes[0] : session->input;
    if (session->phase != SESSION_RUNNING || target < 0)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0,
                          session->phase == SESSION_ENDED
                              ? "command '%s' has ended and reads nothing any more"
                              : "command '%s' reads no input, or its input was closed before; one "
                                "that is to read has to be started so",
                          session->id);
    wire_begin(&answer, "input");
    wire_add_number(&answer, "terminal", session->has_terminal);
    wire_add_fd(&answer, target);
    client_answer(client, &answer);
    hutch_buf_done(&answer.text);
    if (wire_number(request, "close", 0))
        hutch_fd_close(&session->input);
    return 0;
}
