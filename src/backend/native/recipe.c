/* SPDX-License-Identifier: Apache-2.0 */
/* From a spec to a sandbox that lives: decide who the command is (identity), what it sees (plan),
 * where its limits live (cgroups, quota pool) and put that on record (lease) before anything is
 * made. Then PID 1 is cloned and told the plan (launch). The way back undoes each step in reverse
 * order whatever happened; what a kill -9 leaves undone, the lease tells the next sweep. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "backend/native/keeper.h"
#include "backend/native/ledger.h"
#include "backend/native/recruit.h"
#include "backend/native/wire.h"
#include "core/enforcement.h"
#include "core/isolation.h"
#include "util/kernel.h"
#include "util/own.h"

/* A writable layer up to this size lives in memory; larger ones go to disk when there is a pool. */
#define TMPFS_MAX_BYTES (256u << 20)
#define LAYER_PATIENCE_MS 10000

/* An overlay in a user namespace keeps its notes in user.* attributes, which tmpfs has since
 * Linux 6.6. Without them a directory of the lower layer can be neither removed nor replaced. */
bool layer_tmpfs_carries_overlay(void)
{
    return hutch_kernel_is_at_least(6, 6);
}

bool layer_needs_overlay(const struct hutch_spec *spec)
{
    return spec->rootfs || spec->image ||
           (spec->workspace.path && spec->workspace.mode == HUTCH_WORKSPACE_OVERLAY);
}

/* Memory holds what the sandbox writes, so a layer larger than the memory limit could never be
 * filled. */
bool layer_wants_pool(const struct hutch_spec *spec)
{
    uint64_t disk_bytes = hutch_spec_disk_bytes(spec);
    return disk_bytes > TMPFS_MAX_BYTES || disk_bytes > spec->limits.memory_bytes ||
           (layer_needs_overlay(spec) && !layer_tmpfs_carries_overlay());
}

int keeper_make_id(char *id, struct hutch_error *err)
{
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return hutch_fail_errno(err, errno, "get random bytes");
    (void)snprintf(id, 2 * sizeof(number) + 1, "%016" PRIx64, number);
    return 0;
}

struct keeper *keeper_new(const struct hutch_spec *spec, const struct image_use *image,
                          const struct hutch_run_options *options)
{
    struct keeper *keeper = calloc(1, sizeof(*keeper)); /* fresh pages need no clearing */
    if (!keeper)
        return NULL;
    keeper->engine =
        strcmp(hutch_spec_backend(spec), "native") != 0 ? &container_engine : &native_engine;
    keeper->spec = spec;
    keeper->image = image;
    keeper->options = options;
    keeper->lease.fd = keeper->pool.dir = keeper->pidfd = keeper->socket = HUTCH_NO_FD;
    keeper->layer_from = HUTCH_NO_FD;
    keeper->writable = keeper->artifacts = keeper->terminal = HUTCH_NO_FD;
    keeper->artifacts_target = keeper->memory_layer = HUTCH_NO_FD;
    keeper->feed.target = keeper->core_pattern = HUTCH_NO_FD;
    keeper->feed.buffer = keeper->input;
    keeper->audit = (struct audit)AUDIT_INIT;
    gateway_init(&keeper->gateway);
    keeper->gateway.is_wanted =
        hutch_spec_has_egress(spec) &&
        hutch_enforcement_most(hutch_spec_backend(spec)) & HUTCH_PROMISE_BIT(EGRESS);
    struct hutch_run_options none = HUTCH_RUN_OPTIONS_INIT;
    none.capture = false;
    if (!options)
        options = &none;
    keeper->counts_usage = options->usage;
    keeper->feed.source = options->stdin_fd;
    size_t budget = options->capture ? (size_t)spec->limits.output_bytes : 0;
    const int sinks[2] = {options->stdout_fd, options->stderr_fd};
    for (size_t i = 0; i < 2; i++) {
        keeper->streams[i].number = i ? HUTCH_STDERR : HUTCH_STDOUT;
        keeper->streams[i].source = HUTCH_NO_FD;
        capture_start(&keeper->streams[i].capture, budget);
        sink_open(&keeper->streams[i].sink, sinks[i]);
    }
    capture_start(&keeper->both, budget);
    keeper->deadline_us = now_us() + spec->limits.timeout_ms * 1000;
    return keeper;
}

const struct hutch_strlist *keeper_command(const struct keeper *keeper)
{
    return keeper->image ? &keeper->image->command : &keeper->spec->command;
}

const char *keeper_workdir(const struct keeper *keeper)
{
    const char *workdir = keeper->image ? keeper->image->workdir : keeper->spec->workdir;
    return workdir ? workdir : "/workspace";
}

/* In the reverse order of making; safe at any point. */
void keeper_free(struct keeper *keeper)
{
    keeper_end(keeper);
    gateway_done(&keeper->gateway);
    keeper->engine->release(keeper);
    hutch_fd_close(&keeper->writable);
    hutch_fd_close(&keeper->memory_layer);
    hutch_fd_close(&keeper->artifacts);
    hutch_fd_close(&keeper->artifacts_target);
    hutch_fd_close(&keeper->terminal);
    plan_done(&keeper->plan);
    secret_set_done(&keeper->secrets);
    secret_value_done(&keeper->proxy_login);
    explicit_bzero(keeper->gateway.seed, sizeof(keeper->gateway.seed));
    /* what could not be removed stays on record for the next sweep */
    bool pool_gone = keeper->keeps_layer || pool_destroy(&keeper->pool) == 0;
    hutch_fd_close(&keeper->pool.dir);
    if (cgroup_destroy(&keeper->cgroup) == 0 && pool_gone)
        lease_release(&keeper->lease);
    hutch_fd_close(&keeper->lease.fd);
    audit_close(&keeper->audit);
    for (size_t i = 0; i < 2; i++) {
        hutch_fd_close(&keeper->streams[i].source);
        capture_done(&keeper->streams[i].capture);
        sink_close(&keeper->streams[i].sink);
        redactor_done(&keeper->streams[i].redactor);
    }
    capture_done(&keeper->both);
    hutch_fd_close(&keeper->feed.target);
    hutch_fd_close(&keeper->pidfd);
    hutch_fd_close(&keeper->core_pattern);
    hutch_fd_close(&keeper->socket);
    free(keeper);
}

static bool has_foreign_groups(void)
{
    gid_t groups[256];
    int count = getgroups(256, groups);
    for (int i = 0; i < count; i++)
        if (groups[i] != getegid())
            return true;
    return count < 0;
}

int keeper_decide_identity(struct keeper *keeper, struct hutch_error *err)
{
    keeper->privileged = identity_is_privileged();
    const struct hutch_spec *spec = keeper->spec;
    if (identity_resolve(&keeper->identity, spec, keeper->image,
                         identity_asked(spec, keeper->image), err) < 0)
        return -(int)err->code;
    identity_choose_map(&keeper->identity, keeper->privileged, spec->rootfs || spec->image);
    if (!keeper->identity.can_set_groups && has_foreign_groups())
        keeper->missing |= HUTCH_PROMISE_BIT(GROUPS);
    return 0;
}

/* One who cannot be told is noticed when nothing comes. */
static void ask_for_layer(const struct keeper *keeper)
{
    struct wire_message request = WIRE_MESSAGE_INIT;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    wire_begin(&request, HUTCH_KEEPER_WANTS_LAYER);
    (void)!wire_send(keeper->layer_from, &request, &ignored);
    hutch_buf_done(&request.text);
}

/* Of a sandbox that stays this was decided when it was made: its limits may have changed since, and
 * its files have not moved. */
static bool layer_lies_in_pool(const struct keeper *keeper)
{
    if (!keeper->options)
        return keeper->keeps_layer;
    return keeper->privileged && layer_wants_pool(keeper->spec) &&
           !(keeper->missing & HUTCH_PROMISE_BIT(DISK));
}

/* Everything that outlives a kill -9 is on record before it is made. */
int keeper_put_on_record(struct keeper *keeper, struct hutch_error *err)
{
    char text[4096];
    size_t length = 0;
    hutch_promise_set promised = hutch_promises_required(keeper->spec) & ~keeper->missing;
    if (keeper->counts_usage && keeper->engine == &native_engine)
        cgroup_probe_time(&keeper->layout);
    cgroup_name(&keeper->cgroup, &keeper->layout, keeper->id, promised, keeper->counts_usage);
    if (!keeper->privileged && !keeper->cgroup.count && !layer_lies_in_pool(keeper))
        return 0; /* nothing of ours can outlive us */
    if (keeper->lease.fd < 0 && lease_take(&keeper->lease, err) < 0)
        return -(int)err->code;
    if (keeper->identity.map == IDENTITY_SLOT)
        keeper->identity.first_host_id = keeper->identity.first_host_gid =
            STATE_FIRST_ID + keeper->lease.slot * STATE_IDS_PER_SLOT;
    if (layer_lies_in_pool(keeper)) {
        if (pool_open(&keeper->pool, keeper->layer[0] ? keeper->layer : keeper->id, err) < 0)
            return -(int)err->code;
        if (!keeper->keeps_layer) /* else the sandbox's own directory tells of it */
            length += (size_t)snprintf(text, sizeof(text), "pool %s\n", keeper->pool.path);
    }
    if (!keeper->options && /* before the others: what is frozen does not leave them */
        cgroup_freezer_path(keeper->id, keeper->freezer, sizeof(keeper->freezer)))
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "cgroup %s\n", keeper->freezer);
    for (size_t i = 0; i < keeper->cgroup.count; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "cgroup %s\n",
                                   keeper->cgroup.groups[i].path);
    if (length && lease_record(&keeper->lease, text, err) < 0)
        return -(int)err->code;
    if (keeper->layer_from >= 0)
        ask_for_layer(keeper);
    return 0;
}

/* Whoever goes away without a word has asked in vain, and what it leaves goes with the rest. */
static int await_layer(struct keeper *keeper, struct hutch_error *err)
{
    struct pollfd from = {.fd = keeper->layer_from, .events = POLLIN};
    struct wire_message word = WIRE_MESSAGE_INIT;
    int ready = 0;
    do
        ready = poll(&from, 1, LAYER_PATIENCE_MS);
    while (ready < 0 && errno == EINTR);
    keeper->layer_from = HUTCH_NO_FD;
    if (ready <= 0 || wire_receive(from.fd, &word, err) < 0) {
        (void)pool_remove_path(keeper->pool.path);
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                          "who asked for the sandbox has gone, or does not go on");
    }
    keeper->has_layer = wire_number(&word, "is_made", 0);
    wire_done(&word);
    return 0;
}

int keeper_make_layer(struct keeper *keeper, struct hutch_error *err)
{
    const struct hutch_limits *limits = &keeper->spec->limits;
    const struct identity *identity = &keeper->identity;
    /* a layer that is kept may serve under other ids next time: on disk it has those of the inside
     */
    uint32_t uid = keeper->keeps_layer ? 0 : identity->first_host_id;
    uint32_t gid = keeper->keeps_layer ? 0 : identity->first_host_gid;
    uint64_t disk_bytes = hutch_spec_disk_bytes(keeper->spec);
    if (!keeper->pool.kind)
        return 0;
    if (keeper->layer_from >= 0 && await_layer(keeper, err) < 0)
        return -(int)err->code;
    return keeper->has_layer
               ? pool_adopt(&keeper->pool, disk_bytes, limits->inodes, err)
               : pool_create(&keeper->pool, disk_bytes, limits->inodes, uid, gid, err);
}

int keeper_plan(struct keeper *keeper, struct hutch_error *err)
{
    if (keeper_make_layer(keeper, err) < 0)
        return -(int)err->code;
    struct plan_input input = {.spec = keeper->spec,
                               .image = keeper->image,
                               .identity = &keeper->identity,
                               .privileged = keeper->privileged,
                               .has_egress = keeper->gateway.is_wanted,
                               .writable_fd = keeper->memory_layer >= 0 ? keeper->memory_layer
                                                                        : keeper->pool.dir,
                               .writable_detached = keeper->memory_layer >= 0,
                               .keeps_writable = !keeper->options && !keeper->pool.kind,
                               .writable_kept = keeper->keeps_layer};
    if (plan_build(&keeper->plan, &input, err) < 0)
        return -(int)err->code;
    if (keeper->secrets.count && keeper_plan_secrets(keeper, err) < 0)
        return -(int)err->code;
    return keeper->gateway.intercepts ? keeper_plan_trust(keeper, err) : 0;
}

int keeper_build(struct keeper *keeper, struct hutch_error *err)
{
    if (keeper_decide_identity(keeper, err) < 0 || keeper_put_on_record(keeper, err) < 0 ||
        keeper_start(keeper, err) < 0 || gateway_open(keeper, err) < 0 ||
        ledger_begin_run(keeper, err) < 0 || keeper_plan(keeper, err) < 0)
        return -(int)err->code;
    return keeper_instruct(keeper, err);
}
