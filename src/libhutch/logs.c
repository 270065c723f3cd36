/* SPDX-License-Identifier: Apache-2.0 */
/* What recorded commands have said, and how they ended: read from the sandbox's home, whatever
 * state it is in. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/native/client.h"
#include "backend/native/copy.h"
#include "backend/native/derive.h"
#include "backend/native/keeper.h"
#include "backend/native/lifecycle.h"
#include "backend/native/question.h"
#include "backend/native/sandbox.h"
#include "backend/native/warden.h"
#include "core/check.h"
#include "core/spec.h"
#include "hutch/hutch.h"
#include "libhutch/promises.h"
#include "libhutch/recorded.h"
#include "libhutch/scratch.h"
#include "store/log.h"
#include "util/fs.h"
#include "util/json_out.h"
#include "util/own.h"

/* ret_is_there: NULL when the caller does not care whether there is one at all. */
static int open_log(const struct hutch_sandbox *sandbox, const char *id, bool *ret_is_there,
                    struct hutch_error *err)
{
    char place[64] = "log";
    bool strange = id && (!*id || strlen(id) > 32 || strspn(id, "0123456789abcdef") != strlen(id));
    if (id)
        (void)snprintf(place, sizeof(place), "exec/%.32s", id);
    int fd = strange ? -1 : openat(sandbox->home.dir, place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret_is_there)
        *ret_is_there = fd >= 0;
    /* without a command of its own it has none, and its home has nothing that looks like one */
    if (fd < 0 && !id && errno == ENOENT)
        fd = openat(sandbox->home.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT,
                          "sandbox '%s' has no recorded command '%.40s'", sandbox->home.name,
                          id ? id : "");
    return fd;
}

static int place_reader(struct log_reader *reader, const struct hutch_log_options *options,
                        struct hutch_error *err)
{
    if (options->offset)
        log_reader_seek(reader, options->offset);
    else if (options->since_us)
        return log_reader_since(reader, options->since_us, err);
    else if (options->tail != UINT64_MAX)
        return log_reader_tail(reader, options->tail, options->streams, err);
    return 0;
}

/* How long nothing has come, and when that is to be told. */
struct quiet {
    uint64_t since_us;
    uint64_t most_us; /* 0: it is not told */
};

static bool is_too_quiet(struct quiet *quiet)
{
    uint64_t now = now_us();
    if (!quiet->most_us || now - quiet->since_us < quiet->most_us)
        return false;
    quiet->since_us = now;
    return true;
}

/* Waits for more. False when the caller wants no more, nobody is left to write any, or the command
 * has ended: what it leaves behind may go on writing, but is not waited for. */
static bool await_more(const struct hutch_sandbox *sandbox, int dir, struct log_reader *reader,
                       const struct hutch_log_options *options, bool *was_held)
{
    struct pollfd fds[2] = {{log_reader_watch_fd(reader), POLLIN, 0},
                            {options->cancel_fd, POLLIN, 0}};
    bool held = home_is_held(&sandbox->home) && faccessat(dir, "result", F_OK, 0) < 0;
    if (!held && !*was_held)
        return false; /* looked once more since its end */
    *was_held = held;
    if (!held)
        return true;
    (void)poll(fds, 2, fds[0].fd < 0 ? LOG_POLL_MS : 500);
    return !fds[1].revents;
}

static int read_log(const struct hutch_sandbox *sandbox, int dir, struct log_reader *reader,
                    const struct hutch_log_options *options, hutch_log_fn on_piece, void *userdata,
                    struct hutch_error *err)
{
    bool was_held = true;
    struct quiet quiet = {now_us(), options->quiet_ms * 1000};
    static const struct hutch_log_piece nothing = {.stream = HUTCH_STDOUT, .data = ""};
    for (;;) {
        struct log_chunk chunk;
        int state = log_reader_next(reader, options->streams, &chunk, err);
        if (state < 0)
            return state;
        if (state == LOG_NOTHING &&
            (!options->follow || !await_more(sandbox, dir, reader, options, &was_held)))
            return 0;
        if (state == LOG_NOTHING) {
            int told = is_too_quiet(&quiet) ? on_piece(userdata, &nothing) : 0;
            if (told != 0)
                return told;
            continue;
        }
        quiet.since_us = now_us();
        struct hutch_log_piece piece = {.stream = chunk.stream == LOG_STDERR ? HUTCH_STDERR
                                                                             : HUTCH_STDOUT,
                                        .offset = chunk.offset,
                                        .time_us = chunk.time_us,
                                        .lost_bytes = chunk.skipped_bytes,
                                        .data = chunk.data,
                                        .length = state == LOG_ENDED ? 0 : chunk.length};
        if (state == LOG_CHUNK || piece.lost_bytes) {
            int status = on_piece(userdata, &piece);
            if (status != 0)
                return status;
        }
        if (state == LOG_ENDED)
            return 0;
    }
}

int hutch_sandbox_logs(struct hutch_sandbox *sandbox, const struct hutch_log_options *options,
                       hutch_log_fn on_piece, void *userdata, struct hutch_error *err)
{
    struct hutch_log_options known = HUTCH_LOG_OPTIONS_INIT;
    struct log_reader *reader = NULL;
    OR_SCRATCH(err);
    if (options->size < offsetof(struct hutch_log_options, quiet_ms) ||
        options->size > sizeof(known))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "hutch_log_options has size %zu; start from HUTCH_LOG_OPTIONS_INIT",
                          options->size);
    memcpy(&known, options, options->size);
    options = &known;
    bool is_there;
    hutch_autofd int dir = open_log(sandbox, options->exec_id, &is_there, err);
    if (dir < 0)
        return dir;
    known.follow &= is_there; /* nobody will ever write one */
    int status = log_reader_open(dir, &reader, err);
    if (status == 0)
        status = place_reader(reader, options, err);
    if (status == 0)
        status = read_log(sandbox, dir, reader, options, on_piece, userdata, err);
    if (reader)
        log_reader_close(reader);
    return status;
}

/* How it ended, as its keeper wrote it down. */
int recorded_result(const struct hutch_sandbox *sandbox, const char *id,
                    struct wire_message *ret_message, struct hutch_error *err)
{
    char text[4096];
    static const struct wire_message empty = WIRE_MESSAGE_INIT;
    hutch_autofd int dir = open_log(sandbox, id, NULL, err);
    if (dir < 0)
        return dir;
    ssize_t length = hutch_read_at(dir, "result", text, sizeof(text));
    if (length <= 0)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                          "how command '%.40s' of sandbox '%s' ended is not known: its keeper "
                          "died before",
                          id, sandbox->home.name);
    *ret_message = empty;
    hutch_buf_append(&ret_message->text, text, (size_t)length);
    return 0;
}

/* A keeper says when a command has ended, and nothing before: whoever does not wait that long has
 * to give the connection up. False when the caller wants no more. */
static bool await_end(struct hutch_sandbox *sandbox, const struct wire_message *request,
                      int cancel_fd, struct hutch_error *err)
{
    sandbox_forget_stale(sandbox);
    if (sandbox_owes(sandbox))
        hutch_fd_close(&sandbox->socket);
    if (sandbox_connect(sandbox, true, err) < 0 || wire_send(sandbox->socket, request, err) < 0)
        return true; /* what there is to be known is written down */
    struct pollfd fds[2] = {{sandbox->socket, POLLIN, 0}, {cancel_fd, POLLIN, 0}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        ;
    if (fds[0].revents)
        return true;
    hutch_fd_close(&sandbox->socket);
    return false;
}

int hutch_sandbox_wait_or_cancel(struct hutch_sandbox *sandbox, const char *id, int cancel_fd,
                                 struct hutch_result **ret_result, struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    OR_SCRATCH(err);
    wire_begin(&request, "wait");
    wire_add(&request, "id", id);
    bool ended = await_end(sandbox, &request, cancel_fd, err);
    hutch_buf_done(&request.text);
    *ret_result = NULL;
    if (!ended)
        return 0;
    int status = sandbox->socket < 0 ? -1 : wire_receive(sandbox->socket, &answer, err);
    if (status < 0)
        hutch_fd_close(&sandbox->socket);
    if (status == 0 && wire_check(&answer, err) < 0) {
        wire_done(&answer);
        status = -1;
    }
    if (status < 0)
        status = recorded_result(sandbox, id, &answer, err);
    if (status < 0)
        return status;
    status = sandbox_result(&answer, ret_result, err);
    wire_done(&answer);
    return status;
}

int hutch_sandbox_wait(struct hutch_sandbox *sandbox, const char *id,
                       struct hutch_result **ret_result, struct hutch_error *err)
{
    return hutch_sandbox_wait_or_cancel(sandbox, id, HUTCH_NO_FD, ret_result, err);
}
