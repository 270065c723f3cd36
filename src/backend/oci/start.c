/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime makes the container and ends; its standard streams stay with the container. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/oci/bundle.h"
#include "backend/oci/oci.h"
#include "util/fs.h"
#include "util/own.h"

#define START_TIMEOUT_MS 60000
#define CONFIG_CEILING (1u << 20)

/* The end is what matters: there the runtime says why it gave up. */
void oci_read_errors(struct container *container)
{
    char chunk[1024];
    ssize_t got;
    while (container->errors >= 0 && (got = read(container->errors, chunk, sizeof(chunk))) > 0) {
        size_t room = sizeof(container->tail) - 1;
        size_t length = (size_t)got;
        size_t keep =
            container->tail_length + length > room ? room - length : container->tail_length;
        memmove(container->tail, container->tail + container->tail_length - keep, keep);
        memcpy(container->tail + keep, chunk, length);
        container->tail_length = keep + length;
        container->tail[container->tail_length] = '\0';
    }
}

/* The descriptors that hutch-init needs itself are above what its commands may have; it gives each
 * command its own limit. Likewise core files: its commands' limit is 0 or 1. */
static int widen_rlimits(struct keeper *keeper, struct init_rlimit *rlimits,
                         struct hutch_error *err)
{
    if (keeper_rlimits(keeper, rlimits, err) < 0)
        return -(int)err->code;
    struct init_rlimit files;
    if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files) < 0)
        return hutch_fail_errno(err, errno, "read a resource limit");
    rlimits[RLIMIT_NOFILE] = (struct init_rlimit){files.hard, files.hard};
    rlimits[RLIMIT_CORE] = (struct init_rlimit){0, 1};
    return 0;
}

static int write_config(const struct container *container, const struct hutch_strlist *covered,
                        struct hutch_error *err)
{
    struct keeper *keeper = container->keeper;
    struct init_rlimit rlimits[INIT_RLIMITS];
    struct hutch_limits limits = oci_limits(container->runtime, &keeper->spec->limits);
    hutch_cleanup(hutch_buf_done) struct hutch_buf text = HUTCH_BUF(CONFIG_CEILING);
    char path[80];
    char groups[512];
    char network[64];
    bool is_root = oci_enters(container); /* of the namespace above: ids there are ids inside */
    oci_network_path(container, network, sizeof(network));
    if (widen_rlimits(keeper, rlimits, err) < 0)
        return -(int)err->code;
    oci_groups_path(keeper, container->name, groups, sizeof(groups));
    const struct bundle bundle = {
        .id = keeper->id,
        .name = keeper->spec->name ? keeper->spec->name : "",
        .hostname = keeper->spec->hostname,
        .home = keeper->identity.home,
        .rootfs = container->place.rootfs,
        .cgroups_path = groups,
        .network = network,
        .uid = keeper->identity.uid,
        .gid = keeper->identity.gid,
        .first_host_uid = is_root ? 0 : keeper->identity.first_host_id,
        .first_host_gid = is_root ? 0 : keeper->identity.first_host_gid,
        .limits = &limits,
        .enforced = hutch_promises_required(keeper->spec) & ~keeper->missing,
        .rlimits = rlimits,
        .covered = covered,
        .is_kernel = container->runtime->is_kernel,
        .read_only = keeper->spec->read_only,
    };
    bundle_write(&text, &bundle);
    if (text.failed)
        return hutch_fail_nomem(err);
    (void)snprintf(path, sizeof(path), "%.60s/config.json", container->place.bundle);
    hutch_autofd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || hutch_write_all(fd, text.data, text.length) < 0)
        return hutch_fail_errno(err, errno, "write '%s'", path);
    return 0;
}

/* A cache that lasts is wrong where the host may change files meanwhile. */
static bool shares_files(const struct hutch_spec *spec)
{
    return spec->mounts.count || spec->workspace.path;
}

static int spawn_runtime(const struct container *container, const int *streams, pid_t *ret_pid,
                         struct hutch_error *err)
{
    const char *argv[OCI_MOST_FLAGS + 8];
    size_t count = oci_words(container, argv);
    if (container->runtime->is_kernel)
        argv[count++] = shares_files(container->keeper->spec) ? "--file-access=shared"
                                                              : "--file-access-mounts=exclusive";
    argv[count++] = "run";
    argv[count++] = "--detach";
    argv[count++] = "--bundle";
    argv[count++] = container->place.bundle;
    argv[count++] = container->name;
    argv[count] = NULL;
    return oci_spawn(container, true, container->path, (char *const *)argv, streams, ret_pid, err);
}

/* Nobody reads what a runtime says while it runs: it is short. */
static int await_runtime(struct container *container, pid_t pid, struct hutch_error *err)
{
    int status = 0;
    hutch_autofd int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd watched = {pidfd, POLLIN, 0};
    int ready = 0;
    while (pidfd >= 0 && (ready = poll(&watched, 1, START_TIMEOUT_MS)) < 0 && errno == EINTR)
        ;
    if (ready <= 0)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (ready <= 0)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, ETIMEDOUT,
                          "the OCI runtime '%s' did not start a container within %d seconds",
                          container->runtime->name, START_TIMEOUT_MS / 1000);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    oci_read_errors(container);
    return oci_explain(container->runtime, container->tail, err);
}

/* ours, theirs */
static int make_pipe(int *ret_ours, int *ret_theirs, bool theirs_reads, struct hutch_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    *ret_ours = ends[theirs_reads ? 1 : 0];
    *ret_theirs = ends[theirs_reads ? 0 : 1];
    (void)fcntl(*ret_ours, F_SETFL, O_NONBLOCK);
    return 0;
}

static int run_with_streams(struct container *container, int *theirs, struct hutch_error *err)
{
    pid_t pid = 0;
    if (make_pipe(&container->input, &theirs[0], true, err) < 0 ||
        make_pipe(&container->output, &theirs[1], false, err) < 0 ||
        make_pipe(&container->errors, &theirs[2], false, err) < 0)
        return -(int)err->code;
    /* its children are ours, once it has ended */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (spawn_runtime(container, theirs, &pid, err) < 0)
        return -(int)err->code;
    return await_runtime(container, pid, err);
}

int oci_run(struct container *container, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist covered = {0};
    struct cgroup *groups = &container->keeper->cgroup;
    int theirs[3] = {HUTCH_NO_FD, HUTCH_NO_FD, HUTCH_NO_FD};
    if (oci_root_build(container, &covered, err) < 0 || write_config(container, &covered, err) < 0)
        return -(int)err->code;
    if (oci_enters(container) && oci_enter_prepare(container, err) < 0)
        return -(int)err->code;
    int status = run_with_streams(container, theirs, err);
    for (size_t i = 0; i < 3; i++)
        hutch_fd_close(&theirs[i]);
    if (!oci_enters(container))
        oci_groups_open(groups);
    if (status == 0 && container->keeper->gateway.is_wanted)
        status = oci_network_check(container, err) < 0 ? -(int)err->code
                                                       : oci_network_watch(container, err);
    pid_t leader = status == 0 ? oci_groups_leader(groups) : 0;
    if (leader > 0 && !container->runtime->is_kernel)
        status = oci_shares_limit(leader, err);
    return status;
}
