/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest engine there is: unshare(1) makes the namespaces, and hutch-init's standard streams
 * are two pipes. What it does not have (images, limits) it says so.
 *
 * HUTCH_TEST_ENGINE=plain makes no namespaces: hutch-init is not PID 1. HUTCH_TEST_ENGINE=gvisor
 * has a kernel that knows no subreapers, as gVisor's of old. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "porter/engines.h"
#include "util/own.h"

struct container {
    pid_t pid;
    int to;
    int from;
};

static bool is_called(const char *name)
{
    const char *wanted = getenv("HUTCH_TEST_ENGINE");
    return wanted && !strcmp(wanted, name);
}

static void refuse_subreapers(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_CHILD_SUBREAPER, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = HUTCH_COUNT(filter), .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        _exit(96);
}

static void execute(int in, int out)
{
    const char *init = getenv("HUTCH_TEST_INIT");
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
        _exit(98);
    if (is_called("plain")) {
        (void)execlp(init ? init : "", "hutch-init", CONTAINER_GUEST_WORD, NULL);
        _exit(97);
    }
    if (is_called("gvisor"))
        refuse_subreapers();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* it stands for an engine that notices */
    (void)execlp("unshare", "unshare", "--user", "--map-user=1000", "--map-group=1000", "--pid",
                 "--fork", "--mount-proc", "--kill-child", "--", init ? init : "",
                 CONTAINER_GUEST_WORD, NULL);
    _exit(97);
}

static int start(const struct porter_order *order, struct container **ret_container,
                 struct hutch_error *err)
{
    (void)order;
    int in[2], out[2];
    struct container *container = calloc(1, sizeof(*container));
    if (!container)
        return hutch_fail_nomem(err);
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    container->pid = fork();
    if (container->pid == 0)
        execute(in[0], out[1]);
    (void)close(in[0]);
    (void)close(out[1]);
    container->to = in[1];
    container->from = out[0];
    (void)fcntl(container->to, F_SETFL, O_NONBLOCK);
    (void)fcntl(container->from, F_SETFL, O_NONBLOCK);
    *ret_container = container;
    return 0;
}

static bool maps_ids(const struct container *container)
{
    (void)container;
    return true;
}

static int no_memory_layer(const struct container *container)
{
    (void)container;
    return -1;
}

static int config(struct container *container, char **ret_json, struct hutch_error *err)
{
    (void)container;
    (void)err;
    *ret_json = NULL;
    return 0;
}

static int read_fd(const struct container *container)
{
    return container->from;
}

static int write_fd(const struct container *container)
{
    return container->to;
}

static bool has_pending(const struct container *container)
{
    (void)container;
    return false;
}

static ssize_t read_stream(struct container *container, void *buffer, size_t size)
{
    return read(container->from, buffer, size);
}

static ssize_t write_stream(struct container *container, const void *data, size_t length)
{
    return write(container->to, data, length);
}

static int fail_absent(struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0, "this engine has no groups");
}

static int pause_all(struct container *container, bool pause, struct hutch_error *err)
{
    (void)container;
    (void)pause;
    return fail_absent(err);
}

static int update(struct container *container, const struct hutch_limits *limits,
                  struct hutch_error *err)
{
    (void)container;
    (void)limits;
    return fail_absent(err);
}

static int stats(struct container *container, struct porter_answer *ret_answer,
                 struct hutch_error *err)
{
    (void)container;
    (void)err;
    ret_answer->memory_bytes = ret_answer->pids = ret_answer->disk_bytes = UINT64_MAX;
    return 0;
}

static int end(struct container *container, struct porter_end *ret_end, struct hutch_error *err)
{
    (void)ret_end;
    int status;
    (void)kill(container->pid, SIGKILL);
    return waitpid(container->pid, &status, 0) == container->pid
               ? 0
               : hutch_fail_errno(err, errno, "wait for the container");
}

static void explain(struct container *container, char *ret_text, size_t size)
{
    (void)container;
    (void)snprintf(ret_text, size, "%s", "");
}

static int artifacts(struct container *container, int *ret_directory,
                     char ret_place[PORTER_PLACE_BYTES], struct hutch_error *err)
{
    ret_place[0] = '\0';
    (void)container;
    (void)ret_place;
    (void)ret_directory;
    return fail_absent(err);
}

static int release(struct container *container, bool keep, struct hutch_error *err)
{
    (void)keep;
    (void)err;
    (void)close(container->to);
    (void)close(container->from);
    free(container);
    return 0;
}

static int probe(const struct hutch_spec *spec, const char *runtime, const char *id,
                 struct porter_probe *ret_probe)
{
    (void)id;
    (void)spec;
    (void)runtime;
    *ret_probe = (struct porter_probe){.enforces = ~(hutch_promise_set)0};
    return 0;
}

static int remove_one(const char *id, struct hutch_error *err)
{
    (void)id;
    (void)err;
    return 0;
}

static int sweep(bool dry_run, hutch_gc_fn on_item, void *userdata, struct hutch_error *err)
{
    (void)dry_run;
    (void)on_item;
    (void)userdata;
    (void)err;
    return 0;
}

static int doctor(hutch_check_fn on_check, void *userdata, struct hutch_error *err)
{
    (void)on_check;
    (void)userdata;
    (void)err;
    return 0;
}

static const struct container_ops unshare_container_ops = {
    .backend = "unshare",
    .start = start,
    .maps_ids = maps_ids,
    .memory_layer = no_memory_layer,
    .config = config,
    .read_fd = read_fd,
    .write_fd = write_fd,
    .has_pending = has_pending,
    .read = read_stream,
    .write = write_stream,
    .pause = pause_all,
    .update = update,
    .stats = stats,
    .end = end,
    .explain = explain,
    .artifacts = artifacts,
    .release = release,
    .probe = probe,
    .remove = remove_one,
    .sweep = sweep,
    .doctor = doctor,
};

int engine_find(const char *backend, const struct container_ops **ret_ops, struct hutch_error *err)
{
    (void)err;
    (void)backend;
    *ret_ops = &unshare_container_ops;
    return 0;
}
