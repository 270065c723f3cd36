/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program and lets one of its system calls fail, by ptrace. All its processes stay traced to
 * their end, but stop at their system calls only until the failure has happened. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "torture.h"

enum role {
    ROLE_FREE = 0,
    ROLE_NEWBORN, /* its parent has not been heard of yet */
    ROLE_HOST,    /* the program under test */
    ROLE_HELPER,  /* its children: holders of namespaces, guards of terminals */
    ROLE_INIT,    /* PID 1, executed or not yet */
    ROLE_STARTER, /* PID 1's child until it executes the command, and its thread */
    ROLE_OTHER,   /* the command, and host programs */
};

struct tracee {
    pid_t pid;
    enum role role;
    bool counting;               /* past what the C library does before main */
    bool waits;                  /* a newborn that has stopped */
    int override;                /* change the result of the call in progress to this error */
    unsigned long long argument; /* put back when the call in progress is over */
};

struct tracer {
    const struct campaign *campaign;
    struct attempt *attempt;
    long number;
    long seen;
    pid_t init;
    struct tracee tracees[ROLE_MAX_PROCESSES];
};

#define TRACE_OPTIONS                                                                         \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
     PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)

static struct tracee *find(struct tracer *tracer, pid_t pid)
{
    struct tracee *unused = NULL;
    for (size_t i = 0; i < ROLE_MAX_PROCESSES; i++) {
        struct tracee *tracee = &tracer->tracees[i];
        if (tracee->role != ROLE_FREE && tracee->pid == pid)
            return tracee;
        if (tracee->role == ROLE_FREE && !unused)
            unused = tracee;
    }
    if (!unused)
        die("more than %d processes", (int)ROLE_MAX_PROCESSES);
    /* cppcheck-suppress nullPointerRedundantCheck ; die() does not return */
    *unused = (struct tracee){.pid = pid, .role = ROLE_NEWBORN};
    return unused;
}

static bool is_target(const struct tracer *tracer, const struct tracee *tracee)
{
    enum torture_class class = tracer->campaign->class;
    return (class == CLASS_HOST && tracee->role == ROLE_HOST) ||
           (class == CLASS_HELPER && tracee->role == ROLE_HELPER) ||
           (class == CLASS_INIT && (tracee->role == ROLE_INIT || tracee->role == ROLE_STARTER));
}

static void resume(const struct tracer *tracer, const struct tracee *tracee, int with_signal)
{
    bool stop_at_calls = !tracer->attempt->fired && is_target(tracer, tracee);
    bool in_call = tracee->override || tracee->argument;
    (void)ptrace(stop_at_calls || in_call ? PTRACE_SYSCALL : PTRACE_CONT, tracee->pid, 0,
                 with_signal);
}

static bool read_string(pid_t pid, unsigned long address, char *text, size_t size)
{
    struct iovec local = {text, size - 1};
    struct iovec remote = {.iov_len = size - 1};
    memcpy(&remote.iov_base, &address, sizeof(address));
    ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (got <= 0) { /* the string may end just before a page that is not there */
        remote.iov_len = local.iov_len =
            4096 - address % 4096 < size - 1 ? 4096 - address % 4096 : 1;
        got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    }
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static bool opens(const struct tracee *tracee, const struct __ptrace_syscall_info *info,
                  const char *wanted)
{
    char path[16];
    if (info->entry.nr != SYS_open && info->entry.nr != SYS_openat)
        return false;
    unsigned long address = info->entry.args[info->entry.nr == SYS_openat];
    return read_string(tracee->pid, address, path, sizeof(path)) && !strcmp(path, wanted);
}

/* The first thing main does. Before it the C library starts up, which has no way to report errors.
 */
static bool is_past_startup(const struct tracee *tracee, const struct __ptrace_syscall_info *info)
{
    if (tracee->role != ROLE_HOST)
        return info->entry.nr == SYS_rt_sigaction;
    return opens(tracee, info, "/dev/null") ||
           (info->entry.nr == SYS_fcntl && info->entry.args[0] == STDIN_FILENO &&
            info->entry.args[1] == F_GETFD);
}

/* victim.c has come to its own checks. */
static bool is_end_mark(const struct tracee *tracee, const struct __ptrace_syscall_info *info)
{
    return tracee->role == ROLE_HOST && opens(tracee, info, "/end-of-torture");
}

/* Of the arguments only what looks like a path is shown. */
static void describe(struct tracer *tracer, const struct tracee *tracee,
                     const struct __ptrace_syscall_info *info)
{
    struct attempt *attempt = tracer->attempt;
    size_t used = (size_t)snprintf(attempt->what, sizeof(attempt->what), "%s(",
                                   call_name((long)info->entry.nr));
    for (size_t i = 0; i < 3; i++) {
        char text[80];
        unsigned long value = info->entry.args[i];
        bool is_text = value > 65536 && read_string(tracee->pid, value, text, sizeof(text)) &&
                       text[0] > ' ' && text[0] <= '~';
        for (char *at = text; is_text && *at; at++)
            if (*at < ' ' || *at > '~')
                *at = '\0', at--;
        const char *separator = i ? ", " : "";
        if (is_text)
            used += (size_t)snprintf(attempt->what + used, sizeof(attempt->what) - used, "%s'%s'",
                                     separator, text);
        else
            used += (size_t)snprintf(attempt->what + used, sizeof(attempt->what) - used, "%s%#lx",
                                     separator, value);
    }
    (void)snprintf(attempt->what + used, sizeof(attempt->what) - used, ")");
}

/* At entry: no call at all, and this as its result. At exit: only the result. */
static void set_result(pid_t pid, bool skip, int os_errno)
{
    struct user_regs_struct regs;
    struct iovec where = {&regs, sizeof(regs)};
    if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &where) < 0)
        return;
    if (skip)
        regs.orig_rax = (unsigned long long)-1;
    regs.rax = (unsigned long long)-(long)os_errno;
    (void)ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &where);
}

/* brk has no errors: it answers with the end of the data as it is, which is what brk(0) asks for.
 * Returns the argument it had, which the program may count on finding in its register. */
static unsigned long long exchange_argument(pid_t pid, unsigned long long value)
{
    struct user_regs_struct regs = {0};
    struct iovec where = {&regs, sizeof(regs)};
    if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &where) < 0)
        return 0;
    unsigned long long before = regs.rdi;
    regs.rdi = value;
    (void)ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &where);
    return before;
}

static void at_call_entry(struct tracer *tracer, struct tracee *tracee,
                          const struct __ptrace_syscall_info *info)
{
    const struct campaign *campaign = tracer->campaign;
    long call = (long)info->entry.nr;
    if (!tracee->counting)
        tracee->counting = is_past_startup(tracee, info);
    if (tracer->attempt->fired || !tracee->counting)
        return;
    if (campaign->interrupted ? !call_can_be_interrupted(call) : !call_can_fail(call))
        return;
    if (is_end_mark(tracee, info)) {
        tracee->role = ROLE_OTHER;
        return;
    }
    if (++tracer->seen != tracer->number) {
        /* Once execve has let PID 1 go on, that may end and take the child along before the kernel
         * tells of the new program. */
        if (tracee->role == ROLE_STARTER && call == SYS_execve)
            tracer->attempt->started = true;
        return;
    }
    tracer->attempt->fired = true;
    tracer->attempt->call = call;
    describe(tracer, tracee, info);
    if (call == SYS_brk)
        tracee->argument = exchange_argument(tracee->pid, 0);
    else if (call_acts_anyway(call))
        tracee->override = campaign->os_errno;
    else
        set_result(tracee->pid, true, campaign->os_errno);
}

static void at_call(struct tracer *tracer, struct tracee *tracee)
{
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->pid, sizeof(info), &info) <= 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        at_call_entry(tracer, tracee, &info);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && tracee->override) {
        set_result(tracee->pid, false, tracee->override);
        tracee->override = 0;
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && tracee->argument) {
        (void)exchange_argument(tracee->pid, tracee->argument);
        tracee->argument = 0;
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && tracee->role == ROLE_STARTER) {
        tracer->attempt->started = false; /* after an execve that worked it is one no more */
    }
}

/* PID 1 is the one child that hutch makes in a pid namespace of its own. */
static bool has_own_pids(pid_t pid)
{
    char link[64];
    char theirs[64] = "";
    char ours[64] = "";
    (void)snprintf(link, sizeof(link), "/proc/%d/ns/pid", (int)pid);
    return readlink(link, theirs, sizeof(theirs) - 1) > 0 &&
           readlink("/proc/self/ns/pid", ours, sizeof(ours) - 1) > 0 && strcmp(theirs, ours) != 0;
}

static enum role role_of_child(enum role parent, pid_t child)
{
    if (parent == ROLE_HOST)
        return has_own_pids(child) ? ROLE_INIT : ROLE_HELPER;
    return parent == ROLE_INIT ? ROLE_STARTER : ROLE_OTHER;
}

static void at_birth(struct tracer *tracer, const struct tracee *parent)
{
    unsigned long pid = 0;
    if (ptrace(PTRACE_GETEVENTMSG, parent->pid, 0, &pid) < 0)
        return;
    struct tracee *child = find(tracer, (pid_t)pid);
    child->role = role_of_child(parent->role, child->pid);
    child->counting = true;
    if (child->waits) {
        child->waits = false;
        resume(tracer, child, 0);
    }
}

static bool is_init_image(pid_t pid)
{
    char link[64];
    char program[256] = "";
    (void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    return readlink(link, program, sizeof(program) - 1) > 0 &&
           (strstr(program, "memfd:hutch-init") || strstr(program, "/programs/hutch-init-"));
}

/* What PID 1's child executes is the command; what else hutch executes are the host's programs. */
static void at_exec(struct tracer *tracer, struct tracee *tracee)
{
    struct attempt *attempt = tracer->attempt;
    tracee->counting = false;
    if (tracee->role == ROLE_HOST)
        return;
    if (tracee->role == ROLE_INIT && is_init_image(tracee->pid)) {
        tracer->init = tracee->pid;
        return;
    }
    if (tracee->role == ROLE_STARTER) {
        attempt->started = true;
        world_limits(tracer->init, tracee->pid, attempt->limits, sizeof(attempt->limits));
    }
    tracee->role = ROLE_OTHER;
}

static void at_signal(struct tracer *tracer, const struct tracee *tracee, int number)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        if (number == deadly[i])
            tracer->attempt->crash = number;
    resume(tracer, tracee, number);
}

static void at_stop(struct tracer *tracer, struct tracee *tracee, int status)
{
    int event = status >> 16;
    int number = WSTOPSIG(status);
    if (tracee->role == ROLE_NEWBORN) {
        tracee->waits = true;
        return;
    }
    switch (event) {
    case PTRACE_EVENT_CLONE:
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
        at_birth(tracer, tracee);
        break;
    case PTRACE_EVENT_EXEC:
        at_exec(tracer, tracee);
        break;
    case PTRACE_EVENT_STOP:
        break;
    default:
        if (number != (SIGTRAP | 0x80)) {
            at_signal(tracer, tracee, number);
            return;
        }
        at_call(tracer, tracee);
    }
    resume(tracer, tracee, 0);
}

static unsigned alive(const struct tracer *tracer)
{
    unsigned count = 0;
    for (size_t i = 0; i < ROLE_MAX_PROCESSES; i++)
        count += tracer->tracees[i].role != ROLE_FREE;
    return count;
}

static void kill_all(const struct tracer *tracer)
{
    for (size_t i = 0; i < ROLE_MAX_PROCESSES; i++)
        if (tracer->tracees[i].role != ROLE_FREE)
            (void)kill(tracer->tracees[i].pid, SIGKILL);
}

/* Once the program has ended nobody may be left: a short while for the news to arrive, no more. */
static void at_timeout(struct tracer *tracer, bool program_ended)
{
    if (program_ended)
        tracer->attempt->left = alive(tracer);
    else
        tracer->attempt->hung = true;
    kill_all(tracer);
}

static void follow(struct tracer *tracer, pid_t program, pid_t drain)
{
    bool ended = false;
    while (alive(tracer)) {
        int status;
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0 && errno == EINTR) {
            at_timeout(tracer, ended);
            continue;
        }
        if (pid < 0)
            break;
        if (pid == drain)
            continue;
        struct tracee *tracee = find(tracer, pid);
        if (WIFSTOPPED(status)) {
            at_stop(tracer, tracee, status);
            continue;
        }
        tracee->role = ROLE_FREE;
        if (pid == program) {
            tracer->attempt->status = status;
            ended = true;
            (void)alarm(1);
        }
    }
}

static void attach(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
        die("the program under test did not start");
    if (ptrace(PTRACE_SEIZE, pid, 0, TRACE_OPTIONS) < 0)
        die("trace: %s", strerror(errno));
    (void)kill(pid, SIGCONT);
}

void attempt_traced(const struct campaign *campaign, long number, struct attempt *attempt)
{
    struct tracer tracer = {.campaign = campaign, .attempt = attempt, .number = number};
    struct stdio stdio;
    stdio_open(campaign, &stdio);
    pid_t pid = fork();
    if (pid < 0)
        die("fork: %s", strerror(errno));
    if (pid == 0) {
        (void)raise(SIGSTOP);
        child_execute(campaign, &stdio);
    }
    for (int i = 0; i < 3; i++)
        (void)close(stdio.ends[i]);
    attach(pid);
    struct tracee *host = find(&tracer, pid);
    host->role = ROLE_HOST;
    watchdog_start();
    follow(&tracer, pid, stdio.drain);
    (void)alarm(0);
    stdio_collect(&stdio, attempt);
}
