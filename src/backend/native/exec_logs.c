/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of recorded commands that have ended: all of them together keep within the sandbox's
 * limit, the oldest go first. Each new command adds an estimate; the directory is only looked at
 * when that says it may be too much. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/exec_logs.h"
#include "util/own.h"
#include "util/remove_tree.h"

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* However small each is: a directory and its files are inodes of the host. */
#define LOGS_MAX 10000

struct ended_log {
    char id[17];
    struct timespec changed;
    uint64_t bytes;
};

struct ended_logs {
    struct ended_log *items;
    size_t count;
    size_t capacity;
    uint64_t bytes;
};

static bool is_running(const struct warden *warden, const char *id)
{
    for (const struct session *session = warden->sessions; session; session = session->next)
        if (strcmp(session->id, id) == 0)
            return true;
    return false;
}

static uint64_t size_of(int exec_dir, const char *id, struct timespec *ret_changed)
{
    struct stat info;
    uint64_t bytes = 0;
    int fd = openat(exec_dir, id, DIRECTORY);
    if (fd < 0)
        return 0;
    if (fstat(fd, &info) == 0)
        *ret_changed = info.st_mtim;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        (void)close(fd);
        return 0;
    }
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode))
            bytes += (uint64_t)info.st_size;
    (void)closedir(dir);
    return bytes;
}

static int add(struct ended_logs *logs, const struct ended_log *log)
{
    if (logs->count == logs->capacity) {
        size_t capacity = logs->capacity ? logs->capacity * 2 : 64;
        struct ended_log *items = reallocarray(logs->items, capacity, sizeof(*items));
        if (!items)
            return -1;
        logs->items = items;
        logs->capacity = capacity;
    }
    logs->items[logs->count++] = *log;
    logs->bytes += log->bytes;
    return 0;
}

static int collect(const struct warden *warden, int exec_dir, struct ended_logs *logs)
{
    int status = 0;
    int again = openat(exec_dir, ".", DIRECTORY);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    if (!dir) {
        if (again >= 0)
            (void)close(again);
        return -1;
    }
    for (const struct dirent *entry; status == 0 && (entry = readdir(dir));) {
        struct ended_log log = {0};
        if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof(log.id) ||
            is_running(warden, entry->d_name))
            continue;
        memcpy(log.id, entry->d_name, strlen(entry->d_name));
        log.bytes = size_of(exec_dir, log.id, &log.changed);
        status = add(logs, &log);
    }
    (void)closedir(dir);
    return status;
}

static int by_age(const void *left, const void *right)
{
    const struct timespec *a = &((const struct ended_log *)left)->changed;
    const struct timespec *b = &((const struct ended_log *)right)->changed;
    if (a->tv_sec != b->tv_sec)
        return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* Some more than must be, or every command from now on would look at the whole directory; but the
 * newest goes for the limit's sake only. */
static void remove_oldest(int exec_dir, struct ended_logs *logs, uint64_t limit)
{
    size_t gone = 0;
    qsort(logs->items, logs->count, sizeof(*logs->items), by_age);
    while (gone < logs->count) {
        size_t left = logs->count - gone;
        bool is_wanted = left == 1 && logs->bytes <= limit;
        if (is_wanted || (logs->bytes <= limit - limit / 8 && left < LOGS_MAX - LOGS_MAX / 8))
            break;
        (void)remove_tree(exec_dir, logs->items[gone].id);
        logs->bytes -= logs->items[gone++].bytes;
    }
    logs->count -= gone;
}

void exec_logs_make_room(struct warden *warden)
{
    uint64_t limit = warden->spec->limits.log_bytes;
    if (warden->ended_logs.is_counted && warden->ended_logs.bytes <= limit &&
        warden->ended_logs.count < LOGS_MAX)
        return;
    hutch_autofd int exec_dir = openat(warden->home.dir, "exec", DIRECTORY);
    struct ended_logs logs = {0};
    if (exec_dir >= 0 && collect(warden, exec_dir, &logs) == 0) {
        if (logs.bytes > limit || logs.count >= LOGS_MAX)
            remove_oldest(exec_dir, &logs, limit);
        warden->ended_logs.bytes = logs.bytes;
        warden->ended_logs.count = logs.count;
        warden->ended_logs.is_counted = true;
    }
    free(logs.items);
}

void exec_logs_ended(struct warden *warden, uint64_t bytes)
{
    warden->ended_logs.bytes += bytes;
    warden->ended_logs.count++;
}
