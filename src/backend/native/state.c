/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/own.h"
#include "util/state_dir.h"

enum { TRIES_AMONG = 4, FIRST_TRIES = 12, LEAP = 617 };

static int set_lock(int fd, unsigned slot, short type)
{
    struct flock range = {.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)slot * STATE_RECORD_BYTES,
                          .l_len = STATE_RECORD_BYTES};
    return fcntl(fd, F_OFD_SETLK, &range);
}

/* Nothing on record, or nothing any more. */
static bool is_blank(int fd, unsigned slot)
{
    char first = '\0';
    return pread(fd, &first, 1, (off_t)slot * STATE_RECORD_BYTES) >= 0 && !first;
}

static int blank(int fd, unsigned slot)
{
    return pwrite(fd, "", 1, (off_t)slot * STATE_RECORD_BYTES) == 1 ? 0 : -1;
}

/* First some among the first few: the same blocks of the file serve again and again. Where many
 * sandboxes are alive those are taken, and to go on with their neighbours would be to meet one
 * taken slot after the other: then it is some among more, and at last leaps that come to every slot
 * once.
 */
static unsigned nth_slot(unsigned start, unsigned i)
{
    static const unsigned among[] = {64, 256, 1024};
    _Static_assert(STATE_SLOTS == 4000, "LEAP has no factor in common with it");
    _Static_assert(HUTCH_COUNT(among) * TRIES_AMONG == FIRST_TRIES, "all of them are used");
    if (i < FIRST_TRIES)
        return (start + i * LEAP) % among[i / TRIES_AMONG];
    return (start % STATE_SLOTS + (i - FIRST_TRIES) * LEAP) % STATE_SLOTS;
}

static int open_leases(char *path, size_t size, struct hutch_error *err)
{
    char directory[400];
    if (state_directory("run", directory, sizeof(directory), err) < 0)
        return -(int)err->code;
    (void)snprintf(path, size, "%s/leases", directory);
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return hutch_fail_errno(err, errno,
                                "open '%.200s' (set HUTCH_HOME to a writable directory)", path);
    return fd;
}

int lease_take(struct lease *lease, struct hutch_error *err)
{
    char path[420];
    unsigned start;
    hutch_autofd int fd = open_leases(path, sizeof(path), err);
    if (fd < 0)
        return -(int)err->code;
    if (getrandom(&start, sizeof(start), 0) != (ssize_t)sizeof(start))
        return hutch_fail_errno(err, errno, "get random bytes");
    for (unsigned i = 0; i < FIRST_TRIES + STATE_SLOTS; i++) {
        unsigned slot = nth_slot(start, i);
        if (set_lock(fd, slot, F_WRLCK) < 0)
            continue;
        if (is_blank(fd, slot)) {
            lease->slot = slot;
            lease->fd = HUTCH_TAKE_FD(fd);
            return 0;
        }
        (void)set_lock(fd, slot, F_UNLCK); /* a dead one's: the sweep's business */
    }
    return hutch_fail(
        err, HUTCH_E_UNAVAILABLE, 0,
        "all %d sandbox slots in '%.200s' are taken; 'hutch gc' frees those of the dead",
        STATE_SLOTS, path);
}

int lease_record(struct lease *lease, const char *text, struct hutch_error *err)
{
    size_t length = strlen(text) + 1;
    off_t at = (off_t)lease->slot * STATE_RECORD_BYTES;
    if (length > STATE_RECORD_BYTES)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "a lease of %zu bytes is too long", length);
    ssize_t written = pwrite(lease->fd, text, length, at);
    if (written == (ssize_t)length)
        return 0;
    return hutch_fail_errno(err, written < 0 ? errno : ENOSPC,
                            "write a lease (set HUTCH_HOME to a directory with room)");
}

void lease_release(struct lease *lease)
{
    if (lease->fd < 0)
        return;
    (void)blank(lease->fd, lease->slot);
    hutch_fd_close(&lease->fd);
}

static int sweep_lines(char *text, lease_fn fn, void *userdata)
{
    int status = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *space = strchr(line, ' ');
        if (!space)
            continue;
        *space = '\0';
        if (fn(userdata, line, space + 1) < 0)
            status = -1;
    }
    return status;
}

static void sweep_slot(int fd, unsigned slot, bool dry_run, lease_fn fn, void *userdata)
{
    char text[STATE_RECORD_BYTES + 1];
    if (is_blank(fd, slot) || set_lock(fd, slot, F_WRLCK) < 0)
        return;
    ssize_t length = pread(fd, text, STATE_RECORD_BYTES, (off_t)slot * STATE_RECORD_BYTES);
    text[length > 0 ? length : 0] = '\0';
    if (sweep_lines(text, fn, userdata) == 0 && !dry_run)
        (void)blank(fd, slot);
    (void)set_lock(fd, slot, F_UNLCK);
}

int lease_lines(struct hutch_strlist *lines, struct hutch_error *err)
{
    char path[420];
    char text[STATE_RECORD_BYTES + 1];
    hutch_autofd int fd = open_leases(path, sizeof(path), err);
    if (fd < 0)
        return -(int)err->code;
    for (unsigned slot = 0; slot < STATE_SLOTS; slot++) {
        ssize_t length = pread(fd, text, STATE_RECORD_BYTES, (off_t)slot * STATE_RECORD_BYTES);
        if (length <= 0)
            break; /* past the end of the file */
        text[length] = '\0';
        char *rest = NULL;
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            if (hutch_strlist_add(lines, line, err) < 0)
                return -(int)err->code;
    }
    return 0;
}

int lease_sweep(bool dry_run, lease_fn fn, void *userdata, struct hutch_error *err)
{
    char path[420];
    struct stat info;
    hutch_autofd int fd = open_leases(path, sizeof(path), err);
    if (fd < 0)
        return -(int)err->code;
    if (fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "look at '%.200s'", path);
    unsigned used = (unsigned)((info.st_size + STATE_RECORD_BYTES - 1) / STATE_RECORD_BYTES);
    for (unsigned slot = 0; slot < used && slot < STATE_SLOTS; slot++)
        sweep_slot(fd, slot, dry_run, fn, userdata);
    return 0;
}
