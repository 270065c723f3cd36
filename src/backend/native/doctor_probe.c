/* SPDX-License-Identifier: Apache-2.0 */
/* How the doctor looks at the machine: verdicts, trials, settings, programs. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/doctor_check.h"
#include "util/fs.h"
#include "util/own.h"

__attribute__((format(printf, 3, 0))) static void
judge(struct hutch_check *check, enum hutch_check_status status, const char *fmt, va_list args)
{
    check->status = status;
    (void)vsnprintf(check->detail, sizeof(check->detail), fmt, args);
}

void doctor_ok(struct hutch_check *check, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    judge(check, HUTCH_CHECK_OK, fmt, args);
    va_end(args);
}

void doctor_warn(struct hutch_check *check, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    judge(check, HUTCH_CHECK_WARN, fmt, args);
    va_end(args);
}

void doctor_fail(struct hutch_check *check, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    judge(check, HUTCH_CHECK_FAIL, fmt, args);
    va_end(args);
}

void doctor_remedy(struct hutch_check *check, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(check->remedy, sizeof(check->remedy), fmt, args);
    va_end(args);
}

/* The answer comes through a pipe, not as an exit status: a caller that ignores SIGCHLD gets none.
 */
struct doctor_trial doctor_try(void (*fn)(const void *argument, struct doctor_trial *trial),
                               const void *argument)
{
    struct doctor_trial trial = {0};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return (struct doctor_trial){.error = errno};
    hutch_autofd int answer = ends[0];
    hutch_autofd int question = ends[1];
    pid_t pid = fork();
    if (pid < 0)
        return (struct doctor_trial){.error = errno};
    if (pid == 0) {
        fn(argument, &trial);
        _exit(write(question, &trial, sizeof(trial)) == (ssize_t)sizeof(trial) ? 0 : 1);
    }
    hutch_fd_close(&question);
    ssize_t got;
    do {
        got = read(answer, &trial, sizeof(trial));
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(trial))
        trial =
            (struct doctor_trial){.error = ECHILD}; /* ended without a word: killed by a filter */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return trial;
}

/* A single-user map is what the kernel grants to anybody, after setgroups has been given up. */
static bool write_own_maps(uid_t uid, gid_t gid)
{
    char map[48];
    if (hutch_write_at(AT_FDCWD, "/proc/self/setgroups", "deny") < 0)
        return false;
    (void)snprintf(map, sizeof(map), "0 %u 1", (unsigned)uid);
    if (hutch_write_at(AT_FDCWD, "/proc/self/uid_map", map) < 0)
        return false;
    (void)snprintf(map, sizeof(map), "0 %u 1", (unsigned)gid);
    return hutch_write_at(AT_FDCWD, "/proc/self/gid_map", map) == 0;
}

bool doctor_enter_namespaces(int flags, struct doctor_trial *trial)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    trial->stage = DOCTOR_STAGE_NAMESPACE;
    if (unshare(CLONE_NEWUSER | flags) == 0) {
        trial->stage = DOCTOR_STAGE_MAP;
        if (write_own_maps(uid, gid))
            return true;
    }
    trial->error = errno;
    return false;
}

long doctor_setting(const char *path)
{
    char text[32];
    char *end = NULL;
    if (hutch_read_at(AT_FDCWD, path, text, sizeof(text)) < 0)
        return -1;
    long value = strtol(text, &end, 10);
    return end == text ? -1 : value;
}

bool doctor_find_program(const char *name, char *ret_path, size_t size)
{
    const char *path = getenv("PATH");
    const char *const lists[] = {path ? path : "", "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"};
    for (size_t i = 0; i < HUTCH_COUNT(lists); i++) {
        for (const char *at = lists[i]; *at;) {
            size_t length = strcspn(at, ":");
            int used = snprintf(ret_path, size, "%.*s/%s", (int)length, at, name);
            if (length && used > 0 && (size_t)used < size && access(ret_path, X_OK) == 0)
                return true;
            at += length + (at[length] == ':');
        }
    }
    return false;
}

bool doctor_file_has_word(const char *path, const char *word, const char *separators)
{
    hutch_autofree char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (!found && getline(&line, &capacity, file) > 0) {
        char *rest = NULL;
        for (char *at = strtok_r(line, separators, &rest); at && !found;
             at = strtok_r(NULL, separators, &rest))
            found = !strcmp(at, word);
    }
    (void)fclose(file);
    return found;
}

bool doctor_is_root(void)
{
    return geteuid() == 0;
}
