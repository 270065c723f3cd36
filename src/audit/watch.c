/* SPDX-License-Identifier: Apache-2.0 */
/* Events as they are written. Every event writes the head, so one watch on that file tells of all
 * of them; then the lines are read that the head says are there. What has gone into the database
 * meanwhile, and its segment with it, is asked for there. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "util/own.h"

/* A line with what stands around its body. */
#define BUFFER_BYTES (AUDIT_LINE_MAX + AUDIT_BEFORE_BYTES + AUDIT_BEHIND_BYTES)

struct hutch_audit_watch {
    char directory[AUDIT_PATH_BYTES];
    int inotify;
    int head;
    int segment;
    uint64_t first; /* of the segment that is open */
    uint64_t at;    /* what of it has been read */
    uint64_t next;
};

struct reading {
    struct hutch_audit_watch *watch;
    hutch_audit_line_fn on_line;
    void *userdata;
    struct audit_head head;
    char *buffer;
    int status; /* what on_line said */
    struct hutch_error *err;
};

static void listen(const struct hutch_audit_watch *watch)
{
    char path[AUDIT_PATH_BYTES + 8];
    (void)snprintf(path, sizeof(path), "%s/head", watch->directory);
    (void)inotify_add_watch(watch->inotify, path, IN_MODIFY);
}

static int read_head(const struct hutch_audit_watch *watch, struct audit_head *ret_head)
{
    if (audit_lock(watch->head, AUDIT_LOCK_ADD, F_RDLCK, true) < 0)
        return -1;
    int found = audit_head_read(watch->head, ret_head);
    (void)audit_lock(watch->head, AUDIT_LOCK_ADD, F_UNLCK, false);
    return found;
}

static int open_watch(struct hutch_audit_watch *watch, struct hutch_error *err)
{
    struct audit audit = AUDIT_INIT;
    if (audit_open(&audit, err) < 0)
        return -(int)err->code;
    (void)snprintf(watch->directory, sizeof(watch->directory), "%s", audit.directory);
    watch->head = HUTCH_TAKE_FD(audit.head);
    audit_close(&audit);
    watch->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watch->inotify < 0)
        return hutch_fail_errno(err, errno, "watch the audit journal '%.200s'", watch->directory);
    listen(watch);
    return 0;
}

int hutch_audit_watch_new(uint64_t from, struct hutch_audit_watch **ret_watch,
                          struct hutch_error *err)
{
    struct audit_head head = {0};
    struct hutch_error scratch = HUTCH_ERROR_INIT;
    if (!err)
        err = &scratch;
    struct hutch_audit_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return hutch_fail_nomem(err);
    watch->inotify = watch->head = watch->segment = HUTCH_NO_FD;
    if (open_watch(watch, err) < 0) {
        hutch_audit_watch_free(watch);
        return -(int)err->code;
    }
    if (from == HUTCH_AUDIT_TO_COME)
        from = read_head(watch, &head) > 0 ? head.seq + 1 : 1;
    watch->next = from ? from : 1;
    *ret_watch = watch;
    return 0;
}

void hutch_audit_watch_free(struct hutch_audit_watch *watch)
{
    if (!watch)
        return;
    hutch_fd_close(&watch->segment);
    hutch_fd_close(&watch->head);
    hutch_fd_close(&watch->inotify);
    free(watch);
}

int hutch_audit_watch_fd(const struct hutch_audit_watch *watch)
{
    return watch->inotify;
}

uint64_t hutch_audit_watch_next(const struct hutch_audit_watch *watch)
{
    return watch->next;
}

/* ---- the journal ---- */

static int deliver(struct reading *reading, uint64_t seq, const char *line, size_t length)
{
    if (seq < reading->watch->next)
        return 0;
    reading->watch->next = seq + 1;
    reading->status = reading->on_line(reading->userdata, seq, line, length);
    return reading->status;
}

/* The segment that has the next event; 0: none has. behind: that begins there or later. */
static uint64_t find_segment(struct reading *reading, uint64_t *ret_behind)
{
    hutch_autofree uint64_t *firsts = NULL;
    size_t count = 0;
    uint64_t found = 0;
    *ret_behind = reading->head.seq + 1;
    if (audit_segments(reading->watch->directory, &firsts, &count, reading->err) < 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (firsts[i] <= reading->watch->next)
            found = firsts[i];
        else if (firsts[i] < *ret_behind)
            *ret_behind = firsts[i];
    }
    return found;
}

static bool open_segment(struct hutch_audit_watch *watch, uint64_t first)
{
    char path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES];
    hutch_fd_close(&watch->segment);
    audit_segment_path(watch->directory, first, path);
    watch->segment = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    watch->first = first;
    watch->at = 0;
    return watch->segment >= 0;
}

/* How much of the open segment is there. What a killed writer left behind the end is not. */
static uint64_t end_of_segment(const struct reading *reading)
{
    struct stat info;
    if (reading->watch->first == reading->head.first)
        return reading->head.end;
    return fstat(reading->watch->segment, &info) == 0 ? (uint64_t)info.st_size : 0;
}

/* Whole lines of the open segment, up to its end. */
static int read_lines(struct reading *reading)
{
    struct hutch_audit_watch *watch = reading->watch;
    uint64_t end = end_of_segment(reading);
    while (watch->at < end && !reading->status) {
        size_t wanted = end - watch->at < BUFFER_BYTES ? (size_t)(end - watch->at) : BUFFER_BYTES;
        ssize_t got = pread(watch->segment, reading->buffer, wanted, (off_t)watch->at);
        if (got <= 0)
            return 0;
        size_t used = 0;
        for (const char *line; !reading->status && used < (size_t)got;) {
            struct audit_chain says;
            line = reading->buffer + used;
            const char *newline = memchr(line, '\n', (size_t)got - used);
            if (!newline)
                break;
            used += (size_t)(newline - line) + 1;
            if (audit_line_read(line, (size_t)(newline - line), &says))
                (void)deliver(reading, says.seq, line, (size_t)(newline - line));
        }
        if (!used) /* no line is that long: it is none */
            used = (size_t)got;
        watch->at += used;
    }
    return reading->status;
}

/* ---- the database ---- */

static int deliver_row(void *userdata, const struct hutch_audit_event *event)
{
    struct reading *reading = userdata;
    if (!strcmp(event->json, "null")) /* damaged: whoever verifies is told */
        return 0;
    return deliver(reading, event->seq, event->json, strlen(event->json)) ? 1 : 0;
}

static int read_database(struct reading *reading)
{
    struct hutch_audit_query query = HUTCH_AUDIT_QUERY_INIT;
    query.from = reading->watch->next;
    hutch_fd_close(&reading->watch->segment);
    return audit_read(&query, deliver_row, reading, reading->err);
}

/* ---- both ---- */

/* The segment is read to its end and the next event is not there: it is in the next one, in the
 * database, or lost. */
static int go_on(struct reading *reading)
{
    uint64_t behind;
    struct hutch_audit_watch *watch = reading->watch;
    uint64_t found = find_segment(reading, &behind);
    if (found && (found != watch->first || watch->segment < 0)) {
        if (open_segment(watch, found))
            return 0;
        found = 0; /* collected since it was listed */
    }
    if (!found && read_database(reading) < 0)
        return -(int)reading->err->code;
    if (watch->next < behind && !reading->status)
        watch->next = behind;
    return 0;
}

static int read_all(struct reading *reading)
{
    struct hutch_audit_watch *watch = reading->watch;
    while (!reading->status && watch->next <= reading->head.seq) {
        if (watch->segment >= 0 && read_lines(reading))
            break;
        if (watch->next <= reading->head.seq && go_on(reading) < 0)
            return -(int)reading->err->code;
    }
    return reading->status;
}

int hutch_audit_watch_read(struct hutch_audit_watch *watch, hutch_audit_line_fn on_line,
                           void *userdata, struct hutch_error *err)
{
    char told[4096];
    struct hutch_error scratch = HUTCH_ERROR_INIT;
    struct reading reading = {
        .watch = watch, .on_line = on_line, .userdata = userdata, .err = err ? err : &scratch};
    while (read(watch->inotify, told, sizeof(told)) > 0)
        ;
    listen(watch);
    if (read_head(watch, &reading.head) <= 0 || reading.head.seq < watch->next)
        return 0;
    reading.buffer = malloc(BUFFER_BYTES);
    if (!reading.buffer)
        return hutch_fail_nomem(reading.err);
    int status = read_all(&reading);
    free(reading.buffer);
    return status;
}
