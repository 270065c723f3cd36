/* SPDX-License-Identifier: Apache-2.0 */
/* Layers, records and names, as who fills the image store sees them. */
#include "store_world.h"

#include <sys/xattr.h>

#include "util/buf.h"

/* ---- layers ---- */

static void of_two_layers_with_one_key_the_first_stays(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct layer_writer *one = NULL, *two = NULL;
    int dir_one = -1, dir_two = -1;
    char key[IMAGE_DIGEST_BYTES], first[16], second[16], found[16];
    digest_of("key", 3, key);
    assert_false(store_find_layer(&world->store, key, found));
    assert_fine(layer_begin(&world->store, &one, &dir_one, &err), &err);
    assert_fine(layer_begin(&world->store, &two, &dir_two, &err), &err);
    assert_int_equal(world_put(dir_one, "a", "one"), 0);
    assert_int_equal(world_put(dir_two, "a", "two"), 0);
    assert_fine(layer_commit(one, key, NULL, first, &err), &err);
    assert_fine(layer_commit(two, key, NULL, second, &err), &err);
    layer_free(one);
    layer_free(two);
    assert_string_equal(first, "1");
    assert_string_equal(second, "1");
    assert_true(store_find_layer(&world->store, key, found));
    assert_string_equal(found, "1");
    assert_int_equal(world_count(world, "layers"), 1);
    assert_int_equal(world_count(world, "tmp"), 0);
}

static void a_key_that_leads_nowhere_gives_way(void **state)
{
    static const char *const damaged[] = {"", "7\n", "../1", "nonsense"};
    struct world *world = *state;
    struct hutch_error err;
    char key[IMAGE_DIGEST_BYTES], path[100], name[16];
    digest_of("key", 3, key);
    (void)snprintf(path, sizeof(path), "unpacked/%s", IMAGE_DIGEST_HEX(key));
    for (size_t i = 0; i < HUTCH_COUNT(damaged); i++) {
        assert_int_equal(world_put(world->store.dir, path, damaged[i]), 0);
        assert_false(store_find_layer(&world->store, key, name));
        assert_fine(world_add_layer(world, 0, key, name, &err), &err);
        assert_true(store_find_layer(&world->store, key, name));
    }
    assert_int_equal(world_count(world, "layers"), HUTCH_COUNT(damaged));
}

static void a_layer_that_is_not_committed_leaves_nothing(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct layer_writer *writer = NULL;
    char name[16];
    int dir = -1;
    assert_fine(layer_begin(&world->store, &writer, &dir, &err), &err);
    assert_int_equal(world_fill(dir, 1, "x"), 0);
    assert_int_equal(fchmodat(dir, "etc", 0, 0), 0); /* as in an image, for an ordinary user */
    assert_int_equal(layer_commit(writer, "no key", NULL, name, &err), -HUTCH_E_INVALID);
    layer_free(writer);
    assert_int_equal(world_count(world, "layers"), 0);
    assert_int_equal(world_count(world, "tmp"), 0);
}

static void a_root_that_denies_writing_keeps_its_mode(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct layer_writer *writer = NULL;
    struct stat info;
    char key[IMAGE_DIGEST_BYTES], name[16];
    int dir = -1;
    digest_of("key", 3, key);
    assert_fine(layer_begin(&world->store, &writer, &dir, &err), &err);
    assert_int_equal(fchmod(dir, 0555), 0);
    assert_fine(layer_commit(writer, key, NULL, name, &err), &err);
    assert_int_equal(fstat(dir, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0555);
    layer_free(writer);
}

/* ---- images and names ---- */

static void an_image_that_is_not_whole_is_refused(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    assert_int_equal(world_set_texts(&image), 0);
    assert_fine(store_add_blob(&world->store, "m", 1, image.digest, &err), &err);
    digest_of("c", 1, image.config_digest);
    assert_int_equal(store_add_image(&world->store, &image, &err), -HUTCH_E_INVALID);
    assert_non_null(strstr(err.msg, "is not whole: blob"));
    assert_fine(store_add_blob(&world->store, "c", 1, image.config_digest, &err), &err);
    assert_fine(hutch_strlist_add(&image.layers, "3", &err), &err);
    assert_int_equal(store_add_image(&world->store, &image, &err), -HUTCH_E_NOT_FOUND);
    assert_int_equal(world_count(world, "images"), 0);
}

static void nothing_below_an_opaque_root_is_stacked(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct image_reference reference;
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    char digest[IMAGE_DIGEST_BYTES], path[100];
    assert_fine(world_add(world, 1, digest, &err), &err);
    hutch_autofd int layer = openat(world->store.dir, "layers/2", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fsetxattr(layer, "user.overlay.opaque", "y", 1, 0), 0);
    (void)snprintf(path, sizeof(path), "images/%s", IMAGE_DIGEST_HEX(digest));
    assert_int_equal(unlinkat(world->store.dir, path, 0), 0);
    assert_fine(world_add(world, 1, digest, &err), &err);
    world_name(1, &reference);
    assert_fine(image_find(&world->store, &reference, &image, &err), &err);
    assert_int_equal(image.layers.count, 1);
    assert_string_equal(image.layers.items[0], "2");
}

static int join_name(void *context, const struct image_reference *reference, const char *digest,
                     uint64_t changed_us)
{
    char name[IMAGE_REFERENCE_BYTES];
    assert_true(image_digest_is_valid(digest));
    assert_true(changed_us > UINT64_C(1500000000000000));
    image_reference_format(reference, name);
    hutch_buf_printf(context, "%s ", name);
    return 0;
}

static void names_are_given_listed_and_taken(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    char digest[IMAGE_DIGEST_BYTES];
    struct hutch_buf all = HUTCH_BUF(4096);
    struct image_reference references[] = {
        {.registry = "docker.io", .repository = "library/python", .tag = "3"},
        {.registry = "docker.io", .repository = "library/python/sub", .tag = "latest"},
        {.registry = "a.example:5000", .repository = "z", .tag = "_x.y-z"},
        {.registry = "docker.io", .repository = "library/python"},
    };
    digest_of("image", 5, digest);
    memcpy(references[3].digest, digest, sizeof(digest));
    for (size_t i = 0; i < HUTCH_COUNT(references); i++)
        assert_fine(store_set_reference(&world->store, &references[i], digest, &err), &err);
    assert_fine(store_references(&world->store, join_name, &all, &err), &err);
    char expected[4096];
    (void)snprintf(expected, sizeof(expected),
                   "a.example:5000/z:_x.y-z docker.io/library/python/sub:latest "
                   "docker.io/library/python:3 docker.io/library/python@%s ",
                   digest);
    assert_false(all.failed);
    assert_string_equal(all.data, expected);
    hutch_buf_done(&all);
    for (size_t i = 0; i < HUTCH_COUNT(references); i++) {
        assert_fine(store_remove_reference(&world->store, &references[i], &err), &err);
        assert_int_equal(store_remove_reference(&world->store, &references[i], &err),
                         -HUTCH_E_NOT_FOUND);
    }
    assert_int_equal(world_count(world, "refs"), 0);
}

int main(void)
{
#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, new_world, no_world)
    const struct CMUnitTest tests[] = {
        IN_WORLD(of_two_layers_with_one_key_the_first_stays),
        IN_WORLD(a_key_that_leads_nowhere_gives_way),
        IN_WORLD(a_layer_that_is_not_committed_leaves_nothing),
        IN_WORLD(a_root_that_denies_writing_keeps_its_mode),
        IN_WORLD(an_image_that_is_not_whole_is_refused),
        IN_WORLD(nothing_below_an_opaque_root_is_stacked),
        IN_WORLD(names_are_given_listed_and_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
