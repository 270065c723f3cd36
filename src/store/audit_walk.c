/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the journal, and telling whether it is whole. Nothing in it is believed. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/audit_files.h"
#include "util/own.h"

struct walk {
    const char *directory;
    struct audit_chain *chain;
    audit_entry_fn on_entry;
    void *userdata;
    char segment[AUDIT_SEGMENT_NAME_BYTES];
};

static int tell(struct walk *walk, const char *line, size_t length, uint64_t number,
                const char *fault)
{
    struct audit_entry entry = {.line = line,
                                .length = length,
                                .seq = walk->chain->seq,
                                .segment = walk->segment,
                                .line_number = number,
                                .fault = fault && *fault ? fault : NULL};
    return walk->on_entry(walk->userdata, &entry);
}

static int walk_line(struct walk *walk, const char *line, size_t length, uint64_t number)
{
    char why[160];
    (void)audit_line_check(walk->chain, line, length, why, sizeof(why));
    return tell(walk, line, length, number, why);
}

/* Lines up to the one that the walk begins behind are passed over. */
static int walk_text(struct walk *walk, const char *text, size_t length, bool is_behind)
{
    uint64_t number = 0;
    uint64_t from = walk->chain->seq;
    while (length) {
        const char *end = memchr(text, '\n', length);
        size_t line = end ? (size_t)(end - text) : length;
        struct audit_chain says;
        number++;
        int status = 0;
        bool passes = !is_behind && audit_line_read(text, line, &says) && says.seq <= from;
        is_behind |= !passes;
        if (!end)
            status = tell(walk, text, line, number, "it is cut short");
        else if (!passes)
            status = walk_line(walk, text, line, number);
        if (status)
            return status;
        text += line + (end != NULL);
        length -= line + (end != NULL);
    }
    return 0;
}

/* Up to `most` bytes of a segment. */
static int read_segment(const struct walk *walk, uint64_t first, uint64_t most, char **ret_text,
                        size_t *ret_length, struct hutch_error *err)
{
    char path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES];
    struct stat info;
    audit_segment_path(walk->directory, first, path);
    hutch_autofd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "open '%.250s'", path);
    size_t size = (uint64_t)info.st_size < most ? (size_t)info.st_size : (size_t)most;
    if (!S_ISREG(info.st_mode) || size > AUDIT_SEGMENT_MAX_BYTES)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.250s' is no segment of a journal", path);
    hutch_autofree char *text = malloc(size + 1);
    size_t length = 0;
    if (!text)
        return hutch_fail_nomem(err);
    while (length < size) {
        ssize_t got = pread(fd, text + length, size - length, (off_t)length);
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    *ret_text = HUTCH_TAKE_PTR(text);
    *ret_length = length;
    return 0;
}

/* The head as it is between two events. 0: there is none. */
static int read_head(const char *directory, struct audit_head *ret_head)
{
    char path[AUDIT_PATH_BYTES + 8];
    (void)snprintf(path, sizeof(path), "%.*s/head", AUDIT_PATH_BYTES - 1, directory);
    hutch_autofd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    (void)audit_lock(fd, AUDIT_LOCK_ADD, F_RDLCK, true);
    return audit_head_read(fd, ret_head);
}

static int walk_end(struct walk *walk, int found, const struct audit_head *head, size_t count)
{
    char why[200] = "";
    (void)snprintf(walk->segment, sizeof(walk->segment), "head");
    if (found <= 0 && count)
        (void)snprintf(why, sizeof(why), "it is missing or damaged: events at the end may be too");
    else if (found > 0 && head->seq > walk->chain->seq)
        (void)snprintf(why, sizeof(why), "events %" PRIu64 " to %" PRIu64 " at the end are missing",
                       walk->chain->seq + 1, head->seq);
    else if (found > 0 && head->seq == walk->chain->seq &&
             strcmp(head->hash, walk->chain->hash) != 0)
        (void)snprintf(why, sizeof(why), "event %" PRIu64 " is not the one that was written last",
                       head->seq);
    else if (found > 0 && head->seq < walk->chain->seq)
        (void)snprintf(why, sizeof(why), "it says that event %" PRIu64 " is the last", head->seq);
    return *why ? tell(walk, NULL, 0, 0, why) : 0;
}

/* Segments in which all events come before the one that the walk begins behind. */
static size_t count_passed(const uint64_t *firsts, size_t count, uint64_t seq)
{
    size_t passed = 0;
    while (passed + 1 < count && firsts[passed + 1] <= seq + 1)
        passed++;
    return passed;
}

int audit_walk(const char *directory, struct audit_chain *chain, audit_entry_fn on_entry,
               void *userdata, struct hutch_error *err)
{
    struct walk walk = {directory, chain, on_entry, userdata, ""};
    struct audit_head head = {0};
    hutch_autofree uint64_t *firsts = NULL;
    size_t count = 0;
    if (access(directory, F_OK) < 0 && errno == ENOENT)
        return 0;
    int found = read_head(directory, &head);
    if (audit_segments(directory, &firsts, &count, err) < 0)
        return -(int)err->code;
    size_t passed = count_passed(firsts, count, chain->seq);
    for (size_t i = passed; i < count; i++) {
        hutch_autofree char *text = NULL;
        size_t length = 0;
        if (found > 0 && firsts[i] > head.first && firsts[i] > head.seq)
            break; /* begun since the head was read, or never finished */
        /* what a killed writer left behind the end was never there */
        uint64_t most = found > 0 && firsts[i] == head.first ? head.end : UINT64_MAX;
        (void)snprintf(walk.segment, sizeof(walk.segment), "segment-%020" PRIu64, firsts[i]);
        if (read_segment(&walk, firsts[i], most, &text, &length, err) < 0)
            return -(int)err->code;
        int status = walk_text(&walk, text, length, i > passed);
        if (status)
            return status;
    }
    return walk_end(&walk, found, &head, count);
}
