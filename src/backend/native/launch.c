/* SPDX-License-Identifier: Apache-2.0 */
/* A running PID 1 that has been told everything. The keeper does not wait between messages: PID 1
 * builds the file tree on one processor while the keeper makes cgroups on another. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/blob.h"
#include "backend/native/clone.h"
#include "backend/native/environment.h"
#include "backend/native/keeper.h"
#include "backend/native/programs.h"
#include "backend/native/source.h"
#include "util/fs.h"
#include "util/own.h"

/* The network namespace is made by PID 1 itself, beside the file tree: it is the dearest, and
 * the tree need not wait for it. The cgroup namespace has to come after the groups. */
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)

/* Where nothing limits the processor time of a sandbox, a bomb in it must at least not keep hutch
 * and the host waiting. */
#define NICE_WITHOUT_GROUP 19

/* A command with the variables that it has by itself. */
#define USUAL_SPAWN_BYTES 2000

_Static_assert(RLIM_NLIMITS == INIT_RLIMITS, "one row for every limit the kernel has");

/* Every limit is set, so that nothing of the caller's leaks in; RLIM_INFINITY means "as high as the
 * caller may". */
static const struct {
    rlim_t soft;
    rlim_t hard;
} rlimit_defaults[INIT_RLIMITS] = {
    [RLIMIT_CPU] = {RLIM_INFINITY, RLIM_INFINITY},
    [RLIMIT_FSIZE] = {RLIM_INFINITY, RLIM_INFINITY},
    [RLIMIT_DATA] = {RLIM_INFINITY, RLIM_INFINITY},
    [RLIMIT_STACK] = {8 << 20, RLIM_INFINITY},
    [RLIMIT_CORE] = {0, 0},
    [RLIMIT_RSS] = {RLIM_INFINITY, RLIM_INFINITY},
    [RLIMIT_NPROC] = {RLIM_INFINITY, RLIM_INFINITY},
    [RLIMIT_NOFILE] = {0, 0}, /* from the spec */
    [RLIMIT_MEMLOCK] = {8 << 20, 8 << 20},
    [RLIMIT_AS] = {RLIM_INFINITY, RLIM_INFINITY},
    [RLIMIT_LOCKS] = {RLIM_INFINITY, RLIM_INFINITY},
    [RLIMIT_SIGPENDING] = {4096, 4096},
    [RLIMIT_MSGQUEUE] = {819200, 819200},
    [RLIMIT_NICE] = {0, 0},
    [RLIMIT_RTPRIO] = {0, 0},
    [RLIMIT_RTTIME] = {RLIM_INFINITY, RLIM_INFINITY},
};

/* Nothing changes them while it lives. */
static int read_own_rlimits(struct keeper *keeper, struct hutch_error *err)
{
    for (unsigned i = 0; i < INIT_RLIMITS && !keeper->has_rlimits; i++)
        if (syscall(SYS_prlimit64, 0, i, NULL, &keeper->rlimits[i]) < 0)
            return hutch_fail_errno(err, errno, "read resource limit %u", i);
    keeper->has_rlimits = true;
    return 0;
}

int keeper_rlimits(struct keeper *keeper, struct init_rlimit *rlimits, struct hutch_error *err)
{
    const struct hutch_limits *limits = &keeper->spec->limits;
    if (read_own_rlimits(keeper, err) < 0)
        return -(int)err->code;
    for (unsigned i = 0; i < INIT_RLIMITS; i++) {
        const struct init_rlimit now = keeper->rlimits[i];
        rlim_t soft = rlimit_defaults[i].soft;
        rlim_t hard = rlimit_defaults[i].hard;
        if (i == RLIMIT_NOFILE) {
            soft = hard = limits->open_files;
            if (hard > now.hard)
                return hutch_fail(
                    err, HUTCH_E_UNENFORCEABLE, 0,
                    "open_files %llu is above this process's own hard limit of %llu; ask for "
                    "less or raise it with 'ulimit -Hn'",
                    (unsigned long long)hard, (unsigned long long)now.hard);
        }
        /* Without a pids group the kernel still counts the processes of a user in a user namespace.
         */
        if (i == RLIMIT_NPROC && !(keeper->layout.enforces & HUTCH_PROMISE_BIT(PIDS)))
            soft = hard = limits->pids + 1;
        rlimits[i].hard = hard < now.hard ? hard : now.hard;
        rlimits[i].soft = soft < rlimits[i].hard ? soft : rlimits[i].hard;
    }
    return 0;
}

/* Then a limit of 0 does not keep the kernel from dumping, but 1 does (core(5)). */
static bool core_dumps_are_piped(struct keeper *keeper)
{
    char first;
    if (keeper->core_pattern < 0)
        keeper->core_pattern = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
    return pread(keeper->core_pattern, &first, 1, 0) == 1 && first == '|';
}

static int send_message(const struct keeper *keeper, struct init_message *message,
                        const struct hutch_buf *blob, const int *fds, size_t fd_count,
                        struct hutch_error *err)
{
    message->inline_length = blob ? (uint32_t)blob->length : 0;
    struct iovec data[2] = {{message, sizeof(*message)},
                            {blob ? blob->data : NULL, message->inline_length}};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * INIT_MAX_FDS_PER_MESSAGE)];
    } control;
    struct msghdr header = {.msg_iov = data, .msg_iovlen = 2};
    if (fd_count) {
        memset(&control, 0, sizeof(control));
        header.msg_control = control.space;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(rights), fds, sizeof(int) * fd_count);
    }
    ssize_t sent;
    do
        sent = sendmsg(keeper->socket, &header, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    /* PID 1 may have reported a failure and gone; its report is still there to be read */
    if (sent < 0 && errno != EPIPE && errno != ECONNRESET)
        return hutch_fail_errno(err, errno, "talk to the sandbox's PID 1");
    return 0;
}

/* A blob that is too long for a message goes as a memfd, before the other descriptors. */
static int send_blob(const struct keeper *keeper, enum init_message_type type, uint32_t session,
                     const struct hutch_buf *blob, const int *fds, size_t fd_count,
                     struct hutch_error *err)
{
    struct init_message message = {.type = type, .session = session};
    int all[1 + INIT_MAX_FDS_PER_MESSAGE];
    if (blob->failed)
        return hutch_fail_nomem(err);
    if (blob->length <= INIT_INLINE_BYTES)
        return send_message(keeper, &message, blob, fds, fd_count, err);
    hutch_autofd int memfd = blob_to_memfd(blob, err);
    if (memfd < 0)
        return -(int)err->code;
    all[0] = memfd;
    for (size_t i = 0; i < fd_count; i++)
        all[i + 1] = fds[i];
    return send_message(keeper, &message, NULL, all, fd_count + 1, err);
}

/* The plan with its trees; those that one message has no room for go before it. */
static int send_trees(struct keeper *keeper, struct hutch_error *err)
{
    struct init_message message = {.type = INIT_FDS};
    int fds[INIT_MAX_FDS_PER_MESSAGE];
    size_t count = 0;
    for (size_t i = 0; i < keeper->plan.tree_count; i++) {
        if (keeper->plan.trees[i].fd < 0)
            continue;
        if (count == INIT_MAX_FDS_PER_MESSAGE - 2) { /* a long blob and the gateway have one each */
            if (send_message(keeper, &message, NULL, fds, count, err) < 0)
                return -(int)err->code;
            count = 0;
        }
        fds[count++] = keeper->plan.trees[i].fd;
    }
    if (keeper->gateway.is_wanted)
        fds[count++] = keeper->gateway.plant_inside;
    int status = send_blob(keeper, INIT_SETUP, 0, &keeper->plan.blob, fds, count, err);
    hutch_fd_close(&keeper->gateway.plant_inside);
    return status;
}

static int send_plan(struct keeper *keeper, struct hutch_error *err)
{
    if (keeper->privileged) {
        hutch_autofd int userns = identity_open_namespace(keeper->pid, keeper->pidfd);
        if (userns < 0) { /* until it executes it is as undumpable as its caller may be */
            clone_await(&keeper->child);
            userns = identity_open_namespace(keeper->pid, keeper->pidfd);
        }
        if (userns < 0)
            return hutch_fail_errno(err, errno, "open the sandbox's user namespace");
        if (source_map_owners(&keeper->plan, &keeper->identity, userns, err) < 0)
            return -(int)err->code;
    }
    keeper->plan.header.become_root = keeper->identity.map != IDENTITY_SINGLE;
    keeper->plan.header.at_once = keeper->processors.have_room;
    keeper->plan.header.has_egress = keeper->gateway.is_wanted;
    keeper->plan.header.is_run = keeper->options && !keeper->plan.header.hands_over;
    if (plan_finish(&keeper->plan, keeper->privileged, err) < 0)
        return -(int)err->code;
    return send_trees(keeper, err);
}

/* v1 groups: made while PID 1 builds the tree. */
static int send_join(struct keeper *keeper, struct hutch_error *err)
{
    struct init_message message = {.type = INIT_JOIN};
    int fds[CGROUP_MAX_GROUPS];
    size_t count = 0;
    if (cgroup_create(&keeper->cgroup, 1, &keeper->spec->limits, err) < 0)
        return -(int)err->code;
    int status = cgroup_open_members(&keeper->cgroup, fds, &count, err);
    if (status == 0)
        status = send_message(keeper, &message, NULL, fds, count, err);
    for (size_t i = 0; i < count; i++)
        hutch_fd_close(&fds[i]);
    return status;
}

static int build_spawn(struct keeper *keeper, const struct spawn_order *order,
                       struct hutch_buf *blob, struct hutch_error *err)
{
    struct init_spawn spawn = {
        .uid = order->uid,
        .gid = order->gid,
        .set_groups = keeper->identity.can_set_groups,
        .nice = keeper->layout.enforces & HUTCH_PROMISE_BIT(CPUS) ? 0 : NICE_WITHOUT_GROUP,
        .terminal = order->terminal,
        .rows = order->size.ws_row,
        .columns = order->size.ws_col,
        .group_count = (uint32_t)order->group_count,
        .program = order->program > 0,
        .keeps_files = order->program > 0,
        .guarded = !order->one_shot && !order->group_count,
        .one_shot = order->one_shot,
        .starts_here = order->one_shot && keeper->processors.have_room};
    if (keeper_rlimits(keeper, spawn.rlimits, err) < 0)
        return -(int)err->code;
    if (core_dumps_are_piped(keeper)) {
        spawn.pin_core_limit = 1;
        spawn.rlimits[RLIMIT_CORE] = (struct init_rlimit){1, 1};
    }
    spawn_order_reserve(order, blob);
    hutch_buf_append(blob, &spawn, sizeof(spawn));
    spawn.argv = blob_texts(blob, order->command->items, order->command->count);
    spawn.envp = environment_to_blob(blob, order, err);
    if (!spawn.envp)
        return -(int)err->code;
    spawn.workdir = blob_text(blob, order->workdir);
    spawn.search = blob_text(blob, environment_get(order->environment, "PATH"));
    spawn.size = (uint32_t)blob->length;
    if (!blob->failed)
        memcpy(blob->data, &spawn, sizeof(spawn));
    return 0;
}

int keeper_spawn(struct keeper *keeper, const struct spawn_order *order, struct hutch_error *err)
{
    char usual[USUAL_SPAWN_BYTES];
    hutch_cleanup(hutch_buf_wipe) struct hutch_buf blob = HUTCH_BUF_IN(usual, BLOB_CEILING);
    int fds[4 + CGROUP_MAX_GROUPS];
    size_t count = order->terminal ? 0 : 3;
    memcpy(fds, order->fds, count * sizeof(int));
    memcpy(fds + count, order->groups, order->group_count * sizeof(int));
    count += order->group_count;
    if (order->program > 0)
        fds[count++] = order->program;
    if (build_spawn(keeper, order, &blob, err) < 0)
        return -(int)err->code;
    return send_blob(keeper, INIT_SPAWN, order->session, &blob, fds, count, err);
}

/* A message always fits where the kernel says that there is room. */
bool keeper_has_room(const struct keeper *keeper)
{
    struct pollfd room = {keeper->socket, POLLOUT, 0};
    return poll(&room, 1, 0) == 1 && room.revents & POLLOUT;
}

static int require_room(const struct keeper *keeper, struct hutch_error *err)
{
    return keeper_has_room(keeper) ? 0
                                   : hutch_fail(err, HUTCH_E_UNAVAILABLE, EAGAIN,
                                                "the sandbox is busy starting commands; try again");
}

int keeper_signal(const struct keeper *keeper, uint32_t session, int number,
                  struct hutch_error *err)
{
    if (require_room(keeper, err) < 0)
        return -(int)err->code;
    struct init_message message = {.type = INIT_SIGNAL, .session = session, .value = number};
    return send_message(keeper, &message, NULL, NULL, 0, err);
}

int keeper_kill_session(const struct keeper *keeper, uint32_t session, struct hutch_error *err)
{
    if (require_room(keeper, err) < 0)
        return -(int)err->code;
    struct init_message message = {.type = INIT_KILL, .session = session};
    return send_message(keeper, &message, NULL, NULL, 0, err);
}

static int make_pipe(int *ret_read, int *ret_write, struct hutch_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    *ret_read = ends[0];
    *ret_write = ends[1];
    return 0;
}

/* Our ends never block; the command's ends are ordinary pipes. */
static int make_stdio(struct keeper *keeper, int *child_fds, struct hutch_error *err)
{
    if (keeper->options->stdin_fd >= 0) {
        if (make_pipe(&child_fds[0], &keeper->feed.target, err) < 0)
            return -(int)err->code;
        (void)fcntl(keeper->feed.target, F_SETFL, O_NONBLOCK);
    } else {
        child_fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (child_fds[0] < 0)
            return hutch_fail_errno(err, errno, "open '/dev/null'");
    }
    for (size_t i = 0; i < 2; i++) {
        if (make_pipe(&keeper->streams[i].source, &child_fds[i + 1], err) < 0)
            return -(int)err->code;
        (void)fcntl(keeper->streams[i].source, F_SETFL, O_NONBLOCK);
    }
    return 0;
}

/* The one command of a run, from its spec. */
int keeper_send_command(struct keeper *keeper, struct hutch_error *err)
{
    const struct hutch_spec *spec = keeper->spec;
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist environment = {0};
    struct spawn_order order = {.command = keeper_command(keeper),
                                .environment = &environment,
                                .secrets = &keeper->secrets,
                                .workdir = keeper_workdir(keeper),
                                .uid = keeper->identity.uid,
                                .gid = keeper->identity.gid,
                                .terminal = keeper->options->terminal_fd >= 0,
                                .size = {.ws_row = 24, .ws_col = 80},
                                .fds = {HUTCH_NO_FD, HUTCH_NO_FD, HUTCH_NO_FD},
                                .one_shot = true};
    int status = environment_build(&environment, spec, keeper->image, &keeper->identity,
                                   order.terminal, err);
    if (order.terminal)
        (void)ioctl(keeper->options->terminal_fd, TIOCGWINSZ, &order.size);
    else if (status == 0)
        status = make_stdio(keeper, order.fds, err);
    if (status == 0)
        status = keeper_spawn(keeper, &order, err);
    keeper_forget_secrets(keeper);
    for (size_t i = 0; i < 3; i++)
        hutch_fd_close(&order.fds[i]);
    return status;
}

static int fail_clone(int os_errno, struct hutch_error *err)
{
    if (os_errno == EPERM || os_errno == EACCES || os_errno == ENOSPC || os_errno == EUSERS ||
        os_errno == ENOSYS)
        return hutch_fail(
            err, HUTCH_E_PERMISSION, os_errno,
            "make namespaces: %s; this host does not let you have a user namespace, 'hutch doctor' "
            "says why and what fixes it",
            strerror(os_errno));
    return hutch_fail_errno(err, os_errno, "make namespaces");
}

static int start_init(struct keeper *keeper, int into_cgroup, struct hutch_error *err)
{
    int ends[2];
    hutch_autofd int program = program_open(&program_init, keeper->privileged, err);
    if (program < 0)
        return -(int)err->code;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return hutch_fail_errno(err, errno, "make a socket pair");
    keeper->socket = ends[0];
    hutch_autofd int theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    (void)close(ends[1]);
    if (theirs < 0)
        return hutch_fail_errno(err, errno, "duplicate a descriptor");
    pid_t pid = clone_and_execute(&keeper->child, NAMESPACES, keeper->gateway.is_wanted,
                                  into_cgroup, &program_init, program, theirs, &keeper->pidfd);
    if (pid < 0)
        return fail_clone(errno, err);
    keeper->pid = pid;
    processors_look(&keeper->processors);
    if (keeper->options) /* one that stays would keep this set when its host's changes */
        processors_move(&keeper->processors, pid);
    return 0;
}

/* As early as can be: what follows is done while PID 1 is executed. On a v2 hierarchy the child is
 * born in its group. */
int keeper_start(struct keeper *keeper, struct hutch_error *err)
{
    if (cgroup_create(&keeper->cgroup, 2, &keeper->spec->limits, err) < 0)
        return -(int)err->code;
    return start_init(keeper, cgroup_clone_target(&keeper->cgroup), err);
}

int keeper_instruct(struct keeper *keeper, struct hutch_error *err)
{
    if (source_open_all(&keeper->plan, keeper->privileged, err) < 0)
        return -(int)err->code;
    /* with its own id mapped, exec would give it more than it needs; a slot has other ids */
    if (keeper->identity.map != IDENTITY_SLOT)
        clone_await(&keeper->child);
    if (identity_write_maps(&keeper->identity, keeper->pid, err) < 0 || send_plan(keeper, err) < 0)
        return -(int)err->code;
    if (keeper->plan.header.hands_over) /* it has no groups, and starts nothing */
        return 0;
    if (send_join(keeper, err) < 0)
        return -(int)err->code;
    return keeper->options ? keeper_send_command(keeper, err) : 0;
}
