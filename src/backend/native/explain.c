/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1 reports a stage and an errno; a person gets a sentence. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/native/keeper.h"
#include "util/error.h"

static const char *const stage_texts[INIT_STAGE_COUNT] = {
    [INIT_STAGE_PROTOCOL] = "read the plan",
    [INIT_STAGE_BEGIN] = "begin as PID 1",
    [INIT_STAGE_NAMESPACES] = "make the network namespace and its loopback",
    [INIT_STAGE_IDENTITY] = "take the sandbox's ids",
    [INIT_STAGE_GRAB] = "clone a host directory",
    [INIT_STAGE_WRITABLE] = "make the writable layer",
    [INIT_STAGE_OVERLAY] = "mount an overlay on the root filesystem or the image's layers",
    [INIT_STAGE_READ_ONLY] = "make the root read-only",
    [INIT_STAGE_PIVOT] = "change to the new root",
    [INIT_STAGE_HOSTNAME] = "set the host name",
    [INIT_STAGE_NETWORK] = "make the networks of its own that egress takes",
    [INIT_STAGE_PLANT] = "give the gateway its sockets",
    [INIT_STAGE_CGROUP] = "enter the cgroups",
    [INIT_STAGE_TERMINAL] = "open a terminal",
    [INIT_STAGE_FORK] = "start a process",
    [INIT_STAGE_SESSION] = "start a session",
    [INIT_STAGE_STDIO] = "place the standard descriptors",
    [INIT_STAGE_RLIMITS] = "set resource limits",
    [INIT_STAGE_CREDENTIALS] = "become the user",
    [INIT_STAGE_CAPABILITIES] = "drop capabilities",
    [INIT_STAGE_SECCOMP] = "install the system call filter",
};

static void explain_exec(const struct keeper *keeper, const char *command, int os_errno,
                         struct hutch_error *err)
{
    const char *where = keeper->image          ? "the image"
                        : keeper->spec->rootfs ? "the root filesystem"
                                               : "the sandbox";
    bool is_path = strchr(command, '/');
    if (os_errno == ENOENT || os_errno == ENOTDIR)
        (void)hutch_fail(
            err, HUTCH_E_NO_COMMAND, os_errno,
            is_path ? "command '%.200s' (or the interpreter it names) is not in %s"
                    : "command '%.200s' is not in %s's PATH; install it or give its full path",
            command, where);
    else
        (void)hutch_fail(err, HUTCH_E_NOT_EXECUTABLE, os_errno,
                         "command '%.200s' cannot be executed: %s", command, strerror(os_errno));
}

static void explain_step(const struct keeper *keeper, uint32_t index, int os_errno,
                         struct hutch_error *err)
{
    char what[400];
    plan_describe_step(&keeper->plan, index, what, sizeof(what));
    bool by_user =
        index < keeper->plan.step_count && keeper->plan.steps[index].flags & INIT_STEP_USER;
    if (os_errno == ELOOP)
        (void)hutch_fail(err, HUTCH_E_INVALID, os_errno,
                         "%.350s: the target is a symlink or lies behind one; give the real path",
                         what);
    else if (os_errno == EROFS && by_user)
        (void)hutch_fail(
            err, HUTCH_E_INVALID, os_errno,
            "%.300s: the target does not exist and its directory is read-only; choose one "
            "that exists or one outside /usr",
            what);
    else if (os_errno == ENOSPC)
        (void)hutch_fail(
            err, HUTCH_E_SYSTEM, os_errno,
            "%.350s: it does not fit into the writable layer; raise --disk or --inodes", what);
    else
        (void)hutch_fail_errno(err, os_errno, "%s", what);
}

void keeper_explain(const struct keeper *keeper, const struct init_message *report,
                    const char *command, const char *workdir, struct hutch_error *err)
{
    uint32_t stage = report->stage, step = report->step;
    int os_errno = report->os_errno;
    switch (stage) {
    case INIT_STAGE_STEP:
        explain_step(keeper, step, os_errno, err);
        return;
    case INIT_STAGE_EXEC:
        explain_exec(keeper, command, os_errno, err);
        return;
    case INIT_STAGE_GRAB:
        (void)hutch_fail_errno(err, os_errno, "mount '%.300s'",
                               step < keeper->plan.tree_count && keeper->plan.trees[step].path
                                   ? keeper->plan.trees[step].path
                                   : "?");
        return;
    case INIT_STAGE_WORKDIR:
        (void)hutch_fail_errno(err, os_errno, "enter working directory '%.300s' inside the sandbox",
                               workdir ? workdir : "/");
        return;
    default:
        break;
    }
    const char *text =
        stage < INIT_STAGE_COUNT && stage_texts[stage] ? stage_texts[stage] : "set up";
    (void)hutch_fail_errno(err, os_errno, "sandbox: %s", text);
}
