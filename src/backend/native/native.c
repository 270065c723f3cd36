/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine: namespaces, cgroups, seccomp; no daemon, nothing to download.
 *
 * Theory of operation. A sandbox is built by a recipe (recipe.c). For a run the calling thread
 * keeps it: it watches until nothing of the sandbox is alive (supervise), and what happened is put
 * together (outcome). A sandbox that stays has a process of its own that keeps it (warden.c). */
#include "backend/native/native.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backend/native/doctor.h"
#include "backend/native/keeper.h"
#include "backend/native/ledger.h"
#include "backend/native/sweep.h"
#include "util/own.h"

/* Groups: a single-user map cannot drop them (keeper_decide_identity puts that into the result).
 * Nobody asked for it, and no file the sandbox sees but those of its own mounts is reachable by
 * them, so it is told and not refused. */
static const hutch_promise_set always_enforced =
    HUTCH_PROMISE_BIT(TIMEOUT) | HUTCH_PROMISE_BIT(IDLE_TIMEOUT) | HUTCH_PROMISE_BIT(OUTPUT) |
    HUTCH_PROMISE_BIT(OPEN_FILES) | HUTCH_PROMISE_BIT(GROUPS) | HUTCH_PROMISE_BIT(EGRESS) |
    HUTCH_PROMISE_BIT(READ_ONLY);

/* A pool can hold what memory cannot, where there can be one. */
static void probe_pool(struct hutch_probe *probe)
{
    char why[200] = "a writable layer above 256 MiB or above the memory limit needs a quota pool "
                    "on disk, which "
                    "only root can mount";
    hutch_promise_set both = HUTCH_PROMISE_BIT(DISK) | HUTCH_PROMISE_BIT(INODES);
    hutch_promise_set pool = 0;
    if (identity_is_privileged()) {
        why[0] = '\0';
        pool = pool_enforces(why, sizeof(why));
    }
    probe->enforces = (probe->enforces & ~both) | pool;
    if (why[0])
        (void)snprintf(probe->why, sizeof(probe->why), "%s", why);
}

static int native_probe(const struct hutch_spec *spec, struct hutch_probe *ret_probe,
                        struct hutch_error *err)
{
    struct cgroup_layout layout;
    _Static_assert(sizeof(layout) <= sizeof(ret_probe->findings), "the findings fit");
    if (layer_needs_overlay(spec) && !layer_tmpfs_carries_overlay() && !identity_is_privileged())
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "an ordinary user's overlay (an image, a rootfs, or a workspace in mode "
                          "overlay) needs Linux 6.6; use the "
                          "workspace mode copy, or run as root");
    cgroup_probe(&layout);
    memcpy(ret_probe->findings, &layout, sizeof(layout));
    /* pids: without a group, by RLIMIT_NPROC in the sandbox's own user namespace */
    ret_probe->enforces = always_enforced | layout.enforces | HUTCH_PROMISE_BIT(PIDS) |
                          HUTCH_PROMISE_BIT(DISK) | HUTCH_PROMISE_BIT(INODES);
    (void)snprintf(ret_probe->why, sizeof(ret_probe->why), "%s", layout.why_not);
    if (layer_wants_pool(spec))
        probe_pool(ret_probe);
    return 0;
}

static int run_steps(struct keeper *keeper, struct hutch_error *err)
{
    const struct hutch_spec *spec = keeper->spec;
    if (spec->artifacts) {
        keeper->artifacts_target = artifacts_open(spec, err);
        if (keeper->artifacts_target < 0)
            return -(int)err->code;
    }
    if (keeper_make_id(keeper->id, err) < 0 || keeper_read_secrets(keeper, err) < 0 ||
        keeper->engine->build(keeper, err) < 0 || keeper_supervise(keeper, err) < 0)
        return -(int)err->code;
    if (keeper->never_was) {
        *err = keeper->failure;
        return -(int)err->code;
    }
    /* what the command said and how it ended is not lost over a file that cannot be brought out */
    if (keeper->artifacts >= 0)
        (void)artifacts_collect(keeper->artifacts, keeper->artifacts_target,
                                hutch_spec_disk_bytes(spec), spec->limits.inodes,
                                &keeper->artifacts_failure);
    return 0;
}

/* Writing to a reader that has gone raises SIGPIPE; the caller's disposition is not ours to change,
 * so the signal is held back in this thread and taken out again. */
static void pipe_signal_block(sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &set, before);
}

static void pipe_signal_restore(const sigset_t *before)
{
    const struct timespec at_once = {0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    if (!sigismember(before, SIGPIPE))
        (void)sigtimedwait(&set, NULL, &at_once);
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

int keeper_run(struct keeper *keeper, struct hutch_result **ret_result, struct hutch_error *err)
{
    sigset_t before;
    pipe_signal_block(&before);
    int status = run_steps(keeper, err);
    if (status == 0)
        status = keeper_result(keeper, ret_result, err);
    ledger_end_run(keeper, status == 0 ? *ret_result : NULL, err);
    keeper_free(keeper);
    pipe_signal_restore(&before);
    return status;
}

static int native_run(const struct hutch_spec *spec, const struct image_use *image,
                      const struct hutch_run_options *options, const struct hutch_probe *probe,
                      hutch_promise_set missing, struct hutch_result **ret_result,
                      struct hutch_error *err)
{
    struct keeper *keeper = keeper_new(spec, image, options);
    if (!keeper)
        return hutch_fail_nomem(err);
    keeper->missing = missing;
    memcpy(&keeper->layout, probe->findings, sizeof(keeper->layout));
    int status = keeper_run(keeper, ret_result, err);
    sweep_sometimes();
    return status;
}

const struct hutch_backend_ops hutch_native_backend = {
    .name = "native",
    .doc = "namespaces, cgroups and seccomp of this kernel",
    .probe = native_probe,
    .run = native_run,
    .doctor = hutch_native_doctor,
    .gc = sweep_all,
};
