/* SPDX-License-Identifier: Apache-2.0 */
/* The image store under kill -9 at any moment, several writers at once, and a disk that is full. */
#include "../unit/unit.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "image_world.h"
#include "util/fs.h"

#define ROUNDS 300
#define IMAGES 5
#define WRITERS 4

static int new_world(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    *state = world;
    /* fsync costs nothing there, and no kill can tell */
    return world ? world_make(world, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/var/tmp") : -1;
}

static int no_world(void **state)
{
    struct world *world = *state;
    int r = world_remove(world);
    free(world);
    return r;
}

/* In a child nothing may be asserted: it would go on with the tests of its parent. */
static int try_prune(struct world *world, bool takes_names, struct store_pruned *ret_pruned,
                     struct hutch_error *err)
{
    struct store_prune_options options = {.patience_ms = 20000, .takes_names = takes_names};
    return store_prune(&world->store, &options, ret_pruned, err);
}

static struct store_pruned prune(struct world *world, bool takes_names)
{
    struct hutch_error err;
    struct store_pruned pruned;
    assert_fine(try_prune(world, takes_names, &pruned, &err), &err);
    return pruned;
}

struct checking {
    struct world *world;
    struct hutch_error *err;
    unsigned names;
    int status;
};

static int check_name(void *context, const struct image_reference *reference, const char *digest,
                      uint64_t changed_us)
{
    struct checking *checking = context;
    (void)digest;
    (void)changed_us;
    checking->status = world_check(checking->world, reference, checking->err);
    checking->names++;
    return checking->status;
}

/* How many names there are, when every one leads to a whole image. */
static int try_names(struct world *world, struct hutch_error *err)
{
    struct checking checking = {.world = world, .err = err};
    int r = store_references(&world->store, check_name, &checking, err);
    if (r >= 0)
        r = checking.status;
    return r < 0 ? r : (int)checking.names;
}

static unsigned check_names(struct world *world)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    int names = try_names(world, &err);
    if (names < 0)
        fail_msg("%s", err.msg);
    return (unsigned)names;
}

/* After a prune there is what the names need and nothing else. */
static void check_nothing_is_left(struct world *world, unsigned names)
{
    assert_int_equal(world_count(world, "tmp"), 0);
    assert_int_equal(world_count(world, "partial"), 0);
    assert_int_equal(world_count(world, "images"), names);
    assert_int_equal(world_count(world, "layers"), names ? names + 1 : 0);
    assert_int_equal(world_count(world, "unpacked"), names ? names + 1 : 0);
    assert_int_equal(world_count(world, "blobs"), names ? names * 3 + 1 : 0);
}

/* Adds, takes names and prunes until it is killed. */
static void work_for_ever(struct world *world, unsigned seed)
{
    struct hutch_error err;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        struct image_reference reference;
        unsigned number = (unsigned)rand_r(&seed) % IMAGES;
        if (world_add(world, number, NULL, &err) < 0)
            _exit(1);
        world_name((unsigned)rand_r(&seed) % IMAGES, &reference);
        int r = rand_r(&seed) % 2 ? store_remove_reference(&world->store, &reference, &err) : 0;
        if (r < 0 && r != -HUTCH_E_NOT_FOUND)
            _exit(2);
        struct store_pruned pruned;
        if (rand_r(&seed) % 3 == 0 && try_prune(world, rand_r(&seed) % 2, &pruned, &err) < 0)
            _exit(3);
    }
}

static void a_kill_at_any_moment_leaves_every_name_whole(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    unsigned seed = (unsigned)getpid(), leftovers = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        int status;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            work_for_ever(world, seed + round);
        (void)usleep((useconds_t)rand_r(&seed) % 6000);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status)); /* it had not failed before */
        (void)check_names(world);
        if (round % 4 == 0) {
            leftovers += prune(world, false).files > 0;
            check_nothing_is_left(world, check_names(world));
        }
        assert_fine(world_add(world, round % IMAGES, NULL, &err), &err);
    }
    assert_true(leftovers > ROUNDS / 40); /* the kills came in the middle of something */
    (void)prune(world, true);
    check_nothing_is_left(world, 0);
}

static void wait_for_all(const pid_t *children, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
}

static void several_who_add_the_same_share_the_work(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    for (unsigned round = 0; round < 40; round++) {
        pid_t children[WRITERS];
        for (size_t i = 0; i < WRITERS; i++) {
            children[i] = fork();
            assert_true(children[i] >= 0);
            if (children[i] == 0)
                _exit(-world_add(world, round, NULL, &err));
        }
        wait_for_all(children, WRITERS);
        assert_int_equal(check_names(world), 1);
        check_nothing_is_left(world, 1);
        (void)prune(world, true);
        check_nothing_is_left(world, 0);
    }
}

static void a_prune_takes_nothing_from_who_adds(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    pid_t children[WRITERS];
    for (unsigned i = 0; i < WRITERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            struct store_pruned pruned;
            int r = 0;
            for (unsigned round = 0; r >= 0 && round < 60; round++)
                r = i == 0 ? try_prune(world, round % 2, &pruned, &err)
                           : world_add(world, i, NULL, &err);
            _exit(-r);
        }
    }
    wait_for_all(children, WRITERS);
    unsigned names = check_names(world);
    (void)prune(world, false);
    check_nothing_is_left(world, names);
}

/* Finds images while they come and go: what is found is whole as long as it is held. */
static void who_uses_an_image_keeps_it(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        work_for_ever(world, 7);
    unsigned found = 0;
    for (unsigned round = 0; found < 400; round++) {
        struct image_reference reference;
        struct image image = IMAGE_INIT;
        world_name(round % IMAGES, &reference);
        int r = image_find(&world->store, &reference, &image, &err);
        if (r < 0) {
            assert_int_equal(r, -HUTCH_E_NOT_FOUND);
            assert_null(strstr(err.msg, "damaged"));
            continue;
        }
        found++;
        hutch_autofd int low = image_open_file(&world->store, &image, "/layer0", &err);
        hutch_autofd int top = image_open_file(&world->store, &image, "/layer1", &err);
        assert_true(low >= 0 && top >= 0);
        image_done(&image);
    }
    int status;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

/* ---- a full disk ---- */

/* Who may not mount may where it is root. */
static int enter_namespaces(void)
{
    char uids[32], gids[32];
    if (geteuid() == 0)
        return unshare(CLONE_NEWNS);
    (void)snprintf(uids, sizeof(uids), "0 %u 1", (unsigned)geteuid());
    (void)snprintf(gids, sizeof(gids), "0 %u 1", (unsigned)getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
        hutch_write_at(AT_FDCWD, "/proc/self/setgroups", "deny") < 0 ||
        hutch_write_at(AT_FDCWD, "/proc/self/gid_map", gids) < 0)
        return -1;
    return hutch_write_at(AT_FDCWD, "/proc/self/uid_map", uids);
}

static int in_small_world(void)
{
    struct world small = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (enter_namespaces() < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", "/mnt", "tmpfs", MS_NODEV | MS_NOSUID, "size=144k,mode=700") < 0)
        return 77;
    if (world_make(&small, "/mnt") < 0)
        return 1;
    unsigned added = 0;
    int r = 0;
    while (added < 100 && (r = world_add(&small, added, NULL, &err)) >= 0)
        added++;
    if (r >= 0 || err.os_errno != ENOSPC || !strstr(err.msg, "No space left on device"))
        return 2;
    if (added < 1 || try_names(&small, &err) != (int)added)
        return 3;
    if (world_count(&small, "tmp") != 0 || world_count(&small, "partial") != 0)
        return 4;
    struct store_prune_options all = {.takes_names = true};
    struct store_pruned pruned;
    if (store_prune(&small.store, &all, &pruned, &err) < 0 || world_count(&small, "blobs") != 0)
        return 5;
    return world_add(&small, 1, NULL, &err) < 0 ? 6 : 0;
}

static void a_full_disk_is_said_and_leaves_nothing_half_made(void **state)
{
    int status;
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(in_small_world());
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

int main(void)
{
#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, new_world, no_world)
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_kill_at_any_moment_leaves_every_name_whole),
        IN_WORLD(several_who_add_the_same_share_the_work),
        IN_WORLD(a_prune_takes_nothing_from_who_adds),
        IN_WORLD(who_uses_an_image_keeps_it),
        cmocka_unit_test(a_full_disk_is_said_and_leaves_nothing_half_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
