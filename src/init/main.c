/* SPDX-License-Identifier: Apache-2.0 */
/* hutch-init: PID 1 of a sandbox.
 *
 * Theory of operation. The keeper clones a child into fresh namespaces and that child does one
 * thing: execute this program, by descriptor (native/programs.c). So nothing of the keeper's
 * memory, arguments, environment or binary exists inside, and the keeper may be a threaded program.
 * The keeper writes the id maps, then sends the plan; from it this program builds the file tree
 * (setup.c, step.c), while a thread makes the network namespace (network.c), joins the cgroups,
 * starts the command (spawn.c) and from then on only reaps and reports.
 *
 * It cannot be used against the keeper: it is not dumpable, so nothing inside can trace or read it;
 * the kernel drops signals that a PID 1 has no handler for, so nothing inside can stop or kill it;
 * and nobody waits for it, since a sandbox is killed from outside with SIGKILL. When the keeper
 * dies, it dies (parent-death signal, and end-of-file on the socket), and with it every process of
 * its pid namespace. */
#include "init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "init/guest.h"
#include "init/sys.h"

#define LOST_PAUSE_MS 2

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

struct init {
    struct sandbox box;
    struct session *sessions;
    size_t session_room;
    struct session only;  /* of a run; then there is no table */
    size_t session_limit; /* places beyond were never used */
    bool is_guest;        /* see guest.c */
    bool is_built;        /* it lives in the sandbox's own tree */
    bool is_run;          /* READY has not been said */
    bool one_shot;
    bool is_confined; /* behind the filter itself: see spawn_confine */
    bool has_doomed;  /* something whose guard has gone is to be killed: see guard.c */
    int outputs[2];   /* the command's, see release_outputs */
    struct received received;
};

int failure_send(const struct failure *failure)
{
    struct init_message message = {.type = INIT_FAILED,
                                   .stage = failure->stage,
                                   .step = failure->step,
                                   .os_errno = errno,
                                   .session = failure->session};
    return message_send(&message, NULL, 0);
}

/* A guard that has gone has no number any more: another process may have it. */
static struct session *session_find(struct init *init, pid_t pid)
{
    for (size_t i = 0; i < init->session_limit; i++)
        if (init->sessions[i].pid == pid && !init->sessions[i].is_lost)
            return &init->sessions[i];
    return NULL;
}

/* Guards share the table with PID 1, but a run has none. */
static int sessions_open(struct init *init, bool one_shot)
{
    if (init->sessions)
        return 0;
    init->sessions = one_shot ? &init->only : sessions_map();
    init->session_room = one_shot ? 1 : INIT_MAX_SESSIONS;
    return init->sessions ? 0 : -1;
}

/* A free place, or NULL with errno. */
static struct session *session_new(struct init *init)
{
    struct session *session = session_find(init, 0);
    if (!session && init->session_limit < init->session_room)
        session = &init->sessions[init->session_limit++];
    if (!session)
        errno = EAGAIN;
    return session;
}

/* Signals from inside are only those with a handler or a disposition other than default: reset them
 * all, for the caller may have ignored some. By the kernel's own call: a C library keeps some to
 * itself, and another one's posix_spawn() ignores them. */
static void reset_signals(void)
{
    static const unsigned long by_default[4]; /* handler, flags, restorer, mask */
    sigset_t all;
    for (int number = 1; number < 65; number++)
        syscall(SYS_rt_sigaction, number, by_default, NULL, sizeof(by_default[3]));
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
}

/* Changing ids clears both marks, so this runs again after each change. */
static int tie_to_keeper(void)
{
    struct pollfd keeper = {.fd = INIT_SOCKET_FD, .events = 0};
    if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return -1;
    if (poll(&keeper, 1, 0) != 0)
        _exit(1); /* it died before the signal was asked for */
    return 0;
}

static int become_namespace_root(void)
{
    if (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setresuid, 0, 0, 0) < 0)
        return -1;
    return syscall(SYS_setgroups, 0, NULL) < 0 ? -1 : tie_to_keeper();
}

/* What the keeper looks at while the sandbox lives. */
static uint32_t list_handles(const struct sandbox *box, int *handles)
{
    uint32_t count = 0;
    handles[count++] = box->kept >= 0 ? box->kept : box->writable;
    if (box->artifacts >= 0)
        handles[count++] = box->artifacts;
    if (box->whole >= 0)
        handles[count++] = box->whole;
    return count;
}

static int add_trees(struct init *init)
{
    uint32_t count = (uint32_t)init->received.fd_count;
    if (init->box.tree_count + count > INIT_MAX_TREES) {
        errno = EPROTO;
        return -1;
    }
    memcpy(init->box.trees + init->box.tree_count, init->received.fds, count * sizeof(int));
    init->box.tree_count += count;
    return 0;
}

static int take_plant(struct init *init)
{
    if (init->received.fd_count < 1) {
        errno = EPROTO;
        return -1;
    }
    init->box.network.plant = init->received.fds[--init->received.fd_count];
    return 0;
}

/* As late as can be: a thread that makes it has had the time of the whole set-up. */
static int open_network(struct network *network, struct failure *failure)
{
    bool is_new = network->is_pending;
    failure->stage = INIT_STAGE_NAMESPACES;
    if (network_enter(network) < 0)
        return -1;
    failure->stage = INIT_STAGE_NETWORK;
    if (is_new && network->plant >= 0 && network_raise(network) < 0)
        return -1;
    failure->stage = INIT_STAGE_PLANT;
    return plant_wait(network);
}

/* Who has handed its tree over starts nothing: it keeps the network that others live in, and plants
 * there for the gateway, which may be anybody's by then. */
static int keep_network(struct init *init)
{
    static const struct init_spawn nothing;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct kept[2] = {{0}};
    kept[0].permitted = kept[0].effective = 1u << CAP_NET_BIND_SERVICE;
    if (syscall(SYS_capset, &header, kept) < 0)
        return -1;
    init->is_confined = true;
    return spawn_confine(&nothing);
}

/* A sandbox that is not as planned starts nothing. The order for its command may have come already,
 * and the keeper's kill may be late: so PID 1 ends by itself. */
static int give_up(const struct failure *failure)
{
    (void)failure_send(failure);
    return -1;
}

static int handle_setup(struct init *init)
{
    struct failure failure = {.stage = INIT_STAGE_PROTOCOL};
    const struct init_plan *plan = message_blob(&init->received, sizeof(*plan));
    if (!plan)
        return give_up(&failure);
    if (tie_to_keeper() < 0 || (plan->become_root && become_namespace_root() < 0)) {
        failure.stage = INIT_STAGE_IDENTITY;
        return give_up(&failure);
    }
    if ((plan->has_egress && take_plant(init) < 0) || add_trees(init) < 0)
        return give_up(&failure);
    if (plan->at_once)
        network_begin(&init->box.network);
    if (sandbox_build(&init->box, plan) < 0)
        return give_up(&init->box.failure);
    init->is_built = true;
    init->is_run = plan->is_run;
    if (init->is_run)
        return 0;
    if (open_network(&init->box.network, &failure) < 0)
        return give_up(&failure);
    failure.stage = INIT_STAGE_CAPABILITIES;
    if (plan->hands_over && plan->has_egress && keep_network(init) < 0)
        return give_up(&failure);
    struct init_message ready = {.type = INIT_READY};
    int handles[3];
    int status = message_send(&ready, handles, list_handles(&init->box, handles));
    if (init->box.kept >= 0)
        close(init->box.kept);
    if (init->box.whole >= 0)
        close(init->box.whole);
    return status;
}

/* A process that writes "0" into tasks moves itself, without the global lock that moving another
 * takes. The cgroup namespace is made afterwards, so that its root is this very group. */
static int handle_join(struct init *init)
{
    const int *fds = init->received.fds;
    struct failure failure = {.stage = INIT_STAGE_CGROUP};
    for (int i = 0; i < init->received.fd_count; i++) {
        if (write(fds[i], "0", 1) != 1)
            return give_up(&failure);
        close(fds[i]);
    }
    if (unshare(CLONE_NEWCGROUP) < 0)
        return give_up(&failure);
    return 0;
}

/* From here on nothing of the set-up is needed: keep what starting a command takes and no more. */
static int keep_few_capabilities(const struct init *init, bool one_shot)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct kept[2] = {{0}};
    if (init->is_guest) /* it starts commands as who it is */
        return (int)syscall(SYS_capset, &header, kept);
    kept[0].permitted =
        1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_SETPCAP | 1u << CAP_KILL | 1u << CAP_CHOWN;
    if (!one_shot) { /* to hand on to hutch-copy; once given up they cannot be made inheritable */
        kept[0].inheritable = 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER | 1u << CAP_CHOWN |
                              1u << CAP_SETUID | 1u << CAP_SETGID;
        kept[0].permitted |= kept[0].inheritable;
    }
    if (init->box.network.plant >= 0) /* for the gateway's sockets at ports below 1024 */
        kept[0].permitted |= 1u << CAP_NET_BIND_SERVICE;
    kept[0].effective = kept[0].permitted;
    return (int)syscall(SYS_capset, &header, kept);
}

/* Held until the keeper has been told of the command's end: then end and end-of-file reach it
 * together, and it wakes once instead of three times. */
static void release_outputs(struct init *init)
{
    for (int i = 0; i < 2; i++)
        if (init->outputs[i] >= 0)
            close(init->outputs[i]);
    init->outputs[0] = init->outputs[1] = -1;
}

static uint64_t monotonic_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* What came with the message is for the command alone: nothing of it stays open here but what a
 * one-shot command's outputs need. */
static void close_received(struct init *init, bool keep_outputs)
{
    for (int i = 0; i < init->received.fd_count; i++)
        if (!keep_outputs || i < 1 || i > 2)
            close(init->received.fds[i]);
    if (keep_outputs) {
        init->outputs[0] = init->received.fds[1];
        init->outputs[1] = init->received.fds[2];
    }
}

/* Its other side too: a terminal is there, and counted, as long as anybody has it open. */
static void let_go_terminal(struct init *init, const struct spawn_stdio *stdio)
{
    if (stdio->terminal < 0)
        return;
    close(stdio->terminal);
    if (init->one_shot)
        init->outputs[0] = stdio->fds[0];
    else
        close(stdio->fds[0]);
}

static pid_t spawn_session(struct init *init, const struct init_spawn *spawn,
                           struct spawn_stdio *stdio, struct failure *failure,
                           uint64_t *ret_started_us)
{
    uint32_t own = spawn->terminal ? 0 : 3;
    uint32_t count = own + spawn->group_count + (spawn->program ? 1 : 0);
    if ((uint32_t)init->received.fd_count != count || !(init->is_built || init->is_guest)) {
        errno = EPROTO;
        return -1;
    }
    if (own)
        memcpy(stdio->fds, init->received.fds, sizeof(stdio->fds));
    stdio->groups = init->received.fds + own;
    stdio->group_count = spawn->group_count;
    if (spawn->program)
        stdio->program = init->received.fds[count - 1];
    if (open_network(&init->box.network, failure) < 0)
        return -1;
    *ret_started_us = monotonic_us();
    failure->stage = INIT_STAGE_CAPABILITIES;
    if (!init->is_confined && keep_few_capabilities(init, spawn->one_shot) < 0)
        return -1;
    failure->stage = INIT_STAGE_SECCOMP;
    if (!spawn->one_shot && !init->is_confined && spawn_confine(spawn) < 0)
        return -1;
    stdio->is_confined = init->is_confined = !spawn->one_shot;
    failure->stage = INIT_STAGE_FORK;
    struct session *session = sessions_open(init, spawn->one_shot) < 0 ? NULL : session_new(init);
    if (!session)
        return -1;
    umask(022);
    *session = (struct session){.number = failure->session, .is_guarded = spawn->guarded};
    session->pid = spawn->guarded ? guard_start(session, spawn, stdio, *ret_started_us)
                                  : spawn_command(spawn, stdio, failure);
    pid_t pid = session->pid;
    if (pid < 0)
        session->pid = 0;
    else if (!spawn->guarded)
        session->leader = pid;
    return pid;
}

static int handle_spawn(struct init *init)
{
    struct failure failure = {.stage = INIT_STAGE_PROTOCOL,
                              .session = init->received.message.session};
    struct spawn_stdio stdio = {.terminal = -1, .program = -1};
    struct init_message message = {.type = INIT_SPAWNED, .session = failure.session};
    const struct init_spawn *spawn = message_blob(&init->received, sizeof(*spawn));
    pid_t leader = spawn ? spawn_session(init, spawn, &stdio, &failure, &message.time_us) : -1;
    int status = leader < 0 ? failure_send(&failure) : 0;
    bool is_guarded = leader > 0 && spawn->guarded; /* then the guard reports */
    init->one_shot = leader > 0 && spawn->one_shot;
    close_received(init, init->one_shot && stdio.terminal < 0);
    message_forget(&init->received);
    if (leader < 0 || is_guarded) {
        let_go_terminal(init, &stdio);
        return status;
    }
    message.value = leader;
    int handles[3] = {stdio.terminal};
    uint32_t count = stdio.terminal >= 0 ? 1 : 0;
    if (init->is_run)
        count += list_handles(&init->box, handles + count);
    status = message_send(&message, handles, count);
    let_go_terminal(init, &stdio);
    return status;
}

/* To everybody in the command's process group; to its first process where that has left it. */
static int handle_signal(struct init *init)
{
    const struct init_message *message = &init->received.message;
    for (size_t i = 0; i < init->session_limit; i++) {
        const struct session *session = &init->sessions[i];
        pid_t leader = session->leader;
        if (session->pid && leader > 0 && session->number == message->session &&
            kill(-leader, message->value) < 0)
            (void)kill(leader, message->value);
    }
    return 0;
}

static int handle_kill(struct init *init)
{
    for (size_t i = 0; i < init->session_limit; i++) {
        struct session *session = &init->sessions[i];
        if (!session->pid || !session->is_guarded ||
            session->number != init->received.message.session)
            continue;
        if (session->is_lost)
            session->is_doomed = init->has_doomed = true;
        else
            (void)guard_kill(init->sessions, init->session_limit, session);
    }
    return 0;
}

static int serve_message(struct init *init)
{
    if (message_receive(&init->received) < 0)
        return -1;
    switch (init->received.message.type) {
    case INIT_FDS:
        return add_trees(init);
    case INIT_SETUP:
        return handle_setup(init);
    case INIT_JOIN:
        return handle_join(init);
    case INIT_SPAWN:
        return handle_spawn(init);
    case INIT_SIGNAL:
        return handle_signal(init);
    case INIT_KILL:
        return handle_kill(init);
    default:
        return -1;
    }
}

static int report_exit(const struct session *session, int status, bool others)
{
    struct init_message message = {
        .type = INIT_EXITED, .value = status, .session = session->number, .others = others};
    return message_send(&message, NULL, 0);
}

/* The one command has ended: then this process ends too, unless others are left, whom the keeper
 * lets finish what they say. */
static int end_one_shot(struct init *init, const struct session *ended, int status, bool others)
{
    if (ended->pid && report_exit(ended, status, others) < 0)
        return -1;
    if (ended->pid)
        release_outputs(init);
    return !others && !init->sessions[0].pid ? -1 : 0;
}

static int report_gone(struct session *session)
{
    struct init_message message = {.type = INIT_GONE, .session = session->number};
    session->pid = 0;
    session->is_lost = false;
    return message_send(&message, NULL, 0);
}

/* A guard ends when nothing is left of its command, unless it was killed before. */
static int end_guard(struct init *init, struct session *session, int status)
{
    if (!session->reported && report_exit(session, SIGKILL, false) < 0)
        return -1;
    bool is_complete = WIFEXITED(status);
    session->leader = 0;
    if (is_complete && !(session->is_marked && guard_has_left(session)))
        return report_gone(session);
    session->is_lost = true;
    session->is_doomed = !is_complete;
    init->has_doomed |= session->is_doomed;
    return 0;
}

/* Of those whose guard has gone: who was killed, or has ended by itself. */
static int end_lost(struct init *init)
{
    init->has_doomed = false;
    for (size_t i = 0; i < init->session_limit; i++) {
        struct session *session = &init->sessions[i];
        if (!session->pid || !session->is_lost)
            continue;
        bool is_left = session->is_doomed
                           ? guard_kill(init->sessions, init->session_limit, session) > 0
                           : guard_has_left(session);
        init->has_doomed |= is_left && session->is_doomed;
        if (!is_left && report_gone(session) < 0)
            return -1;
    }
    return 0;
}

static int reap(struct init *init)
{
    struct session ended = {0};
    int status, ended_status = 0;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        struct session *session = session_find(init, pid);
        if (session && session->is_guarded && WIFSTOPPED(status))
            (void)kill(pid, SIGCONT); /* who has its uid may stop a guard, but not for long */
        if (!session || WIFSTOPPED(status))
            continue;
        if (session->is_guarded) {
            if (end_guard(init, session, status) < 0)
                return -1;
            continue;
        }
        ended = *session;
        ended_status = status;
        session->pid = session->leader = 0;
        if (!init->one_shot && report_exit(&ended, status, false) < 0)
            return -1;
    }
    if (pid < 0 && errno != ECHILD)
        return -1;
    return init->one_shot ? end_one_shot(init, &ended, ended_status, pid == 0) : 0;
}

static int watch_children(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Nothing here will ever execute a program with capabilities. */
static int empty_bounding_set(void)
{
    for (unsigned long cap = 0;; cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
            return errno == EINVAL && cap > 0 ? 0 : -1;
}

/* A caller's real-time policy stays outside: it would be a way past the limit on processor time,
 * and a cpu group has no room for such a task. Of SCHED_IDLE there is nothing to fear, and the
 * kernel lets nobody out of it who may not raise its priority. */
static int become_ordinary(void)
{
    const struct sched_param none = {0};
    long policy = syscall(SYS_sched_getscheduler, 0);
    if (policy == SCHED_OTHER || (policy & ~SCHED_RESET_ON_FORK) == SCHED_IDLE)
        return 0;
    return (int)syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
}

/* What needs no word from the keeper: done while that writes the id maps. In a session of its own
 * nothing here can reach the caller's terminal, or tell its number. */
static int prepare(void)
{
    return empty_bounding_set() < 0 || become_ordinary() < 0 || setsid() < 0 ? -1 : 0;
}

/* Nothing the caller had open stays open here; one of its standard descriptors may be a directory
 * of the host. 0 to 2 are taken by the socket, so that nothing received later lands on the numbers
 * that a command's own will be moved to. */
static int keep_only_socket(void)
{
    for (int fd = 0; fd < INIT_SOCKET_FD; fd++)
        if (dup2(INIT_SOCKET_FD, fd) < 0)
            return -1;
    return sys_close_from(INIT_SOCKET_FD + 1);
}

/* Until there is nobody who gives orders. */
static int serve(struct init *init, int children)
{
    struct network *network = &init->box.network;
    for (;;) {
        int plant = network->is_pending ? -1 : network->plant;
        struct pollfd watched[3] = {{.fd = INIT_SOCKET_FD, .events = POLLIN},
                                    {.fd = children, .events = POLLIN},
                                    {.fd = plant, .events = POLLIN}};
        if (poll(watched, 3, init->has_doomed ? LOST_PAUSE_MS : -1) < 0 && errno != EINTR)
            return 1;
        bool has_ended = watched[1].revents & POLLIN;
        if (has_ended) {
            struct signalfd_siginfo info;
            (void)!read(children, &info, sizeof(info));
            if (reap(init) < 0)
                return 0;
        }
        if ((has_ended || init->has_doomed) && end_lost(init) < 0)
            return 0;
        if (watched[0].revents && serve_message(init) < 0)
            return 0;
        if (watched[2].revents && plant_serve(network) < 0)
            network->plant = -1;
    }
}

static int begin(const struct init *init)
{
    if (init->is_guest)
        return guest_begin();
    return keep_only_socket() < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    static struct init init; /* zeroed, too large for comfort on the stack */
    init.box.kept = init.box.artifacts = init.box.whole = init.box.parent.fd = -1;
    init.outputs[0] = init.outputs[1] = -1;
    prctl(PR_SET_NAME, "hutch-init");
    reset_signals();
    umask(0); /* the plan's modes are meant as they are */
    init.is_guest = argc > 1 && !strcmp(argv[1], INIT_GUEST_WORD);
    network_init(&init.box.network, !init.is_guest);
    int children = -1;
    if (begin(&init) < 0 || (children = watch_children()) < 0 ||
        (!init.is_guest && prepare() < 0)) {
        struct failure failure = {.stage = INIT_STAGE_BEGIN};
        failure_send(&failure);
        return 1;
    }
    int status = serve(&init, children);
    if (init.is_guest)
        guest_finish();
    return status;
}
