/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtimes of this host can do, and what they mean when they refuse. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/oci/oci.h"
#include "util/own.h"

static const struct {
    const char *says;
    const char *means;
} refusals[] = {
    {"hybrid mode not supported",
     "this version does not work on a host with both cgroup hierarchies; use --runtime runc, or "
     "boot the host with systemd.unified_cgroup_hierarchy=1"},
    {"cannot set memory.memsw", "this kernel does not count swap; boot it with swapaccount=1"},
    {"operation not permitted", "it lacks a privilege; run hutch as root of the host"},
};

/* The last line that says something; warnings come before it. */
void oci_last_line(const char *said, char *line, size_t size)
{
    size_t end = strlen(said);
    while (end && (said[end - 1] == '\n' || said[end - 1] == ' '))
        end--;
    size_t start = end;
    while (start && said[start - 1] != '\n')
        start--;
    (void)snprintf(line, size, "%.*s", (int)(end - start), said + start);
}

int oci_explain(const struct oci_runtime *runtime, const char *said, struct hutch_error *err)
{
    char line[256];
    oci_last_line(said, line, sizeof(line));
    for (size_t i = 0; i < HUTCH_COUNT(refusals); i++)
        if (strstr(said, refusals[i].says))
            return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                              "the OCI runtime '%s' refused the container: %.150s; %s",
                              runtime->name, line, refusals[i].means);
    return hutch_fail(err, HUTCH_E_SYSTEM, 0,
                      "the OCI runtime '%s' did not start the container: %s", runtime->name,
                      line[0] ? line : "it gave no reason");
}

static const hutch_promise_set always_enforced =
    HUTCH_PROMISE_BIT(TIMEOUT) | HUTCH_PROMISE_BIT(IDLE_TIMEOUT) | HUTCH_PROMISE_BIT(OUTPUT) |
    HUTCH_PROMISE_BIT(OPEN_FILES) | HUTCH_PROMISE_BIT(GROUPS) | HUTCH_PROMISE_BIT(EGRESS) |
    HUTCH_PROMISE_BIT(READ_ONLY);

/* The layer is the native one: in memory, or in the quota pool. */
static hutch_promise_set layer_enforces(const struct hutch_spec *spec, char *why, size_t size)
{
    if (spec && layer_wants_pool(spec))
        return pool_enforces(why, size);
    return HUTCH_PROMISE_BIT(DISK) | HUTCH_PROMISE_BIT(INODES);
}

int oci_probe(const struct hutch_spec *spec, const char *name, const char *id,
              struct porter_probe *ret_probe)
{
    const struct oci_runtime *runtime;
    struct cgroup_layout layout;
    char path[128];
    (void)id;
    *ret_probe = (struct porter_probe){0};
    if (!identity_is_privileged())
        return hutch_fail(&ret_probe->error, HUTCH_E_PERMISSION, 0,
                          "the backend oci needs root, for the limits and ids of its containers; "
                          "run hutch as root, or use the backend native");
    if (oci_runtime_find(name, &runtime, path, sizeof(path), &ret_probe->error) < 0)
        return -(int)ret_probe->error.code;
    cgroup_probe(&layout);
    (void)snprintf(ret_probe->why, sizeof(ret_probe->why), "%s", layout.why_not);
    ret_probe->enforces = always_enforced | layout.enforces |
                          layer_enforces(spec, ret_probe->why, sizeof(ret_probe->why));
    return 0;
}

/* "runc version 1.1.5+ds1\n..." is version 1.1.5+ds1. */
static void read_version(const char *path, const struct oci_runtime *runtime, char *ret_version,
                         size_t size)
{
    char said[OCI_STDERR_TAIL];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    const char *const argv[] = {runtime->name, "--version", NULL};
    ret_version[0] = '\0';
    if (oci_call(NULL, path, (char *const *)argv, said, sizeof(said), &ignored) < 0)
        return;
    const char *number = strstr(said, "version ");
    number = number ? number + strlen("version ") : said;
    (void)snprintf(ret_version, size, "%.*s", (int)strcspn(number, "\n"), number);
}

static void check_runtime(const struct oci_runtime *runtime, struct hutch_check *check)
{
    const struct oci_runtime *found;
    struct hutch_error error = HUTCH_ERROR_INIT;
    char path[128];
    char version[64];
    bool is_hybrid = access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK) == 0;
    if (oci_runtime_find(runtime->name, &found, path, sizeof(path), &error) < 0) {
        check->status = HUTCH_CHECK_WARN;
        (void)snprintf(check->detail, sizeof(check->detail), "%s is not installed (%s)",
                       runtime->name, runtime->doc);
        (void)snprintf(check->remedy, sizeof(check->remedy), "apt-get install %s",
                       runtime->package);
        return;
    }
    read_version(path, runtime, version, sizeof(version));
    (void)snprintf(check->detail, sizeof(check->detail), "%s %s (%s)", path, version, runtime->doc);
    if (is_hybrid && !strcmp(runtime->name, "crun")) {
        check->status = HUTCH_CHECK_WARN;
        (void)snprintf(check->remedy, sizeof(check->remedy), "%s",
                       "crun refuses hosts with both cgroup hierarchies: use --runtime runc, or "
                       "boot with systemd.unified_cgroup_hierarchy=1");
    }
}

int oci_doctor(hutch_check_fn on_check, void *userdata, struct hutch_error *err)
{
    static const char *const names[] = {"oci.runc", "oci.crun", "oci.runsc"};
    (void)err;
    for (size_t i = 0; i < oci_runtime_count; i++) {
        struct hutch_check check = {.name = names[i], .status = HUTCH_CHECK_OK};
        check_runtime(&oci_runtimes[i], &check);
        on_check(userdata, &check);
    }
    return 0;
}
