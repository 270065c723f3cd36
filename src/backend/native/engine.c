/* SPDX-License-Identifier: Apache-2.0 */
/* What is the native engine's own among all that a keeper does. */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/container/engine.h"
#include "backend/native/warden.h"

static enum engine_word hear(struct keeper *keeper, const struct init_message *report, int *fds,
                             size_t fd_count, struct hutch_error *err)
{
    (void)keeper, (void)report, (void)fds, (void)fd_count, (void)err;
    return ENGINE_NOTHING;
}

static void kill_all(const struct keeper *keeper)
{
    if (keeper->pid > 0)
        (void)syscall(SYS_pidfd_send_signal, keeper->pidfd, SIGKILL, NULL, 0);
    cgroup_kill(&keeper->cgroup);
}

/* The kernel ends what it was told to end. */
static uint64_t hasten_end(struct keeper *keeper)
{
    (void)keeper;
    return UINT64_MAX;
}

static void nothing_to_do(struct keeper *keeper)
{
    (void)keeper;
}

static bool read_usage(struct keeper *keeper, struct hutch_usage *usage,
                       struct cgroup_events *events)
{
    bool has_succeeded = keeper->has_status && keeper->status == 0;
    if (keeper->counts_usage || keeper->audit.life)
        cgroup_read_usage(&keeper->cgroup, usage);
    if (keeper->counts_usage || !has_succeeded) /* or they change nothing: see reason_of */
        cgroup_read_events(&keeper->cgroup, events);
    return true;
}

static void read_stats(struct keeper *keeper, struct engine_stats *ret_stats)
{
    const struct cgroup *cgroup = &keeper->cgroup;
    *ret_stats = (struct engine_stats){.has_cpu = cgroup_has(cgroup, CGROUP_CPU),
                                       .has_memory = cgroup_has(cgroup, CGROUP_MEMORY),
                                       .has_pids = cgroup_has(cgroup, CGROUP_PIDS)};
    cgroup_read_usage(cgroup, &ret_stats->usage);
    cgroup_read_events(cgroup, &ret_stats->events);
    cgroup_read_now(cgroup, &ret_stats->now);
    keeper->disk_seen_bytes = 0; /* of this look alone */
    disk_look(keeper);
    ret_stats->disk_bytes = keeper->disk_seen_bytes;
}

static uint64_t counter(struct keeper *keeper, enum cgroup_counter which, bool fresh)
{
    uint64_t value = 0;
    (void)fresh;
    return cgroup_watch(&keeper->cgroup, which, &value) ? value : 0;
}

static int resolve_user(const struct keeper *keeper, const char *user,
                        struct identity *ret_identity, struct hutch_error *err)
{
    struct identity asked;
    if (identity_resolve(&asked, keeper->spec, keeper->image, user, err) < 0)
        return -(int)err->code;
    if (keeper->identity.map == IDENTITY_SINGLE && asked.uid != keeper->identity.uid)
        return hutch_fail(
            err, HUTCH_E_UNSUPPORTED, 0,
            "user '%.60s' cannot be had here: an ordinary user's sandbox has one user", user);
    *ret_identity = asked;
    return 0;
}

static int set_limits(struct keeper *keeper, const struct hutch_limits *limits,
                      struct hutch_error *err)
{
    return cgroup_set_limits(&keeper->cgroup, limits, err);
}

/* All there is, is the home and the writable layer, which whoever calls removes. */
static void forget(struct warden *warden)
{
    (void)warden;
}

const struct engine_ops native_engine = {
    .is_parent = true,
    .build = keeper_build,
    .hear = hear,
    .kill = kill_all,
    .hasten_end = hasten_end,
    .await_end = nothing_to_do,
    .read_usage = read_usage,
    .read_stats = read_stats,
    .counter = counter,
    .resolve_user = resolve_user,
    .freeze = freezer_freeze,
    .thaw = freezer_thaw,
    .set_limits = set_limits,
    .forget = forget,
    .release = nothing_to_do,
};
