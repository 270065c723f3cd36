/* SPDX-License-Identifier: Apache-2.0 */
/* Theory of operation. In hutch's lib directory there are
 *
 *     pool.ext4 or pool.btrfs   the pool, a sparse file: 9/10 of what was free at its making
 *     pool                      where it is mounted
 *     pool.lock                 held while it is made, mounted or unmounted
 *     pool.new                  a pool that is not whole yet
 *
 * Whoever needs the pool opens its root and looks at what was opened. A pool that is seen is whole
 * (see pool_mount.c), and an open descriptor keeps it from being unmounted, so the common case
 * takes no lock. Only when there is no pool, or it is not mounted, the lock is taken and everything
 * looked at again. */
#include "backend/native/pool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "backend/native/pool_kind.h"
#include "backend/native/state.h"
#include "util/own.h"
#include "util/state_dir.h"

#define POOL_LEAST_BYTES (UINT64_C(256) << 20)
#define POOL_LEAST_FREE_BYTES (UINT64_C(16) << 20)
/* An empty pool whose file has grown beyond this is made anew at its next use: quicker than to free
 * its blocks one by one. */
#define POOL_KEPT_BYTES (UINT64_C(256) << 20)

/* In order of preference: ext4 limits inodes too, and refuses a write without a commit. */
static const struct pool_kind *const kinds[] = {&pool_ext4, &pool_btrfs};

static int open_in(const char *lib, const char *name, int flags)
{
    char path[440];
    (void)snprintf(path, sizeof(path), "%s/%s", lib, name);
    return open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int open_file(const char *lib, const struct pool_kind *kind)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "pool.%s", kind->name);
    return open_in(lib, name, O_RDWR);
}

static const struct pool_kind *kind_of_mount(int root, bool *ret_read_only)
{
    struct statfs info;
    if (fstatfs(root, &info) < 0)
        return NULL;
    *ret_read_only = (unsigned long)info.f_flags & ST_RDONLY;
    for (size_t i = 0; i < HUTCH_COUNT(kinds); i++)
        if ((uint32_t)info.f_type == kinds[i]->magic)
            return kinds[i];
    return NULL;
}

/* Not the directory it would be mounted on: that is on the lib directory's own filesystem. */
static bool is_mounted(const char *lib, int root)
{
    struct stat outside, inside;
    return stat(lib, &outside) == 0 && fstat(root, &inside) == 0 && outside.st_dev != inside.st_dev;
}

/* The root of the pool as it is mounted now. HUTCH_E_NOT_FOUND when it is not. */
static int open_mounted(const char *lib, const struct pool_kind **ret_kind, bool *ret_read_only,
                        struct hutch_error *err)
{
    hutch_autofd int root = open_in(lib, "pool", O_RDONLY | O_DIRECTORY);
    if (root < 0 && errno != ENOENT)
        return hutch_fail_errno(err, errno, "open the pool '%.200s/pool'", lib);
    if (root < 0 || !is_mounted(lib, root))
        return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT, "no pool is mounted at '%.200s/pool'",
                          lib);
    const struct pool_kind *kind = kind_of_mount(root, ret_read_only);
    if (!kind)
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "what is mounted at '%.200s/pool' is not a quota pool; unmount it", lib);
    *ret_kind = kind;
    return HUTCH_TAKE_FD(root);
}

static int open_writable(const char *lib, const struct pool_kind **ret_kind,
                         struct hutch_error *err)
{
    bool read_only = false;
    hutch_autofd int root = open_mounted(lib, ret_kind, &read_only, err);
    if (root >= 0 && read_only)
        return hutch_fail(
            err, HUTCH_E_UNAVAILABLE, EROFS,
            "the pool '%.200s/pool' has become read-only: the disk below is full or fails; end its "
            "sandboxes, then run 'hutch gc'",
            lib);
    return HUTCH_TAKE_FD(root);
}

/* Together thirty seconds. Making a pool takes one; who was stopped meanwhile must not stop
 * everybody else for good. */
#define LOCK_PAUSE_NS 5000000
#define LOCK_TRIES 6000

static int take_lock(const char *lib, struct hutch_error *err)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    hutch_autofd int lock = open_in(lib, "pool.lock", O_RDWR | O_CREAT);
    for (int tries = 0; lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0; tries++) {
        if (lock < 0 || (errno != EWOULDBLOCK && errno != EINTR))
            return hutch_fail_errno(err, errno, "lock '%.200s/pool.lock'", lib);
        if (tries == LOCK_TRIES)
            return hutch_fail(err, HUTCH_E_UNAVAILABLE, ETIMEDOUT,
                              "another hutch has had the lock '%.200s/pool.lock' for 30 seconds; "
                              "end it, or try again",
                              lib);
        (void)nanosleep(&pause, NULL);
    }
    return HUTCH_TAKE_FD(lock);
}

static int mount_existing(const char *lib, const struct pool_kind **ret_kind,
                          struct hutch_error *err)
{
    for (size_t i = 0; i < HUTCH_COUNT(kinds); i++) {
        hutch_autofd int file = open_file(lib, kinds[i]);
        if (file < 0 && errno == ENOENT)
            continue;
        int root =
            file < 0 ? hutch_fail_errno(err, errno, "open") : pool_mount(lib, kinds[i], file, err);
        if (root < 0)
            return hutch_wrap(err, "the pool '%.200s/pool.%s' (remove it to have a new one made)",
                              lib, kinds[i]->name);
        *ret_kind = kinds[i];
        return root;
    }
    return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT, "no pool has been made in '%.200s'", lib);
}

static int free_space(const char *lib, uint64_t *ret_bytes, struct hutch_error *err)
{
    struct statvfs info;
    if (statvfs(lib, &info) < 0)
        return hutch_fail_errno(err, errno, "look at the filesystem of '%.200s'", lib);
    *ret_bytes = (uint64_t)info.f_bavail * info.f_frsize;
    return 0;
}

static int choose_size(const char *lib, uint64_t *ret_bytes, struct hutch_error *err)
{
    uint64_t free_bytes = 0;
    int status = free_space(lib, &free_bytes, err);
    if (status < 0)
        return status;
    uint64_t bytes = free_bytes / 10 * 9 >> 20 << 20;
    if (bytes < POOL_LEAST_BYTES)
        return hutch_fail(
            err, HUTCH_E_UNAVAILABLE, ENOSPC,
            "a pool for disk-backed sandboxes needs %llu MiB, and '%.200s' has only %llu MiB free; "
            "free some, or set HUTCH_HOME to a directory elsewhere",
            (unsigned long long)POOL_LEAST_BYTES * 10 / 9 >> 20, lib,
            (unsigned long long)free_bytes >> 20);
    *ret_bytes = bytes;
    return 0;
}

/* The file is sparse: when the disk below is full, what sandboxes write is lost on its way, and
 * only fsync says so. */
static int check_space_below(const char *lib, struct hutch_error *err)
{
    uint64_t free_bytes = 0;
    int status = free_space(lib, &free_bytes, err);
    if (status == 0 && free_bytes < POOL_LEAST_FREE_BYTES)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, ENOSPC,
                          "the disk below the pool '%.200s/pool' is full: only %llu MiB are free",
                          lib, (unsigned long long)free_bytes >> 20);
    return status;
}

/* Cut short where the sentence is full. */
static void add_reason(char *reasons, size_t size, const struct pool_kind *kind, const char *reason)
{
    size_t length = strlen(reasons);
    const char *const parts[] = {length ? "; " : "", kind->name, ": ", reason};
    for (size_t i = 0; i < HUTCH_COUNT(parts); i++)
        for (const char *next = parts[i]; *next && length + 1 < size; next++)
            reasons[length++] = *next;
    reasons[length] = '\0';
}

static int make_new(const char *lib, int lock, const struct pool_kind **ret_kind,
                    struct hutch_error *err)
{
    char reasons[360] = "", why[160];
    uint64_t size_bytes = 0;
    int status = choose_size(lib, &size_bytes, err);
    if (status < 0)
        return status;
    for (size_t i = 0; i < HUTCH_COUNT(kinds); i++) {
        if (pool_prospect(kinds[i], why, sizeof(why)) == POOL_CANNOT) {
            add_reason(reasons, sizeof(reasons), kinds[i], why);
            continue;
        }
        struct hutch_error cause = HUTCH_ERROR_INIT;
        int root = pool_make(lib, kinds[i], size_bytes, lock, &cause);
        if (root >= 0) {
            *ret_kind = kinds[i];
            return root;
        }
        add_reason(reasons, sizeof(reasons), kinds[i], cause.msg);
    }
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0, "make a quota pool in '%.100s': %s", lib,
                      reasons);
}

static int open_locked(const char *lib, bool make, const struct pool_kind **ret_kind,
                       struct hutch_error *err)
{
    hutch_autofd int lock = take_lock(lib, err);
    if (lock < 0)
        return lock;
    int root = open_writable(lib, ret_kind, err);
    if (root == -HUTCH_E_NOT_FOUND)
        root = mount_existing(lib, ret_kind, err);
    if (root == -HUTCH_E_NOT_FOUND && make)
        root = make_new(lib, lock, ret_kind, err);
    return root;
}

/* HUTCH_E_NOT_FOUND when there is none and it is not to be made. */
static int open_root(const char *lib, bool make, const struct pool_kind **ret_kind,
                     struct hutch_error *err)
{
    int root = open_writable(lib, ret_kind, err);
    return root == -HUTCH_E_NOT_FOUND ? open_locked(lib, make, ret_kind, err) : root;
}

hutch_promise_set pool_enforces(char *why, size_t why_size)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    char lib[400], reason[160];
    hutch_promise_set set = ~(hutch_promise_set)0;
    *why = '\0';
    if (geteuid() != 0 || access("/dev/loop-control", W_OK) < 0) {
        (void)snprintf(why, why_size,
                       "a quota pool needs root and /dev/loop-control (try: modprobe loop)");
        return 0;
    }
    if (state_directory("lib", lib, sizeof(lib), &err) < 0) {
        (void)snprintf(why, why_size, "%s", err.msg);
        return 0;
    }
    for (size_t i = 0; i < HUTCH_COUNT(kinds); i++) {
        hutch_autofd int file = open_file(lib, kinds[i]);
        if (file >= 0)
            return kinds[i]->enforces;
    }
    for (size_t i = 0; i < HUTCH_COUNT(kinds); i++) {
        enum pool_prospect prospect = pool_prospect(kinds[i], reason, sizeof(reason));
        if (prospect == POOL_CANNOT)
            add_reason(why, why_size, kinds[i], reason);
        else
            set &= kinds[i]->enforces;
        if (prospect == POOL_CAN)
            break;
    }
    return set == ~(hutch_promise_set)0 ? 0 : set;
}

static bool is_name(const char *text)
{
    return *text && *text != '.' && !strchr(text, '/') && strcmp(text, "lost+found") != 0;
}

int pool_open(struct pool_dir *dir, const char *id, struct hutch_error *err)
{
    char lib[400];
    int status = state_directory("lib", lib, sizeof(lib), err);
    if (status < 0)
        return status;
    int length = snprintf(dir->path, sizeof(dir->path), "%s/pool/%s", lib, id);
    if (length < 0 || (size_t)length >= sizeof(dir->path) || !is_name(id))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.100s' cannot be a directory's name", id);
    hutch_autofd int root = open_root(lib, true, &dir->kind, err);
    if (root < 0)
        return HUTCH_TAKE_FD(root);
    status = check_space_below(lib, err);
    if (status < 0)
        return status;
    dir->dir = HUTCH_TAKE_FD(root);
    dir->id = 0;
    return 0;
}

static const char *name_of(const struct pool_dir *dir)
{
    return strrchr(dir->path, '/') + 1;
}

static int open_made(const struct pool_dir *dir, uint64_t disk_bytes, uint64_t inodes,
                     uint64_t *ret_id)
{
    hutch_autofd int made =
        openat(dir->dir, name_of(dir), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (made < 0 || dir->kind->limit(made, disk_bytes, inodes, ret_id) < 0)
        return -1;
    return HUTCH_TAKE_FD(made);
}

static void settle(struct pool_dir *dir, int made, uint64_t id)
{
    hutch_fd_close(&dir->dir);
    dir->dir = made;
    dir->id = id;
}

/* It becomes a root directory; others on the host are kept out by the pool's own. */
int pool_create(struct pool_dir *dir, uint64_t disk_bytes, uint64_t inodes, uid_t uid, gid_t gid,
                struct hutch_error *err)
{
    uint64_t id = 0;
    if (dir->kind->make(dir->dir, name_of(dir)) < 0)
        return hutch_fail_errno(err, errno, "make '%.200s'", dir->path);
    hutch_autofd int made = open_made(dir, disk_bytes, inodes, &id);
    if (made < 0 || fchown(made, uid, gid) < 0 || fchmod(made, 0755) < 0) {
        int cause = errno;
        (void)dir->kind->remove(dir->dir, name_of(dir));
        return hutch_fail_errno(err, cause, "set the limits of '%.200s'", dir->path);
    }
    settle(dir, HUTCH_TAKE_FD(made), id);
    return 0;
}

int pool_adopt(struct pool_dir *dir, uint64_t disk_bytes, uint64_t inodes, struct hutch_error *err)
{
    uint64_t id = 0;
    int made = open_made(dir, disk_bytes, inodes, &id);
    if (made < 0)
        return hutch_fail_errno(err, errno, "open the sandbox's files in '%.200s'", dir->path);
    settle(dir, made, id);
    return 0;
}

int pool_snapshot(const char *from_id, const char *to_id, struct hutch_error *err)
{
    struct pool_dir target = POOL_DIR_INIT;
    if (pool_open(&target, to_id, err) < 0)
        return -(int)err->code;
    hutch_autofd int root = target.dir;
    if (!target.kind->snapshot)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "the quota pool is on %s, which cannot share files between sandboxes; "
                          "one on btrfs can (install btrfs-progs and remove the pool when no "
                          "sandbox needs it)",
                          target.kind->name);
    hutch_autofd int source =
        openat(root, from_id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (source < 0 || target.kind->snapshot(root, source, to_id) < 0)
        return hutch_fail_errno(err, errno, "share the files of a sandbox");
    return 0;
}

hutch_promise_set pool_limits(const struct pool_dir *dir)
{
    return dir->kind ? dir->kind->enforces : 0;
}

int pool_set_limits(const struct pool_dir *dir, uint64_t disk_bytes, uint64_t inodes,
                    struct hutch_error *err)
{
    uint64_t id;
    if (dir->kind->limit(dir->dir, disk_bytes, inodes, &id) < 0)
        return hutch_fail_errno(err, errno, "set the limits of '%.200s'", dir->path);
    return 0;
}

int pool_usage(const struct pool_dir *dir, uint64_t *ret_bytes, bool *ret_full)
{
    if (dir->dir < 0 || !dir->id) {
        errno = EBADF;
        return -1;
    }
    return dir->kind->usage(dir, ret_bytes, ret_full);
}

int pool_destroy(struct pool_dir *dir)
{
    int status = 0;
    if (dir->dir >= 0 && dir->id) {
        hutch_autofd int root = openat(dir->dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        /* an open subvolume would not be freed */
        hutch_fd_close(&dir->dir);
        status = root < 0 ? -1 : dir->kind->remove(root, name_of(dir));
    }
    hutch_fd_close(&dir->dir);
    dir->id = 0;
    return status < 0 && errno != ENOENT ? -1 : 0;
}

int pool_remove_path(const char *path)
{
    char lib[400];
    struct hutch_error err = HUTCH_ERROR_INIT;
    const struct pool_kind *kind = NULL;
    const char *name = strrchr(path, '/');
    size_t parent = name ? (size_t)(name - path) : 0;
    const char pool[] = "/pool";
    size_t suffix = sizeof(pool) - 1;
    if (parent <= suffix || parent - suffix >= sizeof(lib) || !is_name(name + 1) ||
        strncmp(path + parent - suffix, pool, suffix) != 0) {
        errno = EINVAL;
        return -1;
    }
    (void)snprintf(lib, sizeof(lib), "%.*s", (int)(parent - suffix), path);
    hutch_autofd int root = open_root(lib, false, &kind, &err);
    if (root == -HUTCH_E_NOT_FOUND)
        return 0;
    if (root < 0 || !kind) {
        errno = err.os_errno ? err.os_errno : EIO;
        return -1;
    }
    return kind->remove(root, name + 1) < 0 && errno != ENOENT ? -1 : 0;
}

int pool_remove_id(const char *id)
{
    char lib[400], path[440];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (geteuid() != 0 || !state_exists("lib") ||
        state_directory("lib", lib, sizeof(lib), &ignored) < 0)
        return 0;
    (void)snprintf(path, sizeof(path), "%s/pool/%s", lib, id);
    return pool_remove_path(path);
}

int pool_list(struct hutch_strlist *paths, struct hutch_error *err)
{
    char lib[400];
    const struct pool_kind *kind = NULL;
    struct hutch_error absent = HUTCH_ERROR_INIT;
    bool read_only = false;
    if (!state_exists("lib"))
        return 0;
    if (state_directory("lib", lib, sizeof(lib), err) < 0)
        return -(int)err->code;
    int root = open_mounted(lib, &kind, &read_only, &absent);
    DIR *directory = root < 0 ? NULL : fdopendir(root);
    if (!directory) {
        hutch_fd_close(&root);
        return 0;
    }
    int status = 0;
    struct dirent *entry;
    while (status == 0 && (entry = readdir(directory))) {
        char *path = NULL;
        if (!is_name(entry->d_name))
            continue;
        if (asprintf(&path, "%s/pool/%s", lib, entry->d_name) < 0)
            path = NULL;
        status = hutch_strlist_take(paths, path, err);
    }
    (void)closedir(directory);
    return status;
}

static bool is_empty(int root)
{
    int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    bool empty = true;
    if (!directory) {
        hutch_fd_close(&fd);
        return false;
    }
    while (empty && (entry = readdir(directory)))
        empty = !is_name(entry->d_name);
    (void)closedir(directory);
    return empty;
}

int pool_remove_half(bool dry_run)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    char lib[400], path[420];
    if (!state_exists("lib") || state_directory("lib", lib, sizeof(lib), &ignored) < 0)
        return 0;
    (void)snprintf(path, sizeof(path), "%s/pool.new", lib);
    hutch_autofd int lock =
        access(path, F_OK) < 0 ? HUTCH_NO_FD : open_in(lib, "pool.lock", O_RDWR | O_CREAT);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0) /* somebody makes it just now */
        return 0;
    return (dry_run ? access(path, F_OK) : unlink(path)) == 0;
}

static void drop_grown_file(const char *lib, const struct pool_kind *kind)
{
    struct stat info;
    char path[420];
    (void)snprintf(path, sizeof(path), "%s/pool.%s", lib, kind->name);
    if (lstat(path, &info) == 0 && (uint64_t)info.st_blocks * 512 > POOL_KEPT_BYTES)
        (void)unlink(path);
}

/* A pool that has become read-only can be neither used nor emptied; mounted anew it can, unless
 * somebody still uses it. */
int pool_release(bool dry_run)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    const struct pool_kind *kind = NULL;
    char lib[400], path[420];
    bool read_only = false;
    if (!state_exists("lib") || state_directory("lib", lib, sizeof(lib), &ignored) < 0)
        return 0;
    hutch_autofd int seen = open_mounted(lib, &kind, &read_only, &ignored);
    hutch_autofd int lock = seen < 0 ? -1 : take_lock(lib, &ignored);
    hutch_fd_close(&seen);
    hutch_autofd int root = lock < 0 ? -1 : open_mounted(lib, &kind, &read_only, &ignored);
    if (root < 0 || !kind)
        return 0;
    bool empty = is_empty(root);
    if (!empty && !read_only)
        return 0;
    if (dry_run)
        return 1;
    hutch_fd_close(&root);
    (void)snprintf(path, sizeof(path), "%s/pool", lib);
    if (umount2(path, UMOUNT_NOFOLLOW) < 0)
        return 0;
    if (empty)
        drop_grown_file(lib, kind);
    return 1;
}
