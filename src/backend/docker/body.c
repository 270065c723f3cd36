/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend/docker/plan.h"
#include "core/check.h"
#include "util/json_out.h"
#include "util/own.h"

/* hutch-init, the inner end of its tunnel and a guard for a command: so many processes more than
 * the command's own. */
#define OWN_PROCESSES 3
/* Descriptors of hutch-init, which has some for each command; a command's own limit is set when it
 * is started. */
#define OWN_FILES 16384
/* Of one user together. Podman raises what is not given, which it may not be allowed to do; so many
 * it always has itself. */
#define PODMAN_PROCESSES 32768
#define SHARED_MEMORY_BYTES (64u << 20)

void docker_write_limits(struct hutch_json_out *out, const struct hutch_limits *limits)
{
    hutch_json_uint(out, "Memory", limits->memory_bytes);
    hutch_json_uint(out, "MemorySwap", limits->memory_bytes); /* both together: no swap */
    hutch_json_uint(out, "NanoCpus", limits->cpus_milli * 1000000);
    hutch_json_uint(out, "PidsLimit", limits->pids + OWN_PROCESSES);
}

static void write_texts(struct hutch_json_out *out, const char *key, size_t count,
                        const char *const *texts)
{
    hutch_json_open(out, key, '[');
    for (size_t i = 0; i < count; i++)
        hutch_json_string(out, NULL, texts[i]);
    hutch_json_close(out, ']');
}

static void write_labels(struct hutch_json_out *out, const struct docker_plan *plan)
{
    const struct hutch_map *labels = &plan->spec->labels;
    hutch_json_open(out, "Labels", '{');
    for (size_t i = 0; i < labels->count; i++)
        if (strncmp(labels->items[i].key, "hutch.", 6) != 0)
            hutch_json_string(out, labels->items[i].key, labels->items[i].value);
    hutch_json_string(out, OWNER_LABEL_ID, plan->order->id);
    hutch_json_string(out, OWNER_LABEL_NAME, plan->order->name);
    hutch_json_string(out, OWNER_LABEL_OWNER, plan->owner);
    hutch_json_string(out, OWNER_LABEL_HOME, plan->home);
    hutch_json_close(out, '}');
}

static void write_ulimit(struct hutch_json_out *out, const char *name, uint64_t value)
{
    hutch_json_open(out, NULL, '{');
    hutch_json_string(out, "Name", name);
    hutch_json_uint(out, "Soft", value);
    hutch_json_uint(out, "Hard", value);
    hutch_json_close(out, '}');
}

static void write_ulimits(struct hutch_json_out *out, const struct docker_plan *plan)
{
    uint64_t files = plan->spec->limits.open_files;
    hutch_json_open(out, "Ulimits", '[');
    write_ulimit(out, "nofile", files > OWN_FILES ? files : OWN_FILES);
    /* 1 and not 0: where the engine's machine pipes core dumps into a program, the kernel stops
     * only at 1, and hutch-init could not raise it (src/init/guest_order.c) */
    write_ulimit(out, "core", 1);
    if (plan->is_podman)
        write_ulimit(out, "nproc", PODMAN_PROCESSES);
    hutch_json_close(out, ']');
}

static void write_tmpfs(struct hutch_json_out *out, const struct docker_plan *plan,
                        const char *target, uint64_t size, unsigned mode)
{
    char options[160];
    int length = snprintf(options, sizeof(options), "rw,exec,nosuid,nodev,size=%" PRIu64, size);
    /* Podman gives them to root, and has no words for anybody else. */
    bool owned = plan->has_ids && !plan->is_podman && mode != 01777;
    if (owned)
        (void)snprintf(options + length, sizeof(options) - (size_t)length,
                       ",mode=%04o,uid=%u,gid=%u", mode, plan->uid, plan->gid);
    else
        (void)snprintf(options + length, sizeof(options) - (size_t)length, ",mode=1777");
    hutch_json_string(out, target, options);
}

/* Podman makes writable directories of these where the root is not, unless it is told otherwise. */
static void write_closed_tmpfs(struct hutch_json_out *out, const struct hutch_spec *spec)
{
    static const char *const closed[] = {"/run", "/var/tmp"};
    for (size_t i = 0; i < HUTCH_COUNT(closed); i++)
        if (!docker_plan_is_taken(spec, closed[i], true))
            hutch_json_string(out, closed[i], "ro,nosuid,nodev,noexec,size=4096,mode=0755");
}

static void write_all_tmpfs(struct hutch_json_out *out, const struct docker_plan *plan)
{
    static const struct {
        const char *target;
        unsigned mode;
    } own[] = {{"/tmp", 01777}, {PLAN_HOME, 0755}, {PLAN_WORKSPACE, 0755}};
    const struct hutch_spec *spec = plan->spec;
    hutch_json_open(out, "Tmpfs", '{');
    for (size_t i = 0; plan->in_memory && i < HUTCH_COUNT(own); i++) {
        bool is_workspace = !strcmp(own[i].target, PLAN_WORKSPACE);
        if (!docker_plan_is_taken(spec, own[i].target, false) &&
            !(is_workspace && plan->workspace != PLAN_WAY_NONE))
            write_tmpfs(out, plan, own[i].target, hutch_spec_disk_bytes(spec), own[i].mode);
    }
    for (size_t i = 0; i < spec->tmpfs.count; i++)
        write_tmpfs(out, plan, spec->tmpfs.items[i].target, spec->tmpfs.items[i].size_bytes, 0755);
    if (spec->read_only && plan->is_podman)
        write_closed_tmpfs(out, spec);
    hutch_json_close(out, '}');
}

/* As natively, without what is mounted below: within a read-only one that would stay writable. */
static void write_bind(struct hutch_json_out *out, const char *source, const char *target,
                       bool read_only)
{
    hutch_json_open(out, NULL, '{');
    hutch_json_string(out, "Type", "bind");
    hutch_json_string(out, "Source", source);
    hutch_json_string(out, "Target", target);
    hutch_json_bool(out, "ReadOnly", read_only);
    hutch_json_open(out, "BindOptions", '{');
    hutch_json_string(out, "Propagation", "rprivate");
    hutch_json_bool(out, "NonRecursive", true);
    hutch_json_close(out, '}');
    hutch_json_close(out, '}');
}

static void write_volumes(struct hutch_json_out *out, const struct docker_plan *plan)
{
    const char *targets[PLAN_VOLUMES];
    size_t count = docker_plan_volumes(plan, targets);
    for (size_t i = 0; i < count; i++) {
        hutch_json_open(out, NULL, '{');
        hutch_json_string(out, "Type", "volume");
        hutch_json_string(out, "Target", targets[i]);
        hutch_json_close(out, '}');
    }
}

static void write_mounts(struct hutch_json_out *out, const struct docker_plan *plan)
{
    const struct hutch_spec *spec = plan->spec;
    hutch_json_open(out, "Mounts", '[');
    if (plan->guest[0])
        write_bind(out, plan->guest, CONTAINER_GUEST_PATH, true);
    if (plan->workspace == PLAN_WAY_BIND)
        write_bind(out, spec->workspace.path, PLAN_WORKSPACE,
                   spec->workspace.mode == HUTCH_WORKSPACE_RO);
    for (size_t i = 0; i < spec->mounts.count; i++)
        write_bind(out, spec->mounts.items[i].source, spec->mounts.items[i].target,
                   spec->mounts.items[i].read_only);
    write_volumes(out, plan);
    hutch_json_close(out, ']');
}

static void write_host_config(struct hutch_json_out *out, const struct docker_plan *plan)
{
    static const char *const dropped[] = {"ALL"};
    static const char *const security[] = {"no-new-privileges"};
    const struct hutch_spec *spec = plan->spec;
    hutch_json_open(out, "HostConfig", '{');
    hutch_json_string(out, "NetworkMode", "none");
    hutch_json_string(out, "IpcMode", "private");
    hutch_json_string(out, "CgroupnsMode", "private");
    write_texts(out, "CapDrop", HUTCH_COUNT(dropped), dropped);
    write_texts(out, "SecurityOpt", HUTCH_COUNT(security), security);
    hutch_json_bool(out, "ReadonlyRootfs", spec->read_only);
    hutch_json_bool(out, "Privileged", false);
    hutch_json_bool(out, "PublishAllPorts", false);
    docker_write_limits(out, &spec->limits);
    hutch_json_uint(out, "ShmSize", SHARED_MEMORY_BYTES);
    write_ulimits(out, plan);
    write_all_tmpfs(out, plan);
    write_mounts(out, plan);
    if (!(plan->order->missing & HUTCH_PROMISE_BIT(DISK))) {
        char size[32];
        (void)snprintf(size, sizeof(size), "%" PRIu64, spec->limits.disk_bytes);
        hutch_json_open(out, "StorageOpt", '{');
        hutch_json_string(out, "size", size);
        hutch_json_close(out, '}');
    }
    /* What it says is the tunnel: nothing for a log. */
    hutch_json_open(out, "LogConfig", '{');
    hutch_json_string(out, "Type", "none");
    hutch_json_close(out, '}');
    hutch_json_open(out, "RestartPolicy", '{');
    hutch_json_string(out, "Name", "no");
    hutch_json_close(out, '}');
    hutch_json_close(out, '}');
}

int docker_plan_write(const struct docker_plan *plan, struct hutch_buf *json,
                      struct hutch_error *err)
{
    static const char *const entrypoint[] = {CONTAINER_GUEST_PATH};
    static const char *const words[] = {CONTAINER_GUEST_WORD};
    static const char *const no_health[] = {"NONE"};
    static const char *const streams[] = {"AttachStdin", "AttachStdout", "AttachStderr",
                                          "OpenStdin", "StdinOnce"};
    struct hutch_json_out out = {json, false};
    hutch_json_open(&out, NULL, '{');
    hutch_json_string(&out, "Image", plan->spec->image);
    hutch_json_string(&out, "Hostname", plan->spec->hostname);
    hutch_json_string(&out, "User", plan->user);
    hutch_json_string(&out, "WorkingDir", "/");
    write_texts(&out, "Entrypoint", HUTCH_COUNT(entrypoint), entrypoint);
    write_texts(&out, "Cmd", HUTCH_COUNT(words), words);
    for (size_t i = 0; i < HUTCH_COUNT(streams); i++)
        hutch_json_bool(&out, streams[i], true);
    hutch_json_bool(&out, "Tty", false);
    hutch_json_bool(&out, "NetworkDisabled", true);
    hutch_json_string(&out, "StopSignal", "SIGKILL");
    hutch_json_open(&out, "Healthcheck", '{');
    write_texts(&out, "Test", HUTCH_COUNT(no_health), no_health);
    hutch_json_close(&out, '}');
    write_labels(&out, plan);
    write_host_config(&out, plan);
    hutch_json_close(&out, '}');
    return json->failed ? hutch_fail_nomem(err) : 0;
}

int docker_plan_write_filler(const struct docker_plan *plan, const char *container,
                             struct hutch_buf *json, struct hutch_error *err)
{
    static const char *const entrypoint[] = {CONTAINER_GUEST_PATH};
    struct hutch_json_out out = {json, false};
    hutch_json_open(&out, NULL, '{');
    hutch_json_string(&out, "Image", plan->spec->image);
    write_texts(&out, "Entrypoint", HUTCH_COUNT(entrypoint), entrypoint);
    hutch_json_bool(&out, "NetworkDisabled", true);
    write_labels(&out, plan);
    hutch_json_open(&out, "HostConfig", '{');
    hutch_json_string(&out, "NetworkMode", "none");
    write_texts(&out, "VolumesFrom", 1, &container);
    hutch_json_close(&out, '}');
    hutch_json_close(&out, '}');
    return json->failed ? hutch_fail_nomem(err) : 0;
}
