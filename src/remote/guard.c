/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remote/client.h"
#include "util/own.h"

enum { TRIES = 50, PAUSE_MS = 200 };

struct order {
    enum remote_guard_kind kind;
    char sandbox[80];
    char id[40];
};

static int act(const struct order *order, struct hutch_error *err)
{
    if (order->kind == REMOTE_GUARD_REMOVE) {
        struct remote_call call = REMOTE_CALL(
            remote_path("/api/sandboxes/{}?force=1", order->sandbox), .method = "DELETE");
        return remote_do(&call, NULL, err);
    }
    struct remote_call call =
        REMOTE_CALL(remote_path("/api/sandboxes/{}/exec/{}/signal", order->sandbox, order->id),
                    .method = "POST", .body = json_pack("{s:i}", "signal", SIGKILL));
    return remote_do(&call, NULL, err);
}

/* A sandbox that was asked for may not be there yet. */
static void fulfil(const struct order *order)
{
    if (order->kind == REMOTE_GUARD_NOTHING)
        return;
    for (int try = 0; try < TRIES; try++) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        int failed = act(order, &err);
        if (!failed || (order->kind == REMOTE_GUARD_END && failed != -HUTCH_E_UNAVAILABLE))
            return;
        (void)poll(NULL, 0, PAUSE_MS);
    }
}

/* Nothing of ours is held open: whoever reads our output sees its end when we are gone. */
static void let_go(int keep)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)dup2(keep, 3);
    for (int fd = 0; fd < 3; fd++)
        (void)dup2(null, fd);
    (void)close_range(4, ~0U, 0);
}

__attribute__((noreturn)) static void watch(int fd)
{
    struct order order = {0}, next;
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    (void)setsid();
    let_go(fd);
    remote_client_forget();
    for (;;) {
        ssize_t got = read(3, &next, sizeof(next));
        if (got < 0 && errno == EINTR)
            continue;
        if (got != (ssize_t)sizeof(next))
            break;
        order = next;
    }
    fulfil(&order);
    _exit(0);
}

int remote_guard_start(struct remote_guard *guard, struct hutch_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[1]);
        watch(ends[0]);
    }
    (void)close(ends[0]);
    if (pid < 0) {
        (void)close(ends[1]);
        return hutch_fail_errno(err, errno, "start a process that ends what is left behind");
    }
    *guard = (struct remote_guard){pid, ends[1]};
    return 0;
}

void remote_guard_tell(const struct remote_guard *guard, enum remote_guard_kind kind,
                       const char *sandbox, const char *id)
{
    struct order order = {.kind = kind};
    (void)snprintf(order.sandbox, sizeof(order.sandbox), "%s", sandbox);
    (void)snprintf(order.id, sizeof(order.id), "%s", id ? id : "");
    ssize_t told = write(guard->fd, &order, sizeof(order));
    (void)told;
}

void remote_guard_stop(struct remote_guard *guard)
{
    if (guard->pid < 0)
        return;
    remote_guard_tell(guard, REMOTE_GUARD_NOTHING, "", NULL);
    (void)close(guard->fd);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *guard = (struct remote_guard)REMOTE_GUARD_INIT;
}
