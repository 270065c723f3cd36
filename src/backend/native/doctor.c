/* SPDX-License-Identifier: Apache-2.0 */
/* The doctor: a table of checks, each of which tries for itself what a sandbox needs. Trials that
 * would leave traces (namespaces, mounts, a seccomp filter) are made in a throw-away process and
 * vanish with it; a trial control group is removed again. So 'hutch doctor' can be run by anybody,
 * at any time, next to running sandboxes. */
#include "backend/native/doctor.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backend/native/doctor_check.h"
#include "util/error.h"
#include "util/own.h"

static const struct doctor_row rows[] = {
    {.name = "kernel", .check = doctor_check_kernel},
    {.name = "kernel.calls", .check = doctor_check_calls},
    {.name = "namespace.user", .check = doctor_check_user_namespace},
    {.name = "namespace.mount", .check = doctor_check_namespace, .flag = CLONE_NEWNS},
    {.name = "namespace.pid", .check = doctor_check_namespace, .flag = CLONE_NEWPID},
    {.name = "namespace.net", .check = doctor_check_namespace, .flag = CLONE_NEWNET},
    {.name = "namespace.ipc", .check = doctor_check_namespace, .flag = CLONE_NEWIPC},
    {.name = "namespace.uts", .check = doctor_check_namespace, .flag = CLONE_NEWUTS},
    {.name = "namespace.cgroup", .check = doctor_check_namespace, .flag = CLONE_NEWCGROUP},
    {.name = "seccomp", .check = doctor_check_seccomp},
    {.name = "overlayfs", .check = doctor_check_overlay},
    {.name = "idmapped_mounts", .check = doctor_check_idmap},
    {.name = "cgroup.version", .check = doctor_check_cgroup_version},
    {.name = "cgroup.memory", .check = doctor_check_controller, .subject = "memory"},
    {.name = "cgroup.cpu", .check = doctor_check_controller, .subject = "cpu"},
    {.name = "cgroup.pids", .check = doctor_check_controller, .subject = "pids"},
    {.name = "cgroup.swap", .check = doctor_check_swap},
    {.name = "ids.newuidmap", .check = doctor_check_map_helper, .subject = "newuidmap"},
    {.name = "ids.newgidmap", .check = doctor_check_map_helper, .subject = "newgidmap"},
    {.name = "ids.subuid", .check = doctor_check_sub_ids, .subject = "/etc/subuid"},
    {.name = "ids.subgid", .check = doctor_check_sub_ids, .subject = "/etc/subgid"},
    {.name = "pool.loop", .check = doctor_check_loop},
    {.name = "pool.quota", .check = doctor_check_pool},
    {.name = "engine.docker", .check = doctor_check_docker, .package = "docker.io"},
    {.name = "engine.podman",
     .check = doctor_check_program,
     .subject = "podman",
     .package = "podman"},
    {.name = "engine.crun", .check = doctor_check_program, .subject = "crun", .package = "crun"},
    {.name = "engine.runc", .check = doctor_check_program, .subject = "runc", .package = "runc"},
    {.name = "engine.gvisor",
     .check = doctor_check_program,
     .subject = "runsc",
     .package = "runsc"},
    {.name = "engine.kubernetes",
     .check = doctor_check_program,
     .subject = "kubectl",
     .package = "kubernetes-client"},
    {.name = "engine.buildah",
     .check = doctor_check_program,
     .subject = "buildah",
     .package = "buildah"},
};

int hutch_native_doctor(hutch_check_fn on_check, void *userdata, struct hutch_error *err)
{
    if (!on_check)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the doctor needs somebody to tell");
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++) {
        struct hutch_check check = {.name = rows[i].name};
        rows[i].check(&rows[i], &check);
        on_check(userdata, &check);
    }
    return 0;
}

/* mount_setattr(2), the youngest call of a sandbox's set-up, came with 5.12. */
enum { OLDEST_MAJOR = 5, OLDEST_MINOR = 12 };

void doctor_check_kernel(const struct doctor_row *row, struct hutch_check *check)
{
    struct utsname name;
    int major = 0;
    int minor = 0;
    (void)row;
    if (uname(&name) < 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2) {
        doctor_warn(check, "version unknown");
        return;
    }
    if (major > OLDEST_MAJOR || (major == OLDEST_MAJOR && minor >= OLDEST_MINOR)) {
        doctor_ok(check, "Linux %s on %s", name.release, name.machine);
        return;
    }
    doctor_warn(check, "Linux %s is older than %d.%d", name.release, OLDEST_MAJOR, OLDEST_MINOR);
    doctor_remedy(check, "apt-get update && apt-get dist-upgrade, then reboot into a newer kernel");
}

/* Called with arguments that no kernel accepts: only a missing call, or a filter around us, answers
 * ENOSYS or EPERM. */
static const struct {
    const char *name;
    long number;
    long arguments[3];
} calls[] = {
    {"clone3", SYS_clone3, {0, 0, 0}},
    {"openat2", SYS_openat2, {-1, 0, 0}},
    {"close_range", SYS_close_range, {1, 0, 0}},
    {"pidfd_open", SYS_pidfd_open, {-1, 0, 0}},
    {"mount_setattr", SYS_mount_setattr, {-1, 0, 0}},
};

void doctor_check_calls(const struct doctor_row *row, struct hutch_check *check)
{
    char missing[128] = "";
    size_t length = 0;
    (void)row;
    for (size_t i = 0; i < HUTCH_COUNT(calls); i++) {
        const long *a = calls[i].arguments;
        if (syscall(calls[i].number, a[0], a[1], a[2], 0L, 0L) == 0 ||
            (errno != ENOSYS && errno != EPERM))
            continue;
        length += (size_t)snprintf(missing + length, sizeof(missing) - length, "%s%s",
                                   length ? ", " : "", calls[i].name);
    }
    if (!length) {
        doctor_ok(check, "every system call that hutch needs is there");
        return;
    }
    doctor_fail(check, "not available: %s", missing);
    doctor_remedy(check, "a kernel of 5.12 or newer; inside a container also "
                         "--security-opt seccomp=unconfined");
}
