/* SPDX-License-Identifier: Apache-2.0 */
/* surface [--list | --filter-only | --control]
 *
 * Prints one line per attempt, "NAME denied(ERRNO)" or "NAME ALLOWED(…)", and per check of ordinary
 * work, "NAME works" or "NAME BROKEN", and exits with 0 when all is as it must be.
 * --filter-only leaves out what needs more than the filter. --control is run without the filter and
 * turns the meaning around: an attempt that is refused all the same proves nothing about the filter
 * and is a failure. Only what this kernel does not have, or what is refused to this user anyway, is
 * passed over. */
#include "surface.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum surface_mode { MODE_ALL, MODE_LIST, MODE_FILTER_ONLY, MODE_CONTROL };

enum { CHILD_TIMEOUT_SECONDS = 20 };

/* What became of a child: a signal, or the result of its attempt. */
struct outcome {
    int signal;
    long result;
    int os_errno;
};

struct surface {
    enum surface_mode mode;
    bool privileged;
    unsigned failures;
    struct outcome *shared; /* the child writes here */
};

static long perform(const struct surface_attempt *attempt)
{
    const unsigned long *a = attempt->args;
    if (attempt->run)
        return attempt->run(attempt);
    return syscall(attempt->number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* A session of its own: what is aimed at the controlling terminal finds none. */
static _Noreturn void child(struct surface *surface, const struct surface_attempt *attempt,
                            bool (*check)(void))
{
    (void)setsid();
    (void)alarm(CHILD_TIMEOUT_SECONDS);
    errno = 0;
    long result = attempt ? perform(attempt) : check();
    surface->shared->os_errno = errno;
    surface->shared->result = result;
    _exit(0);
}

static struct outcome run_child(struct surface *surface, const struct surface_attempt *attempt,
                                bool (*check)(void))
{
    int status = 0;
    *surface->shared = (struct outcome){.result = -1, .os_errno = 0};
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        child(surface, attempt, check);
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        perror("surface: cannot run a child");
        exit(2);
    }
    if (WIFSIGNALED(status))
        surface->shared->signal = WTERMSIG(status);
    return *surface->shared;
}

static bool is_denied(const struct surface_attempt *attempt, const struct outcome *outcome)
{
    if (attempt->expected == SURFACE_KILLED)
        return outcome->signal == SIGSYS;
    if (outcome->signal != 0 || outcome->result != -1)
        return false;
    if (attempt->expected == SURFACE_ANY_ERROR)
        return true;
    return outcome->os_errno == attempt->expected ||
           (attempt->or_expected != 0 && outcome->os_errno == attempt->or_expected);
}

static const char *describe(const struct outcome *outcome)
{
    if (outcome->signal == SIGSYS)
        return "SIGSYS";
    if (outcome->signal != 0)
        return strsignal(outcome->signal);
    if (outcome->result != -1)
        return "success";
    const char *name = strerrorname_np(outcome->os_errno);
    return name ? name : "?";
}

/* The kernel says the same without a filter: nothing is learnt from this attempt here. */
static bool is_inconclusive(const struct surface *surface, const struct outcome *outcome)
{
    return outcome->os_errno == ENOSYS || (outcome->os_errno == EPERM && !surface->privileged);
}

void surface_denied(struct surface *surface, const struct surface_attempt *attempt)
{
    if (surface->mode == MODE_LIST) {
        (void)puts(attempt->name);
        return;
    }
    if (attempt->layer == SURFACE_SANDBOX && surface->mode != MODE_ALL)
        return;
    struct outcome outcome = run_child(surface, attempt, NULL);
    bool denied = is_denied(attempt, &outcome);
    bool wrong = denied == (surface->mode == MODE_CONTROL);
    (void)printf("%s %s(%s)\n", attempt->name, denied ? "denied" : "ALLOWED", describe(&outcome));
    if (wrong && !(surface->mode == MODE_CONTROL && is_inconclusive(surface, &outcome)))
        surface->failures++;
}

unsigned long surface_dirty(unsigned long value)
{
    return value | 0xdeadbeef00000000UL;
}

void surface_denied_dirty(struct surface *surface, const struct surface_attempt *attempt,
                          unsigned dirty_args)
{
    char name[128];
    struct surface_attempt dirty = *attempt;
    surface_denied(surface, attempt);
    (void)snprintf(name, sizeof(name), "%s dirty", attempt->name);
    dirty.name = name;
    for (size_t i = 0; i < SURFACE_COUNT(dirty.args); i++) {
        if (dirty_args & 1U << i)
            dirty.args[i] = surface_dirty(dirty.args[i]);
    }
    surface_denied(surface, &dirty);
}

void surface_works(struct surface *surface, const char *name, bool (*check)(void))
{
    if (surface->mode == MODE_LIST) {
        (void)puts(name);
        return;
    }
    struct outcome outcome = run_child(surface, NULL, check);
    if (outcome.signal == 0 && outcome.result == 1) {
        (void)printf("%s works\n", name);
        return;
    }
    outcome.result = -1;
    (void)printf("%s BROKEN(%s)\n", name, describe(&outcome));
    surface->failures++;
}

static bool is_privileged(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capget, &header, data) == 0 &&
           (data[0].effective & 1U << CAP_SYS_ADMIN) != 0;
}

static bool parse_mode(int argc, char **argv, enum surface_mode *ret_mode)
{
    static const char *const names[] = {
        [MODE_LIST] = "--list", [MODE_FILTER_ONLY] = "--filter-only", [MODE_CONTROL] = "--control"};
    if (argc == 1)
        return true;
    for (size_t i = MODE_LIST; argc == 2 && i < SURFACE_COUNT(names); i++) {
        if (strcmp(argv[1], names[i]) == 0) {
            *ret_mode = (enum surface_mode)i;
            return true;
        }
    }
    (void)fprintf(stderr, "usage: surface [--list | --filter-only | --control]\n");
    return false;
}

int main(int argc, char **argv)
{
    struct surface surface = {.mode = MODE_ALL, .privileged = is_privileged()};
    if (!parse_mode(argc, argv, &surface.mode))
        return 2;
    surface.shared = mmap(NULL, sizeof(*surface.shared), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (surface.shared == MAP_FAILED) {
        perror("surface: mmap");
        return 2;
    }
    surface_syscalls(&surface);
    surface_arguments(&surface);
    surface_modes(&surface);
    surface_sockets(&surface);
    surface_abi(&surface);
    surface_posture(&surface);
    surface_ordinary(&surface);
    surface_ordinary_files(&surface);
    if (surface.failures > 0)
        (void)fprintf(stderr, "surface: %u of these are not as they must be\n", surface.failures);
    return surface.failures > 0 ? 1 : 0;
}
