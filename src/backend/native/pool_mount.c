/* SPDX-License-Identifier: Apache-2.0 */
/* Making and mounting the pool, so that a crash at any point leaves either nothing or a whole pool.
 * The file is formatted under another name, mounted where nobody sees it, prepared, renamed, and
 * only then becomes visible. Until it is visible the mount and its loop device belong to a
 * descriptor and go with it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/loop.h"
#include "backend/native/pool_kind.h"
#include "util/own.h"

#ifndef SYS_move_mount
#define SYS_move_mount 429
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif

#define LOCK_FD_IN_CHILD 3

static int set_option(int fs, const char *key, const char *value)
{
    unsigned command = value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;
    return (int)syscall(SYS_fsconfig, fs, command, key, value, 0);
}

/* A mount that is not in the tree yet. */
static int mount_detached(const struct pool_kind *kind, const char *device, struct hutch_error *err)
{
    const unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME;
    hutch_autofd int fs = (int)syscall(SYS_fsopen, kind->name, FSOPEN_CLOEXEC);
    if (fs < 0)
        return hutch_fail_errno(err, errno, "open filesystem type '%s'", kind->name);
    if (set_option(fs, "source", device) < 0)
        return hutch_fail_errno(err, errno, "mount '%s'", device);
    for (const struct pool_option *option = kind->options; option->key; option++)
        if (set_option(fs, option->key, option->value) < 0)
            return hutch_fail_errno(err, errno, "mount '%s' with option '%s'", device, option->key);
    if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return hutch_fail_errno(err, errno, "mount '%s' as %s", device, kind->name);
    int mount = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
    if (mount < 0)
        return hutch_fail_errno(err, errno, "mount '%s' as %s", device, kind->name);
    return mount;
}

/* publish: what the file is called now when it has yet to get its name. */
static int mount_file(const char *lib, const struct pool_kind *kind, int file, const char *publish,
                      struct hutch_error *err)
{
    char device[LOOP_PATH_SIZE], target[420], name[420];
    hutch_autofd int loop = loop_attach(file, device, sizeof(device), err);
    if (loop < 0)
        return loop;
    hutch_autofd int mount = mount_detached(kind, device, err);
    if (mount < 0)
        return mount;
    hutch_autofd int root = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || fchmod(root, 0700) < 0)
        return hutch_fail_errno(err, errno, "open the root of the mounted pool");
    int status = kind->prepare(root, err);
    if (status < 0)
        return status;
    (void)snprintf(target, sizeof(target), "%s/pool", lib);
    (void)snprintf(name, sizeof(name), "%s/pool.%s", lib, kind->name);
    if (mkdir(target, 0700) < 0 && errno != EEXIST)
        return hutch_fail_errno(err, errno, "make directory '%.200s'", target);
    if (publish && rename(publish, name) < 0)
        return hutch_fail_errno(err, errno, "rename '%.200s'", publish);
    if (syscall(SYS_move_mount, mount, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return hutch_fail_errno(err, errno, "mount the pool at '%.200s'", target);
    return HUTCH_TAKE_FD(root);
}

int pool_mount(const char *lib, const struct pool_kind *kind, int file, struct hutch_error *err)
{
    return mount_file(lib, kind, file, NULL, err);
}

/* The child has the lock too: if hutch is killed, nobody begins anew while it still writes. */
static int spawn(const char *path, char *const *argv, int lock, pid_t *ret_pid)
{
    static char search[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    char *const environment[] = {search, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    (void)sigemptyset(&signals);
    (void)posix_spawnattr_setsigmask(&attributes, &signals);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    failed = posix_spawn_file_actions_adddup2(&actions, lock, LOCK_FD_IN_CHILD);
    for (int fd = 0; fd < 3 && !failed; fd++)
        failed = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    if (!failed)
        failed = posix_spawn(ret_pid, path, &actions, &attributes, argv, environment);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static int format(const struct pool_kind *kind, char *file, int lock, struct hutch_error *err)
{
    char path[64];
    char *argv[24] = {path};
    size_t count = 1;
    pid_t pid;
    int status;
    if (!pool_find_program(kind->program, path, sizeof(path)))
        return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT, "%s is not installed", kind->program);
    /* posix_spawn writes to no argument, but its type does not say so */
    for (const char *const *argument = kind->arguments; *argument; argument++)
        memcpy(&argv[count++], argument, sizeof(*argument));
    argv[count] = file;
    int failed = spawn(path, argv, lock, &pid);
    if (failed)
        return hutch_fail_errno(err, failed, "run '%s'", path);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return hutch_fail_errno(err, errno, "wait for '%s'", path);
    if (status)
        return hutch_fail(err, HUTCH_E_SYSTEM, 0, "'%s' could not format '%.200s' (%s %d)", path,
                          file, WIFEXITED(status) ? "exit status" : "signal",
                          WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return 0;
}

int pool_make(const char *lib, const struct pool_kind *kind, uint64_t size_bytes, int lock,
              struct hutch_error *err)
{
    char path[420];
    (void)snprintf(path, sizeof(path), "%s/pool.new", lib);
    if (unlink(path) < 0 && errno != ENOENT)
        return hutch_fail_errno(err, errno, "remove '%.200s'", path);
    hutch_autofd int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return hutch_fail_errno(err, errno, "make '%.200s'", path);
    int root;
    if (ftruncate(file, (off_t)size_bytes) < 0)
        root = hutch_fail_errno(err, errno, "give '%.200s' a size of %llu MiB", path,
                                (unsigned long long)size_bytes >> 20);
    else if ((root = format(kind, path, lock, err)) == 0)
        root = mount_file(lib, kind, file, path, err);
    if (root < 0)
        (void)unlink(path);
    return root;
}
