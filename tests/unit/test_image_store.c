/* SPDX-License-Identifier: Apache-2.0 */
/* The image store as who runs images sees it. */
#include "unit.h"

#include <errno.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "../image/image_world.h"
#include "image/record.h"

static int new_world(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    *state = world;
    return world ? world_make(world, "/var/tmp") : -1;
}

static int no_world(void **state)
{
    struct world *world = *state;
    int r = world_remove(world);
    free(world);
    return r;
}

/* ---- finding ---- */

static void a_store_that_is_not_there_finds_nothing_and_is_not_made(void **state)
{
    struct hutch_error err;
    struct image_store store;
    struct image_reference reference;
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    char home[] = "/var/tmp/hutch-none-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(home));
    assert_int_equal(setenv("HUTCH_HOME", home, 1), 0);
    world_name(1, &reference);
    assert_fine(image_store_open(&store, false, &err), &err);
    assert_true(store.dir < 0);
    assert_int_equal(image_find(&store, &reference, &image, &err), -HUTCH_E_NOT_FOUND);
    assert_int_equal(rmdir(home), 0);
}

static void an_image_is_found_by_name_and_by_digest_and_locked(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    char digest[IMAGE_DIGEST_BYTES];
    struct image_reference reference;
    assert_fine(world_add(world, 1, digest, &err), &err);
    world_name(1, &reference);
    for (int by_digest = 0; by_digest < 2; by_digest++) {
        struct image image = IMAGE_INIT;
        if (by_digest)
            assert_fine(image_find_digest(&world->store, digest, &image, &err), &err);
        else
            assert_fine(image_find(&world->store, &reference, &image, &err), &err);
        assert_string_equal(image.digest, digest);
        assert_string_equal(image.os, "linux");
        assert_int_equal(image.layers.count, 2);
        assert_string_equal(image.layers.items[0], "2");
        assert_null(image.created);
        struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        hutch_autofd int layers = image_open_layers(&world->store, &err);
        assert_true(layers >= 0);
        char path[100];
        (void)snprintf(path, sizeof(path), "../images/%s", IMAGE_DIGEST_HEX(digest));
        hutch_autofd int record = openat(layers, path, O_RDWR | O_CLOEXEC);
        assert_int_equal(fcntl(record, F_OFD_GETLK, &all), 0);
        assert_int_equal(all.l_type, F_RDLCK);
        image_done(&image);
    }
    memcpy(reference.digest, digest, sizeof(digest));
    struct image image = IMAGE_INIT;
    assert_fine(image_find(&world->store, &reference, &image, &err), &err);
    image_done(&image);
}

static void a_name_that_gets_another_image_leads_to_it(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    char one[IMAGE_DIGEST_BYTES], other[IMAGE_DIGEST_BYTES];
    struct image_reference reference;
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    assert_fine(world_add(world, 1, one, &err), &err);
    assert_fine(world_add(world, 2, other, &err), &err);
    world_name(1, &reference);
    assert_fine(store_set_reference(&world->store, &reference, other, &err), &err);
    assert_fine(image_find(&world->store, &reference, &image, &err), &err);
    assert_string_equal(image.digest, other);
}

static void a_digest_that_is_none_is_refused(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct image image = IMAGE_INIT;
    assert_int_equal(image_find_digest(&world->store, "sha256:../../etc/passwd", &image, &err),
                     -HUTCH_E_INVALID);
}

/* ---- records ---- */

static void a_record_is_read_back_as_it_was_written(void **state)
{
    struct hutch_error err;
    hutch_autofree char *text = NULL;
    size_t length;
    hutch_cleanup(image_done) struct image image = IMAGE_INIT, again = IMAGE_INIT;
    (void)state;
    memset(image.config_digest, 'a', sizeof(image.config_digest) - 1);
    memcpy(image.config_digest, "sha256:", 7);
    assert_int_equal(world_set_texts(&image), 0);
    image.created = strdup("2024-01-01T00:00:00Z");
    image.bytes = UINT64_C(1) << 60;
    assert_fine(hutch_strlist_add(&image.env, "A=\"\\\n\t\xC3\xA4\xF0\x9F\x90\xB9", &err), &err);
    assert_fine(hutch_strlist_add(&image.labels, "", &err), &err);
    assert_fine(hutch_strlist_add(&image.layers, "12", &err), &err);
    assert_fine(record_format(&image, &text, &length, &err), &err);
    assert_fine(record_parse(text, length, &again, &err), &err);
    assert_string_equal(again.env.items[0], image.env.items[0]);
    assert_string_equal(again.labels.items[0], "");
    assert_string_equal(again.created, image.created);
    assert_string_equal(again.workdir, "/");
    assert_true(again.bytes == image.bytes);
    assert_int_equal(again.cmd.count, 0);
}

static void damaged_records_are_said_to_be_damaged(void **state)
{
    static const char digest[] =
        "\"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"";
    static const char *const records[] = {
        "",         "\n",
        "nonsense", "[]",
        "{}",       "{\"os\":\"linux\"}",
        "\xff\xfe", "{\"config_digest\":\"sha256:1\"}",
    };
    static const char *const layers[] = {"[\"9\"]", "[\"../1\"]", "[\"\"]", "[\"01\"]",
                                         "[1]",     "[\"1/..\"]", "\"1\"",  "{}"};
    struct world *world = *state;
    char hex[IMAGE_DIGEST_BYTES], path[100], text[1024];
    struct hutch_error err;
    struct image image = IMAGE_INIT;
    assert_fine(world_add(world, 1, hex, &err), &err);
    (void)snprintf(path, sizeof(path), "images/%s", IMAGE_DIGEST_HEX(hex));
    for (size_t i = 0; i < HUTCH_COUNT(records) + HUTCH_COUNT(layers); i++) {
        if (i < HUTCH_COUNT(records))
            (void)snprintf(text, sizeof(text), "%s", records[i]);
        else
            (void)snprintf(
                text, sizeof(text),
                "{\"config_digest\":%s,\"os\":\"linux\",\"architecture\":\"amd64\",\"variant\":"
                "\"\",\"created\":null,\"user\":\"\",\"workdir\":\"\",\"stop_signal\":\"\",\"env\":"
                "[],\"entrypoint\":[],\"cmd\":[],\"labels\":[],\"layers\":%s,\"bytes\":1}",
                digest, layers[i - HUTCH_COUNT(records)]);
        assert_int_equal(world_put(world->store.dir, path, text), 0);
        assert_int_equal(image_find_digest(&world->store, hex, &image, &err), -HUTCH_E_NOT_FOUND);
        assert_non_null(strstr(err.msg, "is damaged, pull it again: "));
        assert_null(strchr(err.msg, '\n'));
        assert_true(image.lock < 0);
    }
    assert_fine(world_add(world, 1, hex, &err), &err); /* as the sentence says */
    assert_fine(image_find_digest(&world->store, hex, &image, &err), &err);
    image_done(&image);
}

static void a_damaged_name_is_said_to_be_damaged(void **state)
{
    static const char *const names[] = {"", "sha256:", "\n", "sha256:12\n"};
    struct world *world = *state;
    struct hutch_error err;
    struct image image = IMAGE_INIT;
    struct image_reference reference;
    assert_fine(world_add(world, 1, NULL, &err), &err);
    world_name(1, &reference);
    for (size_t i = 0; i < HUTCH_COUNT(names); i++) {
        assert_int_equal(
            world_put(world->store.dir, "refs/localhost:5000/test/i1/:latest", names[i]), 0);
        assert_int_equal(image_find(&world->store, &reference, &image, &err), -HUTCH_E_INVALID);
        assert_non_null(strstr(err.msg, "is damaged; pull the image again"));
    }
}

/* ---- files of an image ---- */

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
    path[0] = '\0';
    for (int i = 0; i < 60; i++)
        strcat(path, "long/");
    assert_int_equal(image_open_file(&tree.world->store, &tree.image, path, &err), -HUTCH_E_SYSTEM);
    assert_int_equal(err.os_errno, ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_that_is_not_there_finds_nothing_and_is_not_made),
        cmocka_unit_test(a_record_is_read_back_as_it_was_written),
#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, new_world, no_world)
        IN_WORLD(an_image_is_found_by_name_and_by_digest_and_locked),
        IN_WORLD(a_name_that_gets_another_image_leads_to_it),
        IN_WORLD(a_digest_that_is_none_is_refused),
        IN_WORLD(damaged_records_are_said_to_be_damaged),
        IN_WORLD(a_damaged_name_is_said_to_be_damaged),
        IN_WORLD(the_topmost_layer_decides),
        IN_WORLD(whiteouts_and_opaque_directories_hide_what_is_below),
        IN_WORLD(links_are_followed_inside_the_image_alone),
        IN_WORLD(no_more_than_forty_links_are_followed),
        IN_WORLD(what_is_no_regular_file_is_refused),
        IN_WORLD(names_that_are_too_long_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
