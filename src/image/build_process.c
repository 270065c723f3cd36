/* SPDX-License-Identifier: Apache-2.0 */
#include "image/build_process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "util/own.h"

int build_process_find(const char *name, char **ret_path, struct hutch_error *err)
{
    const char *at = getenv("PATH");
    for (at = at ? at : "/usr/local/bin:/usr/bin:/bin"; at; at = strchr(at, ':')) {
        at += *at == ':';
        int length = (int)strcspn(at, ":");
        hutch_autofree char *path = NULL;
        struct stat info;
        if (*at != '/') /* the working directory is not searched, whatever the variable says */
            continue;
        if (asprintf(&path, "%.*s/%s", length, at, name) < 0) {
            path = NULL;
            return hutch_fail_nomem(err);
        }
        if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0) {
            *ret_path = HUTCH_TAKE_PTR(path);
            return 0;
        }
    }
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                      "building an image takes the program '%s', which is not in PATH; install "
                      "%s: sudo apt-get install %s",
                      name, name, name);
}

/* ---- the child ---- */

struct start {
    const struct build_process *process;
    int output; /* where it writes */
    int go;     /* end-of-file: the caller is gone */
    int let_go; /* the caller's side of it */
    bool has_namespaces;
};

/* What the child cannot do is told where its words go: nobody else listens. */
static void fail_in_child(const char *what)
{
    const char *reason = strerrordesc_np(errno);
    (void)dprintf(STDERR_FILENO, "Error: %s: %s\n", what, reason ? reason : "unknown");
    _exit(126);
}

/* Its own /proc, or it would look for itself under a number that is somebody else's; and nothing
 * that it mounts is seen by anybody. */
static void enter_namespaces(void)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        fail_in_child("keep the mounts of the build to itself");
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        fail_in_child("mount /proc for the build");
}

/* Between fork and exec, perhaps of a program with threads: nothing that takes a lock or memory. */
static void become(const struct start *start)
{
    char byte;
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)close(start->let_go);
    if (read(start->go, &byte, 1) != 1) /* the caller died before it could be noticed */
        _exit(126);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(start->output, STDOUT_FILENO) < 0 ||
        dup2(start->output, STDERR_FILENO) < 0)
        _exit(126);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (start->has_namespaces)
        enter_namespaces();
    (void)execve(start->process->program, start->process->argv, start->process->envp);
    fail_in_child(start->process->program);
}

static pid_t start_child(const struct start *start)
{
    struct clone_args args = {.exit_signal = SIGCHLD};
    if (start->has_namespaces)
        args.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        become(start);
    return pid;
}

/* ---- the caller ---- */

static int read_lines(const struct build_process *process, int fd, struct hutch_error *err)
{
    struct build_lines lines = {.on_line = process->on_line, .context = process->context};
    char bytes[16384];
    for (;;) {
        ssize_t got = read(fd, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hutch_fail_errno(err, errno, "read what '%s' says", process->program);
        if (got == 0)
            break;
        build_lines_take(&lines, bytes, (size_t)got);
    }
    build_lines_end(&lines);
    return 0;
}

static int reap(pid_t pid, int *ret_status, struct hutch_error *err)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return hutch_fail_errno(err, errno, "wait for process %d", (int)pid);
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return 0;
}

int build_process_run(const struct build_process *process, int *ret_status, struct hutch_error *err)
{
    int output[2];
    int go[2];
    if (pipe2(output, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    hutch_autofd int heard = output[0];
    hutch_autofd int said = output[1];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0)
        return hutch_fail_errno(err, errno, "make a pair of sockets");
    hutch_autofd int held = go[0];
    hutch_autofd int let_go = go[1];
    struct start start = {process, said, held, let_go, geteuid() == 0};
    pid_t pid = start_child(&start);
    if (pid < 0)
        return hutch_fail_errno(err, errno, "start '%s'", process->program);
    hutch_fd_close(&said);
    hutch_fd_close(&held);
    (void)send(let_go, "", 1, MSG_NOSIGNAL); /* a child that is gone is told by its status */
    int failed = read_lines(process, heard, err);
    if (failed)
        (void)kill(pid, SIGKILL);
    int unreaped = reap(pid, ret_status, failed ? NULL : err);
    return failed ? failed : unreaped;
}
