/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/doctor_check.h"
#include "util/own.h"

/* Why a user namespace was refused. The first cause that applies is the one to mend first. */
struct cause {
    bool (*applies)(void);
    const char *detail;
    const char *remedy;
};

static bool kernel_lacks_them(void)
{
    return access("/proc/self/ns/user", F_OK) < 0;
}

static bool none_allowed(void)
{
    return doctor_setting("/proc/sys/user/max_user_namespaces") == 0;
}

static bool debian_forbids(void)
{
    return !doctor_is_root() && doctor_setting("/proc/sys/kernel/unprivileged_userns_clone") == 0;
}

static bool apparmor_forbids(void)
{
    return !doctor_is_root() &&
           doctor_setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1;
}

/* The kernel refuses user namespaces to a process whose root is not its mount namespace's. Not told
 * by any file; PID 1's root differs from ours in a chroot, and only root may look. */
static bool in_chroot(void)
{
    struct stat own;
    struct stat first;
    return stat("/", &own) == 0 && stat("/proc/1/root/", &first) == 0 &&
           (own.st_ino != first.st_ino || own.st_dev != first.st_dev);
}

static bool under_seccomp(void)
{
    return doctor_file_has_word("/proc/self/status", "Seccomp:\t2", "\n");
}

static const struct cause causes[] = {
    {kernel_lacks_them, "the kernel was built without user namespaces (CONFIG_USER_NS)",
     "install a distribution kernel: apt-get install linux-image-amd64"},
    {none_allowed, "user.max_user_namespaces is 0",
     "sudo sysctl -w user.max_user_namespaces=15000; to keep it: echo "
     "user.max_user_namespaces=15000 | sudo tee /etc/sysctl.d/90-hutch.conf"},
    {debian_forbids, "kernel.unprivileged_userns_clone is 0",
     "sudo sysctl -w kernel.unprivileged_userns_clone=1; to keep it: echo "
     "kernel.unprivileged_userns_clone=1 | sudo tee /etc/sysctl.d/90-hutch.conf"},
    {apparmor_forbids,
     "AppArmor restricts them (kernel.apparmor_restrict_unprivileged_userns is 1)",
     "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile with "
     "'userns,' for the hutch program in /etc/apparmor.d"},
    {under_seccomp, "a seccomp filter around hutch forbids them, as containers have",
     "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined ..."},
    {in_chroot, "hutch runs in a chroot, where the kernel allows none",
     "run hutch outside the chroot"},
};

static void explain_refusal(struct hutch_check *check, int error)
{
    for (size_t i = 0; i < HUTCH_COUNT(causes); i++) {
        if (!causes[i].applies())
            continue;
        doctor_fail(check, "%s", causes[i].detail);
        doctor_remedy(check, "%s", causes[i].remedy);
        return;
    }
    doctor_fail(check, "refused: %s", strerror(error));
    doctor_remedy(check, error == ENOSPC ? "sudo sysctl -w user.max_user_namespaces=15000"
                                         : "no chroot around hutch, no security module that "
                                           "forbids it: see dmesg | tail");
}

/* A namespace without its powers is of no use: AppArmor lets it be made and then denies mount(2).
 */
static void try_user_namespace(const void *argument, struct doctor_trial *trial)
{
    (void)argument;
    if (!doctor_enter_namespaces(CLONE_NEWNS, trial))
        return;
    trial->stage = DOCTOR_STAGE_USE;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        trial->error = errno;
}

void doctor_check_user_namespace(const struct doctor_row *row, struct hutch_check *check)
{
    struct doctor_trial trial = doctor_try(try_user_namespace, NULL);
    (void)row;
    if (trial.error) {
        explain_refusal(check, trial.error);
        return;
    }
    doctor_ok(check, "%s may make them", doctor_is_root() ? "root" : "an ordinary user");
}

static void try_namespace(const void *argument, struct doctor_trial *trial)
{
    const struct doctor_row *row = argument;
    (void)doctor_enter_namespaces(row->flag, trial);
}

void doctor_check_namespace(const struct doctor_row *row, struct hutch_check *check)
{
    const char *kind = strchr(row->name, '.') + 1;
    const struct doctor_row user_only = {.flag = 0};
    struct doctor_trial trial = doctor_try(try_namespace, row);
    if (!trial.error) {
        doctor_ok(check, "works");
        return;
    }
    doctor_fail(check, "cannot be made: %s", strerror(trial.error));
    if (doctor_try(try_namespace, &user_only).error)
        doctor_remedy(check, "see namespace.user");
    else if (trial.error == ENOSPC)
        doctor_remedy(check, "sudo sysctl -w user.max_%s_namespaces=15000",
                      row->flag == CLONE_NEWNS ? "mnt" : kind);
    else if (trial.error == EINVAL)
        doctor_remedy(check, "a kernel with %s namespaces: apt-get install linux-image-amd64",
                      kind);
    else
        doctor_remedy(check, "look for a security module's message: dmesg | tail");
}

static void try_seccomp(const void *argument, struct doctor_trial *trial)
{
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = HUTCH_COUNT(allow), .filter = allow};
    (void)argument;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        trial->error = errno;
}

void doctor_check_seccomp(const struct doctor_row *row, struct hutch_check *check)
{
    struct doctor_trial trial = doctor_try(try_seccomp, NULL);
    (void)row;
    if (!trial.error) {
        doctor_ok(check, "filters can be installed");
        return;
    }
    doctor_fail(check, "no filter can be installed: %s", strerror(trial.error));
    doctor_remedy(check, "a kernel with CONFIG_SECCOMP_FILTER: apt-get install linux-image-amd64");
}
