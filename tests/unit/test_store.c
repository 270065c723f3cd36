/* SPDX-License-Identifier: Apache-2.0 */
/* Changes, patch and apply on directories that were made by hand. Real overlays are in
 * tests/store. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "store/apply.h"
#include "store/changes.h"
#include "store/treediff.h"
#include "util/buf.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/remove_tree.h"

struct world {
    char home[64];
    int top;
    int upper;
    int lower;
    struct hutch_buf said;
};

/* ---- the world ---- */

static int make_directory(int parent, const char *name)
{
    assert_int_equal(mkdirat(parent, name, 0755), 0);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static int new_world(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    if (!world)
        return -1;
    (void)snprintf(world->home, sizeof(world->home), "/var/tmp/hutch-store-XXXXXX");
    if (!mkdtemp(world->home))
        return -1;
    world->top = open(world->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    world->upper = make_directory(world->top, "upper");
    world->lower = make_directory(world->top, "lower");
    world->said = (struct hutch_buf)HUTCH_BUF(1u << 20);
    *state = world;
    return 0;
}

static int no_trace_is_left(void **state)
{
    struct world *world = *state;
    hutch_fd_close(&world->upper);
    hutch_fd_close(&world->lower);
    hutch_fd_close(&world->top);
    hutch_buf_done(&world->said);
    int status = remove_tree(AT_FDCWD, world->home);
    free(world);
    return status;
}

static void put(int dir, const char *name, const char *text)
{
    hutch_autofd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(hutch_write_all(fd, text, strlen(text)), 0);
}

static void white_out(int dir, const char *name)
{
    assert_int_equal(mknodat(dir, name, S_IFCHR, makedev(0, 0)), 0);
}

static uint64_t now_ns(void)
{
    struct timespec time;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &time), 0);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static const char *text_in(int dir, const char *name)
{
    static char text[256];
    return hutch_read_at(dir, name, text, sizeof(text)) < 0 ? NULL : text;
}

/* ---- what is said ---- */

static int note_change(void *context, const struct hutch_change *change, struct hutch_error *err)
{
    struct world *world = context;
    (void)err;
    hutch_buf_printf(&world->said, "%s %s\n", hutch_change_kind_name(change->kind), change->path);
    return 0;
}

static void note_conflict(void *context, const char *path, enum hutch_conflict_reason reason)
{
    struct world *world = context;
    hutch_buf_printf(&world->said, "%s %s\n", path, hutch_conflict_reason_text(reason));
}

static int note_text(void *context, const char *text, size_t length, struct hutch_error *err)
{
    struct world *world = context;
    (void)err;
    hutch_buf_append(&world->said, text, length);
    return 0;
}

static void assert_said(struct world *world, const char *expected)
{
    assert_string_equal(world->said.data ? world->said.data : "", expected);
    hutch_buf_done(&world->said);
}

static void assert_changes(struct world *world, const char *expected)
{
    struct hutch_error err;
    assert_fine(hutch_changes(world->upper, world->lower, NULL, note_change, world, &err), &err);
    assert_said(world, expected);
}

/* ---- tests ---- */

static void every_kind_is_named_and_sorted(void **state)
{
    struct world *world = *state;
    put(world->lower, "same", "x");
    put(world->upper, "same", "x");
    put(world->lower, "mode", "x");
    put(world->upper, "mode", "x");
    assert_int_equal(fchmodat(world->upper, "mode", 0700, 0), 0);
    put(world->lower, "modified", "x");
    put(world->upper, "modified", "y");
    put(world->lower, "deleted", "x");
    white_out(world->upper, "deleted");
    white_out(world->upper, "never-there");
    put(world->lower, "type", "x");
    assert_int_equal(symlinkat("x", world->upper, "type"), 0);
    put(world->upper, "added", "x");
    put(world->lower, "untouched", "x");
    assert_changes(world, "added added\ndeleted deleted\nmetadata mode\nmodified modified\n"
                          "type type\n");
}

static void an_opaque_directory_hides_what_is_below_at_any_depth(void **state)
{
    struct world *world = *state;
    hutch_autofd int lower = make_directory(world->lower, "d");
    hutch_autofd int lower_sub = make_directory(lower, "sub");
    hutch_autofd int upper = make_directory(world->upper, "d");
    hutch_autofd int upper_sub = make_directory(upper, "sub");
    put(lower, "a", "a");
    put(lower_sub, "b", "b");
    put(upper_sub, "c", "c");
    assert_changes(world, "added d/sub/c\n");
    if (fsetxattr(upper, "user.overlay.opaque", "y", 1, 0) < 0)
        skip();
    assert_changes(world, "deleted d/a\ndeleted d/sub/b\nadded d/sub/c\n");
}

static int refuse(void *context, const struct hutch_change *change, struct hutch_error *err)
{
    (void)context;
    return hutch_fail(err, HUTCH_E_INVALID, 0, "enough: %s", change->path);
}

static void whoever_listens_can_end_it(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    put(world->upper, "a", "x");
    put(world->upper, "b", "x");
    assert_refused(hutch_changes(world->upper, world->lower, NULL, refuse, NULL, &err), &err,
                   "enough: a");
}

static void a_link_is_never_followed(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    hutch_autofd int outside = make_directory(world->top, "outside");
    hutch_autofd int below = make_directory(world->upper, "d");
    struct hutch_apply_options options = {
        .since_ns = now_ns() + 1000000000u, .conflict = note_conflict, .context = world};
    put(outside, "secret", "secret");
    put(below, "secret", "from the sandbox");
    assert_int_equal(symlinkat("../outside", world->upper, "link"), 0);
    assert_int_equal(symlinkat("../outside", world->lower, "d"), 0);
    assert_changes(world, "type d\nadded d/secret\nadded link\n");
    assert_fine(hutch_apply(world->upper, world->lower, &options, NULL, &err), &err);
    assert_said(world, "");
    assert_string_equal(text_in(outside, "secret"), "secret");
    assert_string_equal(text_in(world->lower, "d/secret"), "from the sandbox");
}

static void a_patch_is_of_files_only(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    put(world->lower, "a", "one\n");
    white_out(world->upper, "a");
    hutch_autofd int directory = make_directory(world->upper, "d");
    put(directory, "f", "two\n");
    assert_int_equal(mkfifoat(world->upper, "fifo", 0644), 0);
    assert_fine(hutch_treediff(world->upper, world->lower, note_text, world, &err), &err);
    assert_said(world, "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n"
                       "@@ -1 +0,0 @@\n-one\n"
                       "diff --git a/d/f b/d/f\nnew file mode 100644\n--- /dev/null\n+++ b/d/f\n"
                       "@@ -0,0 +1 @@\n+two\n");
}

static void what_changed_since_is_left_alone(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct hutch_apply_counts counts;
    struct hutch_apply_options options = {.conflict = note_conflict, .context = world};
    put(world->lower, "f", "old");
    options.since_ns = now_ns() - 1000000000u; /* the file is newer than the sandbox */
    put(world->upper, "f", "new");
    put(world->upper, "g", "new");
    assert_fine(hutch_apply(world->upper, world->lower, &options, &counts, &err), &err);
    assert_string_equal(text_in(world->lower, "f"), "old");
    assert_string_equal(text_in(world->lower, "g"), "new");
    assert_int_equal(counts.conflicts, 1);
    assert_int_equal(counts.added, 1);
    assert_non_null(strstr(world->said.data, "f was"));
}

static void map_owner(void *context, uid_t uid, gid_t gid, uid_t *ret_uid, gid_t *ret_gid)
{
    (void)context;
    *ret_uid = uid + 7;
    *ret_gid = gid + 8;
}

static void the_owner_is_the_callers_choice(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct stat info;
    struct hutch_apply_counts counts;
    struct hutch_apply_options options = {.owner = map_owner, .context = world};
    if (geteuid() != 0)
        skip();
    put(world->lower, "old", "x");
    put(world->upper, "old", "x");
    put(world->upper, "new", "x");
    assert_int_equal(symlinkat("x", world->upper, "link"), 0);
    hutch_autofd int directory = make_directory(world->upper, "d");
    options.since_ns = now_ns() + 1000000000u;
    assert_fine(hutch_apply(world->upper, world->lower, &options, &counts, &err), &err);
    assert_int_equal(counts.added, 3);
    assert_int_equal(counts.metadata, 1);
    static const char *const names[] = {"old", "new", "link", "d"};
    for (size_t i = 0; i < HUTCH_COUNT(names); i++) {
        assert_int_equal(fstatat(world->lower, names[i], &info, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(info.st_uid, 7);
        assert_int_equal(info.st_gid, 8);
    }
    assert_fine(hutch_apply(world->upper, world->lower, &options, &counts, &err), &err);
    assert_int_equal(counts.added + counts.metadata + counts.conflicts, 0);
}

static void two_at_a_time_are_one_too_many(void **state)
{
    struct world *world = *state;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_apply_options options = {0};
    hutch_autofd int other = openat(world->lower, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_EX), 0);
    assert_int_equal(hutch_apply(world->upper, world->lower, &options, NULL, &err),
                     -HUTCH_E_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "try again"));
    options.dry_run = true;
    assert_fine(hutch_apply(world->upper, world->lower, &options, NULL, &err), &err);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, new_world, no_trace_is_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kind_is_named_and_sorted),
        TEST(an_opaque_directory_hides_what_is_below_at_any_depth),
        TEST(whoever_listens_can_end_it),
        TEST(a_link_is_never_followed),
        TEST(a_patch_is_of_files_only),
        TEST(what_changed_since_is_left_alone),
        TEST(the_owner_is_the_callers_choice),
        TEST(two_at_a_time_are_one_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
