/* SPDX-License-Identifier: Apache-2.0 */
/* How a runtime is started: as this process, or as the root of the builder's user namespace.
 *
 * The second is for gVisor with egress. Its kernel then uses sockets of the host, and it takes the
 * container's user namespace for that: releases before 2023 start it there as nobody, without the
 * power to lock itself up, unless root inside is the very user that they run as. So that user runs
 * them. It has no say over control groups, and gVisor is told to leave them alone: they are made
 * here, and the runtime is in them from its beginning. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/oci/oci.h"
#include "util/own.h"
#include "util/program.h"

bool oci_enters(const struct container *container)
{
    return container && container->runtime->is_kernel && container->keeper->gateway.is_wanted;
}

/* ---- what has to be there -------------------------------------------------------------------- */

static int give(const struct container *container, const char *path, struct hutch_error *err)
{
    const struct identity *identity = &container->keeper->identity;
    return lchown(path, identity->first_host_id, identity->first_host_gid) < 0
               ? hutch_fail_errno(err, errno, "give '%s' to the container's root", path)
               : 0;
}

int oci_enter_prepare(struct container *container, struct hutch_error *err)
{
    struct keeper *keeper = container->keeper;
    struct hutch_limits limits = oci_limits(container->runtime, &keeper->spec->limits);
    char config[80];
    limits.pids--; /* the native code adds PID 1 itself */
    (void)snprintf(config, sizeof(config), "%.60s/config.json", container->place.bundle);
    if (give(container, config, err) < 0 || give(container, container->place.state, err) < 0)
        return -(int)err->code;
    for (int version = 1; version <= 2; version++)
        if (cgroup_create(&keeper->cgroup, version, &limits, err) < 0)
            return -(int)err->code;
    return 0;
}

/* ---- the way in ------------------------------------------------------------------------------ */

struct entry {
    int user; /* namespace */
    int groups[CGROUP_MAX_GROUPS + 1];
    size_t group_count;
};

static int open_groups(const struct container *container, struct entry *entry,
                       struct hutch_error *err)
{
    const struct cgroup *cgroup = &container->keeper->cgroup;
    int unified = cgroup_clone_target(cgroup);
    if (cgroup_open_members(cgroup, entry->groups, &entry->group_count, err) < 0)
        return -(int)err->code;
    if (unified < 0)
        return 0;
    int members = openat(unified, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (members < 0)
        return hutch_fail_errno(err, errno, "open the container's cgroup");
    entry->groups[entry->group_count++] = members;
    return 0;
}

static void entry_done(struct entry *entry)
{
    hutch_fd_close(&entry->user);
    for (size_t i = 0; i < entry->group_count; i++)
        hutch_fd_close(&entry->groups[i]);
}

static void reset_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The groups first: afterwards it may not. */
static int enter(const struct entry *entry)
{
    for (size_t i = 0; i < entry->group_count; i++)
        if (write(entry->groups[i], "0", 1) != 1)
            return -1;
    if (setns(entry->user, CLONE_NEWUSER) < 0 || setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 ||
        setresuid(0, 0, 0) < 0)
        return -1;
    return 0;
}

/* Its last word is read where a runtime's would be. */
static _Noreturn void enter_and_execute(const struct entry *entry, const char *path,
                                        char *const *argv, char *const *environment,
                                        const int *streams)
{
    for (int i = 0; i < 3; i++)
        if (dup2(streams[i], i) < 0)
            _exit(125);
    reset_signals();
    if (enter(entry) < 0)
        (void)dprintf(STDERR_FILENO, "enter the sandbox's user namespace: %s\n", strerror(errno));
    else if (execve(path, argv, environment) < 0)
        (void)dprintf(STDERR_FILENO, "execute '%s': %s\n", path, strerror(errno));
    _exit(125);
}

static int spawn_inside(const struct container *container, bool joins, const char *path,
                        char *const *argv, char *const *environment, const int *streams,
                        pid_t *ret_pid, struct hutch_error *err)
{
    const struct keeper *keeper = container->keeper;
    hutch_cleanup(entry_done) struct entry entry = {
        .user = identity_open_namespace(keeper->pid, keeper->pidfd)};
    if (entry.user < 0)
        return hutch_fail_errno(err, errno, "open the sandbox's user namespace");
    if (joins && open_groups(container, &entry, err) < 0)
        return -(int)err->code;
    pid_t pid = fork();
    if (pid < 0)
        return hutch_fail_errno(err, errno, "fork");
    if (pid == 0)
        enter_and_execute(&entry, path, argv, environment, streams);
    *ret_pid = pid;
    return 0;
}

int oci_spawn(const struct container *container, bool joins, const char *path, char *const *argv,
              const int *streams, pid_t *ret_pid, struct hutch_error *err)
{
    static char search[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    char *const environment[] = {search, NULL};
    posix_spawn_file_actions_t actions;
    if (oci_enters(container))
        return spawn_inside(container, joins, path, argv, environment, streams, ret_pid, err);
    (void)posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++)
        (void)posix_spawn_file_actions_adddup2(&actions, streams[i], i);
    int failed = hutch_program_spawn(path, &actions, argv, environment, ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed ? hutch_fail_errno(err, failed, "execute '%s'", path) : 0;
}
