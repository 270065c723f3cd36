/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching an image by way of 'hutch image pull'. On a terminal it shows its progress there itself.
 * Elsewhere what it says passes through here, so that its last word, why it failed, can be the
 * caller's error. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libhutch/image_ready.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/program.h"

struct fetch {
    pid_t pid;
    int pidfd;
    int words;       /* what it says; negative: it says that to the terminal */
    char line[1024]; /* the last one, without its end */
    size_t length;
    bool line_has_ended;
    bool is_cancelled;
};

/* Its status, as waitpid() has it. */
static int reap(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static int spawn(struct fetch *fetch, const char *reference, int out, struct hutch_error *err)
{
    char *const argv[] = {"hutch", "image", "pull", "--", (char *)(uintptr_t)reference, NULL};
    posix_spawn_file_actions_t actions;
    char buffer[PATH_MAX];
    const char *program = hutch_program_path(buffer);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return hutch_fail_nomem(err);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
    int failed = hutch_program_spawn(program, &actions, argv, environ, &fetch->pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return hutch_fail_errno(err, failed, "start '%s' (HUTCH_PROGRAM names another)", program);
    fetch->pidfd = (int)syscall(SYS_pidfd_open, fetch->pid, 0);
    if (fetch->pidfd >= 0)
        return 0;
    failed = errno; /* nobody could hear what it says, nor end it */
    (void)kill(fetch->pid, SIGKILL);
    (void)reap(fetch->pid);
    return hutch_fail_errno(err, failed, "watch '%s'", program);
}

static int start(struct fetch *fetch, const char *reference, struct hutch_error *err)
{
    int ends[2];
    if (isatty(STDERR_FILENO))
        return spawn(fetch, reference, STDERR_FILENO, err);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    fetch->words = ends[0];
    hutch_autofd int out = ends[1];
    return spawn(fetch, reference, out, err);
}

/* A line is passed on once there is another after it: the last one may be the caller's. */
static void take_words(struct fetch *fetch, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (fetch->line_has_ended) {
            fetch->line[fetch->length++] = '\n';
            (void)hutch_write_all(STDERR_FILENO, fetch->line, fetch->length);
            fetch->length = 0;
        }
        fetch->line_has_ended = text[i] == '\n';
        if (text[i] != '\n' && fetch->length < sizeof(fetch->line) - 2)
            fetch->line[fetch->length++] = text[i];
    }
    fetch->line[fetch->length] = '\0';
}

static void follow(struct fetch *fetch, int cancel_fd)
{
    char text[4096];
    struct pollfd fds[] = {
        {fetch->words, POLLIN, 0}, {fetch->pidfd, POLLIN, 0}, {cancel_fd, POLLIN, 0}};
    while (fds[0].fd >= 0 || !(fds[1].revents & POLLIN)) {
        if (poll(fds, HUTCH_COUNT(fds), -1) < 0)
            continue;
        ssize_t got = fds[0].revents ? read(fds[0].fd, text, sizeof(text)) : -1;
        if (got > 0)
            take_words(fetch, text, (size_t)got);
        else if (fds[0].revents && got == 0)
            fds[0].fd = -1;
        if (fds[2].revents) {
            fetch->is_cancelled = true;
            fds[2].fd = -1;
            (void)kill(fetch->pid, SIGTERM);
        }
    }
}

static int fail_fetch(const struct fetch *fetch, const char *reference, struct hutch_error *err)
{
    static const char prefix[] = "hutch: ";
    const char *why = fetch->line;
    if (fetch->is_cancelled)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, EINTR, "image '%.150s': the pull was ended",
                          reference);
    if (fetch->words < 0 || !*why)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0, "image '%.150s' could not be pulled",
                          reference);
    if (!strncmp(why, prefix, strlen(prefix)))
        why += strlen(prefix);
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0, "%.450s", why);
}

int image_fetch(const char *reference, int cancel_fd, struct hutch_error *err)
{
    struct fetch fetch = {.pidfd = HUTCH_NO_FD, .words = HUTCH_NO_FD};
    int status = start(&fetch, reference, err);
    if (status == 0) {
        follow(&fetch, cancel_fd);
        if (reap(fetch.pid) != 0)
            status = fail_fetch(&fetch, reference, err);
        else if (fetch.length)
            (void)dprintf(STDERR_FILENO, "%s\n", fetch.line);
    }
    hutch_fd_close(&fetch.words);
    hutch_fd_close(&fetch.pidfd);
    return status;
}
