/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose standard output is the value. It is the operator's, as the configuration is; what
 * is kept from it is time and room. What it says on standard error is not passed on: it may be the
 * value. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "secrets/provider.h"
#include "util/own.h"

static uint64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* In a process group of its own, so that its end is the end of all that it started. */
static int start(const struct provider *provider, int output, pid_t *ret_pid,
                 struct hutch_error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return hutch_fail_nomem(err);
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return hutch_fail_nomem(err);
    }
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
    int failed = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    char *const *words = provider->source.items;
    if (!failed)
        failed = posix_spawn(ret_pid, words[0], &actions, &attributes, words, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed ? hutch_fail_errno(err, failed, "start '%.200s'", words[0]) : 0;
}

/* Until its end, or one byte more than a value may have, or the deadline. */
static int collect(const struct provider *provider, int input, uint64_t deadline_ms,
                   struct secret_value *all, struct hutch_error *err)
{
    while (all->length <= SECRET_MAX_BYTES) {
        uint64_t now = now_ms();
        struct pollfd ready = {.fd = input, .events = POLLIN};
        int found = now < deadline_ms ? poll(&ready, 1, (int)(deadline_ms - now)) : 0;
        if (found < 0 && errno == EINTR)
            continue;
        if (found == 0)
            return hutch_fail(err, HUTCH_E_UNAVAILABLE, ETIMEDOUT,
                              "'%.200s' has not ended after %llu ms", provider->source.items[0],
                              (unsigned long long)provider->timeout_ms);
        ssize_t got =
            found < 0 ? -1
                      : read(input, all->bytes + all->length, SECRET_MAX_BYTES + 1 - all->length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hutch_fail_errno(err, errno, "read what '%.200s' writes",
                                    provider->source.items[0]);
        if (got == 0)
            return 0;
        all->length += (size_t)got;
    }
    return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.200s' writes more than %d bytes",
                      provider->source.items[0], SECRET_MAX_BYTES);
}

/* It has closed its output; how it ended decides whether that was all. */
static int await(const struct provider *provider, pid_t pid, uint64_t deadline_ms,
                 struct hutch_error *err)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int status = 0;
    for (;;) {
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid)
            break;
        if (got < 0 && errno != EINTR)
            return hutch_fail_errno(err, errno, "wait for '%.200s'", provider->source.items[0]);
        if (now_ms() >= deadline_ms) {
            (void)kill(-pid, SIGKILL);
            (void)waitpid(pid, &status, 0);
            return hutch_fail(err, HUTCH_E_UNAVAILABLE, ETIMEDOUT,
                              "'%.200s' has not ended after %llu ms", provider->source.items[0],
                              (unsigned long long)provider->timeout_ms);
        }
        (void)nanosleep(&pause, NULL);
    }
    if (WIFSIGNALED(status))
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0, "'%.200s' was ended by signal %d",
                          provider->source.items[0], WTERMSIG(status));
    if (WEXITSTATUS(status))
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                          "'%.200s' exited with %d; call it by hand to see why",
                          provider->source.items[0], WEXITSTATUS(status));
    return 0;
}

int provider_command_read(const struct provider *provider, struct secret_value *ret_value,
                          struct hutch_error *err)
{
    hutch_cleanup(secret_value_done) struct secret_value all = {0};
    int ends[2];
    pid_t pid = 0;
    if (secret_value_new(&all, SECRET_MAX_BYTES + 1, err) < 0)
        return -(int)err->code;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    hutch_autofd int input = ends[0];
    uint64_t deadline_ms = now_ms() + provider->timeout_ms;
    int status = start(provider, ends[1], &pid, err);
    (void)close(ends[1]);
    if (status < 0)
        return status;
    status = collect(provider, input, deadline_ms, &all, err);
    if (status < 0) {
        (void)kill(-pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        return status;
    }
    status = await(provider, pid, deadline_ms, err);
    if (status < 0)
        return status;
    if (provider_take(all.bytes, all.length, provider->keeps_newline, ret_value, err) < 0)
        return hutch_wrap(err, "what '%.200s' wrote: ", provider->source.items[0]);
    return 0;
}
