/* SPDX-License-Identifier: Apache-2.0 */
/* Files of an image, read through all its layers. */
#include "store_world.h"

#include <errno.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

struct tree {
    struct world *world;
    struct image image;
    int layers[3]; /* the topmost first */
};

static void make_tree(struct world *world, struct tree *tree)
{
    struct hutch_error err;
    *tree = (struct tree){.world = world, .image = IMAGE_INIT};
    for (unsigned i = 0; i < HUTCH_COUNT(tree->layers); i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "layers/%u", 10 + i);
        assert_int_equal(mkdirat(world->store.dir, path, 0755), 0);
        tree->layers[i] = openat(world->store.dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(tree->layers[i] >= 0);
        assert_fine(hutch_strlist_add(&tree->image.layers, path + 7, &err), &err);
    }
}

static void tree_done(struct tree *tree)
{
    for (unsigned i = 0; i < HUTCH_COUNT(tree->layers); i++)
        hutch_fd_close(&tree->layers[i]);
    image_done(&tree->image);
}

static void reads(const struct tree *tree, const char *path, const char *text)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    char got[64] = "";
    hutch_autofd int fd = image_open_file(&tree->world->store, &tree->image, path, &err);
    if (fd < 0)
        fail_msg("%s", err.msg);
    assert_true(read(fd, got, sizeof(got) - 1) >= 0);
    assert_string_equal(got, text);
}

static void fails(const struct tree *tree, const char *path, enum hutch_code code)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    int fd = image_open_file(&tree->world->store, &tree->image, path, &err);
    if (fd >= 0)
        fail_msg("'%s' could be opened", path);
    assert_int_equal(fd, -(int)code);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.msg, path));
}

static void put(int layer, const char *name, const char *text)
{
    assert_int_equal(world_put(layer, name, text), 0);
}

static void directory(int layer, const char *name)
{
    assert_int_equal(mkdirat(layer, name, 0755), 0);
}

static void hide(int layer, const char *name)
{
    assert_int_equal(mknodat(layer, name, S_IFCHR, makedev(0, 0)), 0);
}

static void make_opaque(int layer, const char *name)
{
    hutch_autofd int fd = openat(layer, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(fsetxattr(fd, "user.overlay.opaque", "y", 1, 0), 0);
}

static void the_topmost_layer_decides(void **state)
{
    hutch_cleanup(tree_done) struct tree tree;
    make_tree(*state, &tree);
    for (int i = 0; i < 3; i++)
        directory(tree.layers[i], "etc");
    put(tree.layers[2], "etc/a", "lowest");
    put(tree.layers[1], "etc/a", "middle");
    put(tree.layers[2], "etc/b", "lowest");
    put(tree.layers[0], "etc/c", "top");
    reads(&tree, "/etc/a", "middle");
    reads(&tree, "etc//./b", "lowest");
    reads(&tree, "/etc/../etc/c", "top");
    reads(&tree, "/../../etc/c", "top");
    fails(&tree, "/etc/d", HUTCH_E_NOT_FOUND);
    fails(&tree, "/etc/a/x", HUTCH_E_NOT_FOUND);
    fails(&tree, "/etc/a/", HUTCH_E_NOT_FOUND);
    fails(&tree, "/etc", HUTCH_E_INVALID);
    fails(&tree, "/", HUTCH_E_INVALID);
}

static void whiteouts_and_opaque_directories_hide_what_is_below(void **state)
{
    hutch_cleanup(tree_done) struct tree tree;
    make_tree(*state, &tree);
    for (int i = 0; i < 3; i++) {
        directory(tree.layers[i], "etc");
        directory(tree.layers[i], "var");
    }
    put(tree.layers[2], "etc/a", "lowest");
    hide(tree.layers[1], "etc/a");
    put(tree.layers[2], "var/a", "lowest");
    put(tree.layers[1], "var/b", "middle");
    make_opaque(tree.layers[1], "var");
    directory(tree.layers[2], "opt");
    put(tree.layers[2], "opt/a", "lowest");
    hide(tree.layers[1], "opt");
    directory(tree.layers[0], "opt");
    directory(tree.layers[2], "srv");
    put(tree.layers[2], "srv/a", "lowest");
    put(tree.layers[1], "srv", "a file");
    directory(tree.layers[0], "srv");
    fails(&tree, "/etc/a", HUTCH_E_NOT_FOUND);
    fails(&tree, "/var/a", HUTCH_E_NOT_FOUND);
    reads(&tree, "/var/b", "middle");
    fails(&tree, "/opt/a", HUTCH_E_NOT_FOUND);
    fails(&tree, "/srv/a", HUTCH_E_NOT_FOUND);
    put(tree.layers[0], "etc/a", "again");
    reads(&tree, "/etc/a", "again");
    make_opaque(tree.layers[0], ".");
    fails(&tree, "/var/b", HUTCH_E_NOT_FOUND);
}

static void links_are_followed_inside_the_image_alone(void **state)
{
    hutch_cleanup(tree_done) struct tree tree;
    make_tree(*state, &tree);
    int top = tree.layers[0], low = tree.layers[2];
    directory(low, "usr");
    directory(low, "usr/etc");
    put(low, "usr/etc/passwd", "the image's");
    assert_int_equal(symlinkat("usr/etc", top, "etc"), 0);
    assert_int_equal(symlinkat("/usr/etc/passwd", top, "absolute"), 0);
    assert_int_equal(symlinkat("../../../../../../usr/etc/passwd", low, "usr/up"), 0);
    assert_int_equal(symlinkat("../../../../../../../../etc/hostname", low, "usr/out"), 0);
    assert_int_equal(symlinkat("/proc/self/environ", top, "proc-link"), 0);
    assert_int_equal(symlinkat("loop", top, "loop"), 0);
    assert_int_equal(symlinkat("nowhere", top, "dangling"), 0);
    assert_int_equal(symlinkat("/", top, "root"), 0);
    reads(&tree, "/etc/passwd", "the image's");
    reads(&tree, "/absolute", "the image's");
    reads(&tree, "/usr/up", "the image's");
    reads(&tree, "/root/root/root/etc/passwd", "the image's");
    reads(&tree, "/etc/../etc/passwd", "the image's"); /* the parent of /usr/etc is /usr */
    fails(&tree, "/usr/out", HUTCH_E_NOT_FOUND);
    fails(&tree, "/proc-link", HUTCH_E_NOT_FOUND);
    fails(&tree, "/loop", HUTCH_E_SYSTEM);
    fails(&tree, "/dangling", HUTCH_E_NOT_FOUND);
}

static void no_more_than_forty_links_are_followed(void **state)
{
    hutch_cleanup(tree_done) struct tree tree;
    make_tree(*state, &tree);
    put(tree.layers[1], "l0", "end");
    for (int i = 1; i <= 41; i++) {
        char name[16], target[16];
        (void)snprintf(name, sizeof(name), "l%d", i);
        (void)snprintf(target, sizeof(target), "l%d", i - 1);
        assert_int_equal(symlinkat(target, tree.layers[i % 3], name), 0);
    }
    reads(&tree, "/l40", "end");
    fails(&tree, "/l41", HUTCH_E_SYSTEM);
}

static void what_is_no_regular_file_is_refused(void **state)
{
    hutch_cleanup(tree_done) struct tree tree;
    make_tree(*state, &tree);
    assert_int_equal(mkfifoat(tree.layers[0], "fifo", 0600), 0);
    assert_int_equal(mknodat(tree.layers[0], "socket", S_IFSOCK | 0600, 0), 0);
    fails(&tree, "/fifo", HUTCH_E_INVALID);
    fails(&tree, "/socket", HUTCH_E_INVALID);
    if (mknodat(tree.layers[0], "null", S_IFCHR | 0666, makedev(1, 3)) == 0)
        fails(&tree, "/null", HUTCH_E_INVALID);
}

static void names_that_are_too_long_are_refused(void **state)
{
    hutch_cleanup(tree_done) struct tree tree;
    struct hutch_error err;
    char path[5000], target[4000];
    make_tree(*state, &tree);
    memset(path, 'a', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(image_open_file(&tree.world->store, &tree.image, path, &err),
                     -HUTCH_E_INVALID);
    for (size_t i = 0; i < sizeof(target) - 1; i += 2)
        memcpy(target + i, "./", 2);
    target[sizeof(target) - 1] = '\0';
    assert_int_equal(symlinkat(target, tree.layers[0], "long"), 0);
    for (size_t i = 0; i < 60; i++)
        (void)snprintf(path + 5 * i, sizeof(path) - 5 * i, "long/");
    assert_int_equal(image_open_file(&tree.world->store, &tree.image, path, &err), -HUTCH_E_SYSTEM);
    assert_int_equal(err.os_errno, ENAMETOOLONG);
}

int main(void)
{
#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, new_world, no_world)
    const struct CMUnitTest tests[] = {
        IN_WORLD(the_topmost_layer_decides),
        IN_WORLD(whiteouts_and_opaque_directories_hide_what_is_below),
        IN_WORLD(links_are_followed_inside_the_image_alone),
        IN_WORLD(no_more_than_forty_links_are_followed),
        IN_WORLD(what_is_no_regular_file_is_refused),
        IN_WORLD(names_that_are_too_long_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
