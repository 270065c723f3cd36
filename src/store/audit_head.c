/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store/audit_files.h"
#include "util/own.h"

/* Every number has all its digits: the text is always as long, and one write replaces it. */
#define HEAD_FORMAT \
    "hutch-audit 1\nsegment %020" PRIu64 "\nseq %020" PRIu64 "\nend %020" PRIu64 "\nhash %s\n"
#define HEAD_BYTES 164 /* and the NUL behind it */
#define SEGMENT_PREFIX "segment-"

/* Together some five seconds. Whoever holds a lock has it for microseconds; one that was stopped
 * meanwhile must not stop everybody else for good. */
#define LOCK_PAUSE_NS 100000
#define LOCK_TRIES 30000

void audit_head_begin(struct audit_head *head)
{
    *head = (struct audit_head){.first = 1};
    memset(head->hash, '0', sizeof(head->hash) - 1);
}

static int format_head(const struct audit_head *head, char *text, size_t size)
{
    return snprintf(text, size, HEAD_FORMAT, head->first, head->seq, head->end, head->hash);
}

static uint64_t number_after(const char *key, const char **at)
{
    char *end;
    size_t length = strlen(key);
    if (strncmp(*at, key, length) != 0)
        return 0;
    uint64_t number = strtoull(*at + length, &end, 10);
    *at = end;
    return number;
}

/* What is read is right when it would be written the same. */
static bool parse_head(const char *text, struct audit_head *head)
{
    char again[HEAD_BYTES + 1];
    const char *at = text;
    *head = (struct audit_head){0};
    head->first = number_after("hutch-audit 1\nsegment ", &at);
    head->seq = number_after("\nseq ", &at);
    head->end = number_after("\nend ", &at);
    static const char key[] = "\nhash ";
    if (strlen(at) != sizeof(key) - 1 + SHA256_HEX_BYTES) /* and its newline */
        return false;
    memcpy(head->hash, at + sizeof(key) - 1, SHA256_HEX_BYTES - 1);
    return head->first && strspn(head->hash, "0123456789abcdef") == SHA256_HEX_BYTES - 1 &&
           format_head(head, again, sizeof(again)) == HEAD_BYTES - 1 && !strcmp(text, again);
}

int audit_head_read(int fd, struct audit_head *ret_head)
{
    char text[HEAD_BYTES + 1];
    ssize_t length = pread(fd, text, HEAD_BYTES, 0); /* one more than there should be */
    if (length <= 0)
        return (int)length;
    text[length] = '\0';
    return parse_head(text, ret_head) ? 1 : -1;
}

int audit_head_write(int fd, const struct audit_head *head)
{
    char text[HEAD_BYTES + 1];
    int length = format_head(head, text, sizeof(text));
    ssize_t written = pwrite(fd, text, (size_t)length, 0);
    if (written >= 0 && written != length)
        errno = ENOSPC;
    return written == length ? 0 : -1;
}

int audit_lock(int head, uint64_t byte, short type, bool waits)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    for (int tries = 0;; tries++) {
        if (fcntl(head, F_OFD_SETLK, &range) == 0)
            return 0;
        if (!waits || (errno != EAGAIN && errno != EACCES && errno != EINTR))
            return -1;
        if (tries == LOCK_TRIES) {
            errno = ETIMEDOUT;
            return -1;
        }
        (void)nanosleep(&pause, NULL);
    }
}

void audit_unlock_all(int head)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    (void)fcntl(head, F_OFD_SETLK, &all);
}

bool audit_is_alive(int head, uint64_t life)
{
    struct flock range = {.l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)(AUDIT_LOCK_LIVES + life),
                          .l_len = 1};
    return fcntl(head, F_OFD_GETLK, &range) < 0 || range.l_type != F_UNLCK;
}

void audit_segment_path(const char *directory, uint64_t first,
                        char ret_path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES])
{
    (void)snprintf(ret_path, AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES,
                   "%.*s/" SEGMENT_PREFIX "%020" PRIu64, AUDIT_PATH_BYTES - 1, directory, first);
}

/* 0: another file. */
static uint64_t number_of(const char *name)
{
    size_t prefix = sizeof(SEGMENT_PREFIX) - 1;
    if (strncmp(name, SEGMENT_PREFIX, prefix) != 0 || strlen(name + prefix) != 20 ||
        strspn(name + prefix, "0123456789") != 20)
        return 0;
    return strtoull(name + prefix, NULL, 10);
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

int audit_segments(const char *directory, uint64_t **ret_firsts, size_t *ret_count,
                   struct hutch_error *err)
{
    hutch_autofree uint64_t *firsts = NULL;
    size_t count = 0, capacity = 0;
    DIR *listing = opendir(directory);
    if (!listing)
        return hutch_fail_errno(err, errno, "list the audit journal '%.200s'", directory);
    for (const struct dirent *entry; (entry = readdir(listing));) {
        uint64_t number = number_of(entry->d_name);
        if (!number)
            continue;
        if (count == capacity) {
            capacity = capacity ? 2 * capacity : 16;
            uint64_t *more = reallocarray(firsts, capacity, sizeof(*more));
            if (!more) {
                (void)closedir(listing);
                return hutch_fail_nomem(err);
            }
            firsts = more;
        }
        firsts[count++] = number;
    }
    (void)closedir(listing);
    if (count)
        qsort(firsts, count, sizeof(*firsts), compare_numbers);
    *ret_firsts = HUTCH_TAKE_PTR(firsts);
    *ret_count = count;
    return 0;
}
