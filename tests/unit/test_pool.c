/* SPDX-License-Identifier: Apache-2.0 */
/* The quota pool on the real kernel, in a directory of its own. Needs root and loop devices. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/native/pool.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/remove_tree.h"

#define MIB (UINT64_C(1) << 20)
#define LIMIT (64 * MIB)
#define OWNER 0x70000000u
#define MANY_LEVELS 2000
#define CRASHES 25

static char home[64];

/* ---- the world ---- */

static void pause_ms(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

static unsigned count_lines_with(const char *path, const char *text)
{
    unsigned count = 0;
    char line[4096];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        count += strstr(line, text) != NULL;
    (void)fclose(file);
    return count;
}

static unsigned mounts(void)
{
    return count_lines_with("/proc/self/mounts", home);
}

static unsigned loop_devices(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < 256; i++) {
        char path[64], text[512];
        (void)snprintf(path, sizeof(path), "/sys/block/loop%u/loop/backing_file", i);
        if (hutch_read_at(AT_FDCWD, path, text, sizeof(text)) > 0)
            count += strstr(text, home) != NULL;
    }
    return count;
}

/* The device is given back a moment after the last mount of it is gone. */
static bool no_loop_device_is_left(void)
{
    for (unsigned i = 0; i < 200 && loop_devices() > 0; i++)
        pause_ms(50);
    return loop_devices() == 0;
}

static bool pool_file_exists(const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/lib/%s", home, name);
    return access(path, F_OK) == 0;
}

static int pool_file_unlink(const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/lib/%s", home, name);
    return unlink(path);
}

static int new_home(void **state)
{
    (void)state;
    (void)snprintf(home, sizeof(home), "/var/tmp/hutch-pool-XXXXXX");
    return mkdtemp(home) && setenv("HUTCH_HOME", home, 1) == 0 ? 0 : -1;
}

static int no_trace_is_left(void **state)
{
    (void)state;
    (void)pool_release(false);
    return mounts() == 0 && no_loop_device_is_left() && remove_tree(AT_FDCWD, home) == 0 ? 0 : -1;
}

/* ---- sandboxes ---- */

static void make(struct pool_dir *dir, const char *id, uint64_t inodes)
{
    struct hutch_error err;
    *dir = (struct pool_dir)POOL_DIR_INIT;
    assert_fine(pool_open(dir, id, &err), &err);
    assert_fine(pool_create(dir, LIMIT, inodes, OWNER, OWNER + 1, &err), &err);
    assert_true(dir->dir >= 0);
}

static bool is_full(const struct pool_dir *dir)
{
    uint64_t bytes;
    bool full;
    assert_int_equal(pool_usage(dir, &bytes, &full), 0);
    return full;
}

static uint64_t used(const struct pool_dir *dir)
{
    uint64_t bytes;
    bool full;
    assert_int_equal(pool_usage(dir, &bytes, &full), 0);
    return bytes;
}

/* Runs fn as the sandbox's user, without any capability, in its directory. Returns its exit status.
 */
static int as_owner(const struct pool_dir *dir, int (*fn)(uint64_t), uint64_t argument)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (fchdir(dir->dir) < 0 || setgroups(0, NULL) < 0 || setgid(OWNER + 1) < 0 ||
            setuid(OWNER) < 0)
            _exit(100);
        _exit(fn(argument));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Adds so many MiB to the file "data". Returns 0, or the errno that ended it. */
static int write_mib(uint64_t count)
{
    static char chunk[65536];
    memset(chunk, 'x', sizeof(chunk));
    int fd = open("data", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    for (uint64_t i = 0; i < count * MIB / sizeof(chunk); i++)
        if (hutch_write_all(fd, chunk, sizeof(chunk)) < 0)
            return errno;
    return close(fd) < 0 ? errno : 0;
}

static int make_sparse_file(uint64_t mib)
{
    int fd = open("sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0 || ftruncate(fd, (off_t)(mib * MIB)) < 0 ? errno : 0;
}

static int make_files(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "file-%llu", (unsigned long long)i);
        int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || close(fd) < 0)
            return errno;
    }
    return 0;
}

static int make_nested(uint64_t levels)
{
    for (uint64_t i = 0; i < levels; i++)
        if (mkdir("deep-0", 0700) < 0 || make_files(1) != 0 || chdir("deep-0") < 0)
            return errno;
    return 0;
}

static int remove_data(uint64_t unused)
{
    (void)unused;
    return unlink("data") < 0 ? errno : 0;
}

/* ---- tests ---- */

static void the_first_use_makes_a_pool_that_is_what_was_promised(void **state)
{
    char why[200] = "";
    struct pool_dir dir;
    struct stat info;
    (void)state;
    hutch_promise_set before = pool_enforces(why, sizeof(why));
    assert_true(before & HUTCH_PROMISE_BIT(DISK));
    assert_int_equal(mounts(), 0);
    make(&dir, "a", 100);
    assert_true(pool_file_exists("pool.ext4") != pool_file_exists("pool.btrfs"));
    assert_false(pool_file_exists("pool.new"));
    hutch_promise_set after = pool_enforces(why, sizeof(why));
    assert_int_equal(before & ~after, 0);
    assert_int_equal(!!(after & HUTCH_PROMISE_BIT(INODES)), pool_file_exists("pool.ext4"));
    assert_int_equal(mounts(), 1);
    assert_int_equal(fstat(dir.dir, &info), 0);
    assert_int_equal(info.st_uid, OWNER);
    assert_int_equal(info.st_gid, OWNER + 1);
    assert_int_equal(info.st_mode, S_IFDIR | 0755);
    assert_string_equal(strrchr(dir.path, '/'), "/a");
    assert_int_equal(access(dir.path, F_OK), 0);
    assert_int_equal(pool_destroy(&dir), 0);
    assert_int_equal(access(dir.path, F_OK), -1);
    assert_true(dir.dir < 0);
    assert_int_equal(pool_destroy(&dir), 0);
}

static void writing_stops_at_the_limit(void **state)
{
    struct pool_dir dir;
    struct stat info;
    (void)state;
    make(&dir, "a", 0);
    assert_int_equal(as_owner(&dir, write_mib, 60), 0);
    assert_false(is_full(&dir));
    assert_in_range(used(&dir), 60 * MIB, 61 * MIB);
    assert_int_equal(as_owner(&dir, write_mib, 10), EDQUOT);
    assert_true(is_full(&dir));
    assert_in_range(used(&dir), 63 * MIB, LIMIT);
    assert_int_equal(fstatat(dir.dir, "data", &info, 0), 0);
    assert_in_range(info.st_size, 63 * MIB, LIMIT);
    assert_int_equal(pool_destroy(&dir), 0);
}

static void each_directory_has_its_own_limit(void **state)
{
    struct pool_dir one, two;
    (void)state;
    make(&one, "a", 0);
    make(&two, "b", 0);
    assert_int_equal(as_owner(&one, write_mib, 40), 0);
    assert_int_equal(as_owner(&two, write_mib, 40), 0);
    assert_false(is_full(&one) || is_full(&two));
    assert_int_equal(pool_destroy(&one), 0);
    assert_int_equal(as_owner(&two, write_mib, 30), EDQUOT);
    assert_int_equal(pool_destroy(&two), 0);
}

static void a_sparse_file_does_not_count_and_what_is_removed_counts_no_more(void **state)
{
    struct pool_dir dir;
    (void)state;
    make(&dir, "a", 0);
    assert_int_equal(as_owner(&dir, make_sparse_file, 1024), 0);
    assert_in_range(used(&dir), 0, MIB);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(as_owner(&dir, write_mib, 50), 0);
        assert_int_equal(as_owner(&dir, remove_data, 0), 0);
    }
    assert_false(is_full(&dir));
    assert_int_equal(as_owner(&dir, write_mib, 80), EDQUOT);
    assert_int_equal(as_owner(&dir, remove_data, 0), 0);
    assert_int_equal(as_owner(&dir, write_mib, 50), 0);
    assert_int_equal(pool_destroy(&dir), 0);
}

static void inodes_stop_at_the_limit_where_that_is_promised(void **state)
{
    char why[200];
    struct pool_dir dir;
    (void)state;
    make(&dir, "a", 100);
    if (pool_enforces(why, sizeof(why)) & HUTCH_PROMISE_BIT(INODES)) {
        assert_int_equal(as_owner(&dir, make_files, 90), 0);
        assert_false(is_full(&dir));
        assert_int_equal(as_owner(&dir, make_files, 101), EDQUOT);
        assert_true(is_full(&dir));
    } else {
        assert_int_equal(as_owner(&dir, make_files, 101), 0);
    }
    assert_int_equal(pool_destroy(&dir), 0);
}

static void a_tree_of_any_depth_is_removed(void **state)
{
    struct pool_dir dir;
    char path[512];
    (void)state;
    make(&dir, "a", 0);
    assert_int_equal(as_owner(&dir, make_nested, MANY_LEVELS), 0);
    assert_int_equal(pool_destroy(&dir), 0);
    /* on btrfs a plain directory, which no subvolume operation removes */
    make(&dir, "b", 0);
    (void)snprintf(path, sizeof(path), "%.*s/c", (int)(strlen(dir.path) - 2), dir.path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(pool_destroy(&dir), 0);
    dir.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(fchown(dir.dir, OWNER, OWNER), 0);
    assert_int_equal(as_owner(&dir, make_nested, MANY_LEVELS), 0);
    hutch_fd_close(&dir.dir);
    assert_int_equal(pool_remove_path(path), 0);
    assert_int_equal(access(path, F_OK), -1);
}

static void what_a_dead_keeper_left_is_removed_by_its_path(void **state)
{
    struct pool_dir dir;
    (void)state;
    make(&dir, "a", 0);
    assert_int_equal(as_owner(&dir, write_mib, 1), 0);
    hutch_fd_close(&dir.dir);
    assert_int_equal(pool_release(false), 0); /* there is a directory */
    (void)snprintf(dir.path, sizeof(dir.path), "%s/lib/pool", home);
    assert_int_equal(umount(dir.path), 0);
    (void)snprintf(dir.path, sizeof(dir.path), "%s/lib/pool/a", home);
    assert_int_equal(pool_remove_path(dir.path), 0); /* mounts it again */
    assert_int_equal(access(dir.path, F_OK), -1);
    assert_int_equal(pool_remove_path(dir.path), 0);
    assert_int_equal(pool_release(false), 1);
}

static void nothing_outside_a_pool_is_removed(void **state)
{
    static const char *const wrong[] = {
        "/tmp/x",    "/pool/x", "", "x", "/lib/pool/", "/lib/pool/..", "/lib/pool/lost+found",
        "/libpool/x"};
    char path[128];
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(wrong); i++) {
        assert_int_equal(pool_remove_path(wrong[i]), -1);
        assert_int_equal(errno, EINVAL);
    }
    (void)snprintf(path, sizeof(path), "%s/lib/pool/x", home);
    assert_int_equal(hutch_mkdir_p(path, 0700), 0);
    assert_int_equal(pool_remove_path(path), 0); /* there is no pool */
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(mounts(), 0);
}

static void it_is_released_when_nobody_uses_it_and_mounted_again_when_needed(void **state)
{
    struct pool_dir dir;
    struct hutch_error err;
    (void)state;
    assert_int_equal(pool_release(false), 0);
    make(&dir, "a", 0);
    assert_int_equal(pool_release(true), 0);
    assert_int_equal(pool_release(false), 0);
    assert_int_equal(pool_destroy(&dir), 0);
    /* opened but not made is in use as well */
    assert_fine(pool_open(&dir, "b", &err), &err);
    assert_int_equal(pool_release(false), 0);
    assert_int_equal(pool_destroy(&dir), 0);
    assert_int_equal(pool_release(true), 1);
    assert_int_equal(mounts(), 1);
    assert_int_equal(pool_release(false), 1);
    assert_int_equal(mounts(), 0);
    assert_true(no_loop_device_is_left());
    make(&dir, "c", 0);
    assert_int_equal(as_owner(&dir, write_mib, 70), EDQUOT);
    assert_int_equal(pool_destroy(&dir), 0);
}

/* A second loop device on the same file would ruin it. */
static void a_pool_that_is_still_mounted_elsewhere_is_shared(void **state)
{
    struct pool_dir dir;
    int ready[2], status;
    char byte;
    (void)state;
    make(&dir, "a", 0);
    assert_int_equal(pool_destroy(&dir), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(pool_release(false), 1);
    assert_int_equal(loop_devices(), 1);
    make(&dir, "b", 0);
    assert_int_equal(loop_devices(), 1);
    assert_int_equal(as_owner(&dir, write_mib, 70), EDQUOT);
    assert_int_equal(pool_destroy(&dir), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

static int use_once(unsigned number)
{
    struct pool_dir dir = POOL_DIR_INIT;
    struct hutch_error err = HUTCH_ERROR_INIT;
    char id[16];
    (void)snprintf(id, sizeof(id), "user-%u", number);
    if (pool_open(&dir, id, &err) < 0 || pool_create(&dir, LIMIT, 100, OWNER, OWNER, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    return pool_destroy(&dir) < 0;
}

static void first_uses_at_the_same_time_make_one_pool(void **state)
{
    enum { users = 8 };
    pid_t pids[users];
    (void)state;
    for (unsigned i = 0; i < users; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(use_once(i));
    }
    for (unsigned i = 0; i < users; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(mounts(), 1);
    assert_int_equal(loop_devices(), 1);
}

static void uses_and_releases_at_the_same_time_do_not_hurt_each_other(void **state)
{
    pid_t user = fork();
    int status;
    (void)state;
    if (user == 0) {
        for (unsigned i = 0; i < 50; i++) {
            if (use_once(i))
                _exit(1);
            pause_ms(i % 10);
        }
        _exit(0);
    }
    unsigned released = 0;
    while (waitpid(user, &status, WNOHANG) == 0)
        released += pool_release(false) == 1;
    assert_int_equal(status, 0);
    print_message("           released %u times meanwhile\n", released);
}

/* kill -9 at any moment of the first use. */
static void a_crash_leaves_nothing_that_hinders_the_next(void **state)
{
    (void)state;
    for (long i = 0; i < CRASHES; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            _exit(use_once((unsigned)i));
        pause_ms(i * 10);
        (void)kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(use_once(1000), 0);
        assert_int_equal(mounts(), 1);
        assert_true(pool_file_exists("pool.ext4") != pool_file_exists("pool.btrfs"));
        /* from the beginning again; a dead one's directory stands for its lease */
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/lib/pool/user-%ld", home, i);
        assert_int_equal(pool_remove_path(path), 0);
        assert_int_equal(pool_release(false), 1);
        assert_int_equal(pool_file_unlink("pool.ext4") + pool_file_unlink("pool.btrfs"), -1);
    }
}

static void a_damaged_pool_is_named_with_the_remedy(void **state)
{
    char path[128];
    struct pool_dir dir = POOL_DIR_INIT;
    struct hutch_error err;
    (void)state;
    (void)snprintf(path, sizeof(path), "%s/lib", home);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/lib/pool.btrfs", home);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, (off_t)(256 * MIB)), 0);
    (void)close(fd);
    assert_true(pool_open(&dir, "a", &err) < 0);
    assert_non_null(strstr(err.msg, path));
    assert_non_null(strstr(err.msg, "remove it"));
    assert_true(dir.dir < 0);
    assert_int_equal(mounts(), 0);
}

static void a_filesystem_without_room_is_said(void **state)
{
    struct pool_dir dir = POOL_DIR_INIT;
    struct hutch_error err;
    (void)state;
    assert_int_equal(mount("tmpfs", home, "tmpfs", 0, "size=100m,mode=0700"), 0);
    int status = pool_open(&dir, "a", &err);
    assert_int_equal(umount(home), 0);
    assert_int_equal(status, -HUTCH_E_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "100 MiB free"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, new_home, no_trace_is_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_use_makes_a_pool_that_is_what_was_promised),
        TEST(writing_stops_at_the_limit),
        TEST(each_directory_has_its_own_limit),
        TEST(a_sparse_file_does_not_count_and_what_is_removed_counts_no_more),
        TEST(inodes_stop_at_the_limit_where_that_is_promised),
        TEST(a_tree_of_any_depth_is_removed),
        TEST(what_a_dead_keeper_left_is_removed_by_its_path),
        TEST(nothing_outside_a_pool_is_removed),
        TEST(it_is_released_when_nobody_uses_it_and_mounted_again_when_needed),
        TEST(a_pool_that_is_still_mounted_elsewhere_is_shared),
        TEST(first_uses_at_the_same_time_make_one_pool),
        TEST(uses_and_releases_at_the_same_time_do_not_hurt_each_other),
        TEST(a_crash_leaves_nothing_that_hinders_the_next),
        TEST(a_damaged_pool_is_named_with_the_remedy),
        TEST(a_filesystem_without_room_is_said),
    };
    char why[200] = "";
    if (new_home(NULL) < 0)
        return 1;
    hutch_promise_set promised = pool_enforces(why, sizeof(why));
    /* out of sight of others, whose mount namespaces would keep a copy of what is mounted here */
    if (promised &&
        (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)) {
        (void)snprintf(why, sizeof(why), "a mount namespace of its own: %s", strerror(errno));
        promised = 0;
    }
    if (no_trace_is_left(NULL) < 0)
        return 1;
    if (!promised) {
        (void)fprintf(stderr, "skipped: %s\n", why);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
