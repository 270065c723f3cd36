/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/oci/bundle.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "backend/native/state.h"
#include "porter/container.h"
#include "util/json_out.h"
#include "util/own.h"

#define CPU_PERIOD_US 100000

struct mount_row {
    const char *destination;
    const char *type;
    const char *source;
    const char *const *options;
};

#define OPTIONS(...)                \
    (const char *const[])           \
    {                               \
        "nosuid", __VA_ARGS__, NULL \
    }

/* The sizes and modes are those of the native plan. /proc is read-only as a whole, as there. */
static const struct mount_row mounts[] = {
    {"/proc", "proc", "proc", OPTIONS("noexec", "nodev", "ro")},
    {"/dev", "tmpfs", "tmpfs", OPTIONS("noexec", "mode=755", "size=65536k")},
    {"/dev/pts", "devpts", "devpts",
     OPTIONS("noexec", "newinstance", "ptmxmode=0666", "mode=0620", "max=64")},
    {"/dev/shm", "tmpfs", "shm", OPTIONS("nodev", "mode=1777", "size=65536k")},
};

/* Beside a read-only root: nothing but /dev/shm is for writing there. gVisor would not let a device
 * be written to either; its /dev is in its own memory. */
static const struct mount_row closed_dev = {"/dev", "tmpfs", "tmpfs",
                                            OPTIONS("noexec", "mode=755", "size=65536k", "ro")};

static const struct mount_row sys_mount = {"/sys", "sysfs", "sysfs",
                                           OPTIONS("noexec", "nodev", "ro")};

/* Without a namespace of a kind the container would have the host's. */
static const char *const namespaces[] = {"pid", "network", "ipc", "uts", "mount", "cgroup", "user"};

static const char *const capability_sets[] = {"bounding", "effective", "inheritable", "permitted",
                                              "ambient"};

static const char *const rlimit_names[INIT_RLIMITS] = {
    [RLIMIT_CPU] = "RLIMIT_CPU",           [RLIMIT_FSIZE] = "RLIMIT_FSIZE",
    [RLIMIT_DATA] = "RLIMIT_DATA",         [RLIMIT_STACK] = "RLIMIT_STACK",
    [RLIMIT_CORE] = "RLIMIT_CORE",         [RLIMIT_RSS] = "RLIMIT_RSS",
    [RLIMIT_NPROC] = "RLIMIT_NPROC",       [RLIMIT_NOFILE] = "RLIMIT_NOFILE",
    [RLIMIT_MEMLOCK] = "RLIMIT_MEMLOCK",   [RLIMIT_AS] = "RLIMIT_AS",
    [RLIMIT_LOCKS] = "RLIMIT_LOCKS",       [RLIMIT_SIGPENDING] = "RLIMIT_SIGPENDING",
    [RLIMIT_MSGQUEUE] = "RLIMIT_MSGQUEUE", [RLIMIT_NICE] = "RLIMIT_NICE",
    [RLIMIT_RTPRIO] = "RLIMIT_RTPRIO",     [RLIMIT_RTTIME] = "RLIMIT_RTTIME",
};

static void write_rlimits(struct hutch_json_out *out, const struct init_rlimit *rlimits)
{
    hutch_json_open(out, "rlimits", '[');
    for (size_t i = 0; i < INIT_RLIMITS; i++) {
        hutch_json_open(out, NULL, '{');
        hutch_json_string(out, "type", rlimit_names[i]);
        hutch_json_uint(out, "hard", rlimits[i].hard);
        hutch_json_uint(out, "soft", rlimits[i].soft);
        hutch_json_close(out, '}');
    }
    hutch_json_close(out, ']');
}

/* hutch-init as the sandbox's user: it starts every command and gives none of them more. */
static void write_process(struct hutch_json_out *out, const struct bundle *bundle)
{
    char home[300];
    (void)snprintf(home, sizeof(home), "HOME=%s", bundle->home);
    hutch_json_open(out, "process", '{');
    hutch_json_bool(out, "terminal", false);
    hutch_json_open(out, "user", '{');
    hutch_json_uint(out, "uid", bundle->uid);
    hutch_json_uint(out, "gid", bundle->gid);
    hutch_json_close(out, '}');
    hutch_json_open(out, "args", '[');
    hutch_json_string(out, NULL, CONTAINER_GUEST_PATH);
    hutch_json_string(out, NULL, CONTAINER_GUEST_WORD);
    hutch_json_close(out, ']');
    hutch_json_open(out, "env", '[');
    hutch_json_string(out, NULL, home);
    hutch_json_close(out, ']');
    hutch_json_string(out, "cwd", "/");
    hutch_json_open(out, "capabilities", '{');
    for (size_t i = 0; i < HUTCH_COUNT(capability_sets); i++) {
        hutch_json_open(out, capability_sets[i], '[');
        hutch_json_close(out, ']');
    }
    hutch_json_close(out, '}');
    write_rlimits(out, bundle->rlimits);
    hutch_json_bool(out, "noNewPrivileges", true);
    hutch_json_close(out, '}');
}

static void write_mount(struct hutch_json_out *out, const struct mount_row *row)
{
    hutch_json_open(out, NULL, '{');
    hutch_json_string(out, "destination", row->destination);
    hutch_json_string(out, "type", row->type);
    hutch_json_string(out, "source", row->source);
    hutch_json_open(out, "options", '[');
    for (const char *const *option = row->options; *option; option++)
        hutch_json_string(out, NULL, *option);
    hutch_json_close(out, ']');
    hutch_json_close(out, '}');
}

/* gVisor puts a /sys of its own where none is named, and a /tmp in its own memory, out of reach of
 * the disk limit: /tmp is named as what it is. The plan has made sure that it is a directory. */
static void write_kernel_mounts(struct hutch_json_out *out, const struct bundle *bundle)
{
    char source[256];
    (void)snprintf(source, sizeof(source), "%s/tmp", bundle->rootfs);
    const struct mount_row tmp = {"/tmp", "bind", source, OPTIONS("rbind", "nodev")};
    write_mount(out, &sys_mount);
    write_mount(out, &tmp);
}

static void write_mounts(struct hutch_json_out *out, const struct bundle *bundle)
{
    hutch_json_open(out, "mounts", '[');
    for (size_t i = 0; i < HUTCH_COUNT(mounts); i++) {
        bool is_closed = bundle->read_only && !bundle->is_kernel &&
                         !strcmp(mounts[i].destination, closed_dev.destination);
        write_mount(out, is_closed ? &closed_dev : &mounts[i]);
    }
    if (bundle->is_kernel)
        write_kernel_mounts(out, bundle);
    hutch_json_close(out, ']');
}

static void write_mapping(struct hutch_json_out *out, const char *key, uint32_t first)
{
    hutch_json_open(out, key, '[');
    hutch_json_open(out, NULL, '{');
    hutch_json_uint(out, "containerID", 0);
    hutch_json_uint(out, "hostID", first);
    hutch_json_uint(out, "size", STATE_IDS_PER_SLOT);
    hutch_json_close(out, '}');
    hutch_json_close(out, ']');
}

static void write_resources(struct hutch_json_out *out, const struct bundle *bundle)
{
    const struct hutch_limits *limits = bundle->limits;
    hutch_json_open(out, "resources", '{');
    hutch_json_open(out, "devices", '[');
    hutch_json_open(out, NULL, '{');
    hutch_json_bool(out, "allow", false);
    hutch_json_string(out, "access", "rwm");
    hutch_json_close(out, '}');
    hutch_json_close(out, ']');
    if (bundle->enforced & HUTCH_PROMISE_BIT(MEMORY)) {
        hutch_json_open(out, "memory", '{');
        hutch_json_uint(out, "limit", limits->memory_bytes);
        hutch_json_uint(out, "swap", limits->memory_bytes); /* both together */
        hutch_json_close(out, '}');
    }
    if (bundle->enforced & HUTCH_PROMISE_BIT(CPUS)) {
        hutch_json_open(out, "cpu", '{');
        hutch_json_uint(out, "quota", limits->cpus_milli * CPU_PERIOD_US / 1000);
        hutch_json_uint(out, "period", CPU_PERIOD_US);
        hutch_json_close(out, '}');
    }
    if (bundle->enforced & HUTCH_PROMISE_BIT(PIDS)) {
        hutch_json_open(out, "pids", '{');
        hutch_json_uint(out, "limit", limits->pids);
        hutch_json_close(out, '}');
    }
    hutch_json_close(out, '}');
}

static void write_linux(struct hutch_json_out *out, const struct bundle *bundle)
{
    hutch_json_open(out, "linux", '{');
    write_mapping(out, "uidMappings", bundle->first_host_uid);
    write_mapping(out, "gidMappings", bundle->first_host_gid);
    hutch_json_string(out, "cgroupsPath", bundle->cgroups_path);
    write_resources(out, bundle);
    hutch_json_open(out, "namespaces", '[');
    for (size_t i = 0; i < HUTCH_COUNT(namespaces); i++) {
        hutch_json_open(out, NULL, '{');
        hutch_json_string(out, "type", namespaces[i]);
        if (bundle->network[0] && !strcmp(namespaces[i], "network"))
            hutch_json_string(out, "path", bundle->network);
        hutch_json_close(out, '}');
    }
    hutch_json_close(out, ']');
    hutch_json_open(out, "maskedPaths", '[');
    for (size_t i = 0; i < bundle->covered->count; i++)
        hutch_json_string(out, NULL, bundle->covered->items[i]);
    hutch_json_close(out, ']');
    hutch_json_string(out, "rootfsPropagation", "private");
    hutch_json_close(out, '}');
}

void bundle_write(struct hutch_buf *buf, const struct bundle *bundle)
{
    struct hutch_json_out out = {buf, false};
    hutch_json_open(&out, NULL, '{');
    hutch_json_string(&out, "ociVersion", "1.0.2");
    write_process(&out, bundle);
    hutch_json_open(&out, "root", '{');
    hutch_json_string(&out, "path", bundle->rootfs);
    /* one that is to be is mounted so; gVisor would take all that is mounted below for it, too */
    hutch_json_bool(&out, "readonly", false);
    hutch_json_close(&out, '}');
    hutch_json_string(&out, "hostname", bundle->hostname);
    write_mounts(&out, bundle);
    hutch_json_open(&out, "annotations", '{');
    hutch_json_string(&out, "hutch.id", bundle->id);
    if (bundle->name[0])
        hutch_json_string(&out, "hutch.name", bundle->name);
    hutch_json_close(&out, '}');
    write_linux(&out, bundle);
    hutch_json_close(&out, '}');
}
