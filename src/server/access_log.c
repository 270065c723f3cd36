/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access_log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server/util.h"

struct access_log {
    char *path; /* NULL: standard output */
    int fd;
    bool has_failed; /* and that was said */
    uint64_t lost;   /* lines for which whoever reads had no room */
};

#define PATH_MOST 1024 /* so that a line fits into a pipe's last page */

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640);
}

int access_log_open(const char *path, struct access_log **ret_log, struct hutch_error *err)
{
    bool is_output = !strcmp(path, "-");
    struct access_log *log = calloc(1, sizeof(*log));
    if (log && !is_output)
        log->path = strdup(path);
    if (!log || (!is_output && !log->path)) {
        free(log);
        return server_fail_nomem(err);
    }
    log->fd = is_output ? STDOUT_FILENO : open_file(path);
    if (log->fd < 0) {
        access_log_close(log);
        return server_fail_errno(err, "open the access log '%.200s'", path);
    }
    *ret_log = log;
    return 0;
}

void access_log_close(struct access_log *log)
{
    int cause = errno;
    if (!log)
        return;
    if (log->path && log->fd >= 0)
        (void)close(log->fd);
    free(log->path);
    free(log);
    errno = cause;
}

void access_log_reopen(struct access_log *log)
{
    int fd = log && log->path ? open_file(log->path) : SERVER_NO_FD;
    if (fd < 0)
        return;
    (void)close(log->fd);
    log->fd = fd;
}

static void format_time(char text[32])
{
    uint64_t now_us = server_time_us();
    time_t seconds = (time_t)(now_us / 1000000);
    struct tm parts;
    char whole[24] = "";
    if (gmtime_r(&seconds, &parts))
        (void)strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(text, 32, "%s.%03uZ", whole, (unsigned)(now_us / 1000 % 1000));
}

/* Whoever reads a pipe too slowly must not hold up the loop: lines are left out, and that is said.
 */
static bool has_room(struct access_log *log)
{
    struct pollfd one = {.fd = log->fd, .events = POLLOUT};
    if (log->path || poll(&one, 1, 0) > 0) {
        if (log->lost)
            server_say("%llu lines of the access log were left out: nobody read them",
                       (unsigned long long)log->lost);
        log->lost = 0;
        return true;
    }
    log->lost++;
    return false;
}

/* A text that came from a client; what is not UTF-8 is told by its escapes alone. */
static json_t *text_of(const char *text, size_t length)
{
    return server_is_utf8(text, length) ? json_stringn(text, length) : json_string("?");
}

void access_log_write(struct access_log *log, const struct http_log_entry *entry)
{
    char when[32];
    size_t path = strcspn(entry->target, "?");
    if (!has_room(log))
        return;
    format_time(when);
    json_t *line =
        json_pack("{s:s,s:o,s:o,s:o,s:i,s:I,s:I,s:o,s:o}", "time", when, "who",
                  text_of(entry->note, strlen(entry->note)), "method",
                  text_of(entry->method, strlen(entry->method)), "path",
                  text_of(entry->target, path < PATH_MOST ? path : PATH_MOST), "status",
                  entry->status, "bytes", (json_int_t)entry->bytes_out, "us",
                  (json_int_t)entry->duration_us, "peer", text_of(entry->peer, strlen(entry->peer)),
                  "request_id", text_of(entry->request_id, strlen(entry->request_id)));
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    json_decref(line);
    if (!text)
        return;
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the NUL, so that it is one write */
    bool has_failed = server_write_all(log->fd, text, length + 1) < 0;
    if (has_failed && !log->has_failed)
        server_say("write the access log: %s", strerror(errno));
    log->has_failed = has_failed;
    free(text);
}
