/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorded command reads. Its keeper hands out the writing end: see
 * backend/native/session_record.c. */
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "backend/native/sandbox.h"
#include "hutch/hutch.h"
#include "libhutch/scratch.h"
#include "util/own.h"

/* The end to write to, and whether it is a terminal's. */
static int take_input(struct hutch_sandbox *sandbox, const char *id, bool closes,
                      bool *ret_is_terminal, struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    wire_begin(&request, "input");
    wire_add(&request, "id", id);
    if (closes)
        wire_add_number(&request, "close", 1);
    int status = sandbox_ask(sandbox, &request, &answer, err);
    hutch_buf_done(&request.text);
    if (status < 0)
        return status;
    *ret_is_terminal = wire_number(&answer, "terminal", 0);
    int fd = wire_take_fd(&answer, 0);
    wire_done(&answer);
    return fd < 0 ? hutch_fail(err, HUTCH_E_INTERNAL, 0, "the keeper sent no descriptor") : fd;
}

/* False when the caller wants no more, or nobody reads any more. */
static bool await_room(int fd, int cancel_fd)
{
    struct pollfd fds[2] = {{fd, POLLOUT, 0}, {cancel_fd, POLLIN, 0}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        ;
    return !fds[1].revents && !(fds[0].revents & (POLLERR | POLLHUP));
}

static int write_input(int fd, const char *data, size_t length, int cancel_fd, const char *id,
                       struct hutch_error *err)
{
    while (length) {
        ssize_t written = write(fd, data, length);
        if (written < 0 && (errno == EINTR || (errno == EAGAIN && await_room(fd, cancel_fd))))
            continue;
        if (written < 0)
            return hutch_fail(err, HUTCH_E_CONFLICT, errno,
                              errno == EAGAIN ? "command '%.40s' did not read all of its input"
                                              : "command '%.40s' reads nothing any more",
                              id);
        data += written;
        length -= (size_t)written;
    }
    return 0;
}

int hutch_sandbox_input(struct hutch_sandbox *sandbox, const char *id, const void *data,
                        size_t length, int cancel_fd, struct hutch_error *err)
{
    bool is_terminal = false;
    OR_SCRATCH(err);
    hutch_autofd int fd = take_input(sandbox, id, false, &is_terminal, err);
    return fd < 0 ? fd : write_input(fd, data, length, cancel_fd, id, err);
}

int hutch_sandbox_end_input(struct hutch_sandbox *sandbox, const char *id, struct hutch_error *err)
{
    struct termios modes;
    bool is_terminal = false;
    OR_SCRATCH(err);
    hutch_autofd int fd = take_input(sandbox, id, true, &is_terminal, err);
    if (fd < 0 || !is_terminal)
        return fd < 0 ? fd : 0;
    cc_t end = tcgetattr(fd, &modes) == 0 ? modes.c_cc[VEOF] : 4;
    return write_input(fd, (const char *)&end, 1, HUTCH_NO_FD, id, err);
}

int hutch_sandbox_resize(struct hutch_sandbox *sandbox, const char *id, uint16_t rows,
                         uint16_t columns, struct hutch_error *err)
{
    const struct winsize size = {.ws_row = rows, .ws_col = columns};
    bool is_terminal = false;
    OR_SCRATCH(err);
    if (!rows || !columns)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "a terminal has at least one row and one column");
    hutch_autofd int fd = take_input(sandbox, id, false, &is_terminal, err);
    if (fd < 0)
        return fd;
    if (!is_terminal)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "command '%.40s' has no terminal", id);
    return ioctl(fd, TIOCSWINSZ, &size) < 0 ? hutch_fail_errno(err, errno, "resize its terminal")
                                            : 0;
}
