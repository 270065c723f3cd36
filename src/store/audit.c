/* SPDX-License-Identifier: Apache-2.0 */
/* Adding to the journal. Two events of a run cost a run next to nothing: two files are opened, and
 * for each event one lock is taken, the head is read, the line and the head are written. */
#include "store/audit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "store/audit_files.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/state_dir.h"

#define USUAL_LINE_BYTES 1000

static int fail(const struct audit *audit, int os_errno, const char *what, struct hutch_error *err)
{
    return hutch_fail_errno(err, os_errno,
                            "%s the audit journal '%.200s', without which nothing runs (give it "
                            "room, or set HUTCH_HOME to another directory)",
                            what, audit->directory);
}

static int name_directory(char *ret_path, struct hutch_error *err)
{
    char lib[400];
    if (state_directory("lib", lib, sizeof(lib), err) < 0)
        return -(int)err->code;
    (void)snprintf(ret_path, AUDIT_PATH_BYTES, "%s/audit", lib);
    return 0;
}

bool audit_exists(char ret_path[AUDIT_PATH_BYTES])
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    return state_exists("lib") && name_directory(ret_path, &ignored) == 0 &&
           access(ret_path, F_OK) == 0;
}

static int open_head(struct audit *audit)
{
    char path[AUDIT_PATH_BYTES + 8];
    (void)snprintf(path, sizeof(path), "%s/head", audit->directory);
    audit->head = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (audit->head >= 0)
        audit_who_self(&audit->self);
    return audit->head;
}

int audit_open_at(struct audit *audit, const char *directory, struct hutch_error *err)
{
    if (directory != audit->directory)
        (void)snprintf(audit->directory, sizeof(audit->directory), "%s", directory);
    return open_head(audit) < 0 ? fail(audit, errno, "open", err) : 0;
}

int audit_open(struct audit *audit, struct hutch_error *err)
{
    if (name_directory(audit->directory, err) < 0)
        return -(int)err->code;
    if (open_head(audit) >= 0)
        return 0;
    if (errno != ENOENT)
        return fail(audit, errno, "open", err);
    if (mkdir(audit->directory, 0700) < 0 && errno != EEXIST)
        return fail(audit, errno, "make", err);
    return audit_open_at(audit, audit->directory, err);
}

void audit_close(struct audit *audit)
{
    hutch_fd_close(&audit->segment);
    hutch_fd_close(&audit->head);
    audit->life = 0;
}

static int open_segment(struct audit *audit, uint64_t first, int flags)
{
    char path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES];
    hutch_fd_close(&audit->segment);
    audit_segment_path(audit->directory, first, path);
    audit->segment = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    audit->first = first;
    return audit->segment;
}

/* The segment is as long as the head says, or longer by what a killed writer left. */
static bool segment_fits(struct audit *audit, const struct audit_head *head)
{
    struct stat info;
    if (audit->first != head->first || audit->segment < 0)
        (void)open_segment(audit, head->first, head->end ? 0 : O_CREAT);
    if (audit->segment < 0 || fstat(audit->segment, &info) < 0 ||
        (uint64_t)info.st_size < head->end)
        return false;
    return (uint64_t)info.st_size == head->end || ftruncate(audit->segment, (off_t)head->end) == 0;
}

/* No head and no segment, or the first one without a line, of a writer that was killed: the first
 * event of all. */
static bool is_new(const struct audit *audit, struct hutch_error *err)
{
    hutch_autofree uint64_t *firsts = NULL;
    size_t count = 0;
    return audit_segments(audit->directory, &firsts, &count, err) == 0 &&
           (!count || (count == 1 && firsts[0] == 1 && !audit_has_line(audit->directory, 1)));
}

/* Where the next line goes. The lock is held. */
static int find_end(struct audit *audit, struct audit_head *head, struct hutch_error *err)
{
    int found = audit_head_read(audit->head, head);
    if (found <= 0)
        audit_head_begin(head);
    if (found == 0 && is_new(audit, err))
        return open_segment(audit, head->first, O_CREAT | O_TRUNC) < 0
                   ? fail(audit, errno, "write to", err)
                   : 0;
    if (found <= 0 || !segment_fits(audit, head))
        return audit_mend(audit, head, head, err);
    if (head->end < audit->segment_bytes)
        return 0;
    head->first = head->seq + 1;
    head->end = 0;
    return open_segment(audit, head->first, O_CREAT | O_TRUNC) < 0
               ? fail(audit, errno, "write to", err)
               : 0;
}

/* The line, then the head: with it the event is there. What cannot be written whole is not there at
 * all. */
static int write_line(struct audit *audit, struct audit_head *head, const struct hutch_buf *body,
                      struct hutch_error *err)
{
    struct audit_frame frame;
    struct audit_chain after = {.seq = head->seq};
    memcpy(after.hash, head->hash, sizeof(after.hash));
    audit_line_frame(&after, body, &frame);
    struct iovec parts[3] = {{frame.before, strlen(frame.before)},
                             {body->data, body->length},
                             {frame.behind, strlen(frame.behind)}};
    size_t length = parts[0].iov_len + parts[1].iov_len + parts[2].iov_len;
    ssize_t written = pwritev(audit->segment, parts, 3, (off_t)head->end);
    int cause = written < 0 ? errno : ENOSPC;
    if (written == (ssize_t)length) {
        struct audit_head next = {
            .first = head->first, .seq = frame.chain.seq, .end = head->end + length};
        memcpy(next.hash, frame.chain.hash, sizeof(next.hash));
        if (audit_head_write(audit->head, &next) == 0) {
            *head = next;
            return 0;
        }
        cause = errno;
    }
    (void)!ftruncate(audit->segment, (off_t)head->end);
    return fail(audit, cause, "write to", err);
}

static int append_locked(struct audit *audit, const struct audit_event *event,
                         const struct hutch_buf *body, struct hutch_error *err)
{
    struct audit_head head;
    if (find_end(audit, &head, err) < 0 || write_line(audit, &head, body, err) < 0)
        return -(int)err->code;
    if (event->begins_life) {
        if (audit_lock(audit->head, AUDIT_LOCK_LIVES + head.seq, F_WRLCK, false) < 0)
            return fail(audit, errno, "lock", err);
        audit->life = head.seq;
    }
    if (event->ends_life == audit->life)
        audit->life = 0;
    return 0;
}

/* Whoever leads no life any more lets go of all at once. */
static void unlock(const struct audit *audit, uint64_t ended)
{
    if (!audit->life) {
        audit_unlock_all(audit->head);
        return;
    }
    if (ended)
        (void)audit_lock(audit->head, AUDIT_LOCK_LIVES + ended, F_UNLCK, false);
    (void)audit_lock(audit->head, AUDIT_LOCK_ADD, F_UNLCK, false);
}

int audit_append(struct audit *audit, const struct audit_event *event, struct hutch_error *err)
{
    char usual[USUAL_LINE_BYTES];
    hutch_cleanup(hutch_buf_done) struct hutch_buf body = HUTCH_BUF_IN(usual, AUDIT_LINE_MAX);
    if (audit_line_body(&body, event, &audit->self, err) < 0)
        return -(int)err->code;
    if (audit_lock(audit->head, AUDIT_LOCK_ADD, F_WRLCK, true) < 0)
        return fail(audit, errno, "lock", err);
    int status = append_locked(audit, event, &body, err);
    unlock(audit, status == 0 ? event->ends_life : 0);
    return status;
}

int audit_write(const char *kind, audit_fields_fn fields, const void *userdata,
                struct hutch_error *err)
{
    struct audit audit = AUDIT_INIT;
    const struct audit_event event = {.kind = kind, .fields = fields, .userdata = userdata};
    int status = audit_open(&audit, err);
    if (status == 0)
        status = audit_append(&audit, &event, err);
    audit_close(&audit);
    return status;
}
