/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/doctor_check.h"
#include "util/fs.h"
#include "util/own.h"

/* In a mount namespace of its own: an overlay on a small tmpfs that covers /tmp. */
static bool mount_overlay(void)
{
    static const char *const parts[] = {"lower", "upper", "work", "merged"};
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") < 0 || chdir("/tmp") < 0)
        return false;
    for (size_t i = 0; i < HUTCH_COUNT(parts); i++)
        if (mkdir(parts[i], 0700) < 0)
            return false;
    return mount("overlay", "merged", "overlay", MS_NOSUID | MS_NODEV,
                 "lowerdir=lower,upperdir=upper,workdir=work,userxattr") == 0;
}

static void try_overlay(const void *argument, struct doctor_trial *trial)
{
    (void)argument;
    if (!doctor_enter_namespaces(CLONE_NEWNS, trial))
        return;
    trial->stage = DOCTOR_STAGE_USE;
    if (!mount_overlay())
        trial->error = errno;
}

void doctor_check_overlay(const struct doctor_row *row, struct hutch_check *check)
{
    struct doctor_trial trial = doctor_try(try_overlay, NULL);
    (void)row;
    if (!trial.error) {
        doctor_ok(check, "can be mounted in a user namespace");
        return;
    }
    doctor_fail(check, "cannot be mounted in a user namespace: %s", strerror(trial.error));
    if (trial.stage != DOCTOR_STAGE_USE)
        doctor_remedy(check, "see namespace.user");
    else if (trial.error == ENODEV)
        doctor_remedy(check, "sudo modprobe overlay");
    else
        doctor_remedy(check, "a kernel of 5.11 or newer: apt-get dist-upgrade, then reboot");
}

/* A process that holds a user namespace until it is killed, so that its map can be written. */
static pid_t hold_user_namespace(bool *ret_ready)
{
    int ends[2];
    char word = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || unshare(CLONE_NEWUSER) < 0 ||
            write(ends[1], "", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    (void)close(ends[1]);
    *ret_ready = pid > 0 && read(ends[0], &word, 1) == 1;
    (void)close(ends[0]);
    return pid;
}

static int open_mapped_namespace(pid_t holder)
{
    char path[48];
    (void)snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)holder);
    if (hutch_write_at(AT_FDCWD, path, "0 100000 65536") < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)holder);
    if (hutch_write_at(AT_FDCWD, path, "0 100000 65536") < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)holder);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* On a detached copy of the mount, which nobody else sees and which goes with its descriptor. */
static bool idmap_directory(const char *directory, int user_namespace)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_IDMAP,
                                    .userns_fd = (unsigned)user_namespace};
    hutch_autofd int tree =
        (int)syscall(SYS_open_tree, AT_FDCWD, directory, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    return tree >= 0 && syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes,
                                sizeof(attributes)) == 0;
}

static void try_idmap(const void *argument, struct doctor_trial *trial)
{
    bool ready = false;
    pid_t holder = hold_user_namespace(&ready);
    hutch_autofd int namespace = ready ? open_mapped_namespace(holder) : HUTCH_NO_FD;
    trial->stage = ready ? DOCTOR_STAGE_USE : DOCTOR_STAGE_NAMESPACE;
    if (!ready)
        trial->error = EPERM;
    else if (namespace < 0 || !idmap_directory(argument, namespace))
        trial->error = errno;
    if (holder > 0) {
        (void)kill(holder, SIGKILL);
        (void)waitpid(holder, NULL, 0);
    }
}

void doctor_check_idmap(const struct doctor_row *row, struct hutch_check *check)
{
    static const char directory[] = "/var/lib";
    (void)row;
    if (!doctor_is_root()) {
        doctor_ok(check, "not used: only root can make them, and a user's files need no mapping");
        return;
    }
    struct doctor_trial trial = doctor_try(try_idmap, directory);
    if (!trial.error) {
        doctor_ok(check, "work on the file system of '%s'", directory);
        return;
    }
    doctor_warn(check, "do not work on the file system of '%s': %s", directory,
                strerror(trial.error));
    if (trial.stage == DOCTOR_STAGE_NAMESPACE)
        doctor_remedy(check, "see namespace.user");
    else
        doctor_remedy(check,
                      "keep workspaces on ext4, xfs or btrfs, under a kernel of 5.12 or newer");
}
