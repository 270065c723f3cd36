/* SPDX-License-Identifier: Apache-2.0 */
/* What a prune takes and what it leaves; and layers that a loss of power has cut. */
#include "store_world.h"

#include <errno.h>

#include "image/settle.h"

static void add(struct world *world, unsigned number, char ret_digest[IMAGE_DIGEST_BYTES])
{
    struct hutch_error err;
    assert_fine(world_add(world, number, ret_digest, &err), &err);
}

static void take_name(struct world *world, unsigned number)
{
    struct hutch_error err;
    struct image_reference reference;
    world_name(number, &reference);
    assert_fine(store_remove_reference(&world->store, &reference, &err), &err);
}

static bool is_whole(struct world *world, unsigned number)
{
    struct hutch_error err;
    struct image_reference reference;
    world_name(number, &reference);
    return world_check(world, &reference, &err) >= 0;
}

static struct store_pruned prune(struct world *world, const struct store_prune_options *options)
{
    static const struct store_prune_options usual;
    struct hutch_error err;
    struct store_pruned pruned;
    assert_fine(store_prune(&world->store, options ? options : &usual, &pruned, &err), &err);
    return pruned;
}

/* Images, layers, keys and blobs, of which each image has its own and shares some. */
static void holds(struct world *world, int images)
{
    assert_int_equal(world_count(world, "images"), images);
    assert_int_equal(world_count(world, "layers"), images ? images + 1 : 0);
    assert_int_equal(world_count(world, "unpacked"), images ? images + 1 : 0);
    assert_int_equal(world_count(world, "blobs"), images ? images * 3 + 1 : 0);
}

static void what_has_no_name_goes_and_the_rest_stays(void **state)
{
    struct world *world = *state;
    for (unsigned i = 1; i <= 3; i++)
        add(world, i, NULL);
    holds(world, 3);
    struct store_pruned pruned = prune(world, NULL);
    assert_int_equal(pruned.files, 0);
    assert_int_equal(pruned.bytes, 0);
    take_name(world, 2);
    pruned = prune(world, NULL);
    assert_int_equal(pruned.files, 5); /* its record, its layer, three blobs */
    assert_true(pruned.bytes > WORLD_BLOB_BYTES);
    holds(world, 2);
    assert_true(is_whole(world, 1) && is_whole(world, 3));
    take_name(world, 1);
    take_name(world, 3);
    (void)prune(world, NULL);
    holds(world, 0);
    assert_int_equal(world_count(world, "refs"), 0);
}

static void leftovers_of_all_kinds_go(void **state)
{
    static const char *const files[] = {"tmp/file", "partial/abc", "blobs/abc", "unpacked/abc",
                                        "images/abc"};
    struct world *world = *state;
    add(world, 1, NULL);
    for (size_t i = 0; i < HUTCH_COUNT(files); i++)
        assert_int_equal(world_put(world->store.dir, files[i], "x"), 0);
    static const char *const directories[] = {"tmp/tree", "tmp/tree/layer", "layers/77",
                                              "layers/3.bad"};
    for (size_t i = 0; i < HUTCH_COUNT(directories); i++)
        assert_int_equal(mkdirat(world->store.dir, directories[i], 0755), 0);
    assert_int_equal(world_put(world->store.dir, "layers/77/file", "x"), 0);
    assert_int_equal(fchmodat(world->store.dir, "layers/77", 0555, 0), 0);
    (void)prune(world, NULL);
    holds(world, 1);
    assert_int_equal(world_count(world, "tmp"), 0);
    assert_int_equal(world_count(world, "partial"), 0);
    assert_true(is_whole(world, 1));
}

static void what_is_used_stays_until_it_is_not(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct image image = IMAGE_INIT;
    char digest[IMAGE_DIGEST_BYTES];
    add(world, 1, digest);
    assert_fine(image_find_digest(&world->store, digest, &image, &err), &err);
    take_name(world, 1);
    assert_int_equal(prune(world, NULL).files, 0);
    holds(world, 1);
    hutch_autofd int file = image_open_file(&world->store, &image, "/etc/top", &err);
    assert_true(file >= 0);
    image_done(&image);
    (void)prune(world, NULL);
    holds(world, 0);
}

static char pinned[IMAGE_DIGEST_BYTES];

static int add_pinned(struct hutch_strlist *digests, struct hutch_error *err)
{
    return hutch_strlist_add(digests, pinned, err);
}

static void what_sandboxes_are_pinned_to_stays(void **state)
{
    struct world *world = *state;
    add(world, 1, pinned);
    add(world, 2, NULL);
    struct store_prune_options options = {.add_pinned = add_pinned, .takes_names = true};
    (void)prune(world, &options);
    holds(world, 1);
    assert_true(is_whole(world, 1)); /* with its name */
    assert_false(is_whole(world, 2));
    take_name(world, 1);
    (void)prune(world, &options);
    holds(world, 1);
    (void)prune(world, NULL);
    holds(world, 0);
}

static void count_item(void *context, const char *kind, const char *name)
{
    assert_true(*kind && *name);
    ++*(unsigned *)context;
}

static void a_dry_run_tells_and_removes_nothing(void **state)
{
    struct world *world = *state;
    unsigned told = 0;
    add(world, 1, NULL);
    add(world, 2, NULL);
    assert_int_equal(world_put(world->store.dir, "partial/abc", "x"), 0);
    struct store_prune_options options = {
        .dry_run = true, .takes_names = true, .on_item = count_item, .context = &told};
    struct store_pruned dry = prune(world, &options);
    assert_int_equal(dry.files, told);
    assert_int_equal(told, 2 /* names */ + 2 /* records */ + 3 /* layers */ + 7 /* blobs */ + 1);
    holds(world, 2);
    assert_true(is_whole(world, 1) && is_whole(world, 2));
    options.dry_run = false;
    struct store_pruned real = prune(world, &options);
    assert_int_equal(real.files, dry.files);
    assert_int_equal(real.bytes, dry.bytes);
    holds(world, 0);
}

static void one_image_alone_can_go(void **state)
{
    struct world *world = *state;
    char one[IMAGE_DIGEST_BYTES];
    add(world, 1, one);
    add(world, 2, NULL);
    add(world, 3, NULL);
    take_name(world, 1);
    take_name(world, 2);
    assert_int_equal(world_put(world->store.dir, "partial/abc", "x"), 0);
    struct store_prune_options options = {.only = one};
    (void)prune(world, &options);
    assert_int_equal(world_count(world, "partial"), 1);
    holds(world, 2); /* the second has no name, and was not asked for */
    assert_true(is_whole(world, 3));
}

static void a_prune_waits_for_who_adds_and_gives_up(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct store_pruned pruned;
    struct store_prune_options options = {.patience_ms = 60};
    int lock = -1;
    assert_fine(store_begin_adding(&world->store, &lock, &err), &err);
    assert_int_equal(store_prune(&world->store, &options, &pruned, &err), -HUTCH_E_CONFLICT);
    assert_non_null(strstr(err.msg, "try again"));
    (void)close(lock);
    (void)prune(world, &options);
}

static void damaged_images_go_with_their_names(void **state)
{
    struct world *world = *state;
    char digest[IMAGE_DIGEST_BYTES], path[100];
    add(world, 1, digest);
    add(world, 2, NULL);
    (void)snprintf(path, sizeof(path), "images/%s", IMAGE_DIGEST_HEX(digest));
    assert_int_equal(world_put(world->store.dir, path, "{"), 0);
    (void)prune(world, NULL);
    holds(world, 1);
    assert_true(is_whole(world, 2));
    assert_int_equal(world_count(world, "refs/localhost:5000/test"), 1);
}

static void without_its_manifest_an_image_keeps_all_blobs(void **state)
{
    struct world *world = *state;
    char digest[IMAGE_DIGEST_BYTES], path[100];
    add(world, 1, digest);
    (void)snprintf(path, sizeof(path), "blobs/%s", IMAGE_DIGEST_HEX(digest));
    assert_int_equal(world_put(world->store.dir, path, "damaged"), 0);
    (void)prune(world, NULL);
    assert_int_equal(world_count(world, "blobs"), 4);
}

/* ---- a loss of power ---- */

/* Makes the notes those of another boot. */
static void boot_again(struct world *world)
{
    hutch_autofd int notes = openat(world->store.dir, "unsettled", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(notes, "00000000", 8, 0), 8);
}

static void layers_that_are_whole_after_a_boot_stay(void **state)
{
    struct world *world = *state;
    struct stat info;
    add(world, 1, NULL);
    boot_again(world);
    assert_true(is_whole(world, 1));
    assert_int_equal(fstatat(world->store.dir, "unsettled", &info, 0), 0);
    assert_int_equal(info.st_size, 0);
    assert_int_equal(world_count(world, "layers"), 2);
    add(world, 2, NULL);
    boot_again(world);
    add(world, 3, NULL); /* checks the former and notes its own */
    assert_true(is_whole(world, 1) && is_whole(world, 2) && is_whole(world, 3));
}

static void layers_that_were_cut_are_set_aside_and_unpacked_again(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    char path[64], layer[16], digest[IMAGE_DIGEST_BYTES];
    for (int is_lost = 0; is_lost < 2; is_lost++) {
        struct image image = IMAGE_INIT;
        add(world, 1, digest);
        assert_fine(image_find_digest(&world->store, digest, &image, &err), &err);
        (void)snprintf(layer, sizeof(layer), "%s", image.layers.items[0]);
        image_done(&image);
        (void)snprintf(path, sizeof(path), "layers/%s/%s", layer, is_lost ? "layer1" : "etc/top");
        if (is_lost)
            assert_int_equal(unlinkat(world->store.dir, path, 0), 0);
        else
            assert_int_equal(world_put(world->store.dir, path, ""), 0);
        boot_again(world);
        assert_int_equal(image_find_digest(&world->store, digest, &image, &err),
                         -HUTCH_E_NOT_FOUND);
        assert_non_null(strstr(err.msg, "pull it again: its layer"));
        add(world, 1, digest);
        assert_true(is_whole(world, 1));
    }
    (void)prune(world, NULL);
    holds(world, 1);
    assert_true(is_whole(world, 1));
}

static void a_number_that_is_given_again_has_a_note_of_its_own(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    char key[IMAGE_DIGEST_BYTES], name[16];
    assert_fine(hash_of("a", 1, key, &err), &err);
    assert_fine(world_add_layer(world, 1, key, name, &err), &err);
    (void)prune(world, NULL);
    add(world, 1, NULL); /* layer 1 again, of another content */
    boot_again(world);
    assert_true(is_whole(world, 1));
}

int main(void)
{
#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, new_world, no_world)
    const struct CMUnitTest tests[] = {
        IN_WORLD(what_has_no_name_goes_and_the_rest_stays),
        IN_WORLD(leftovers_of_all_kinds_go),
        IN_WORLD(what_is_used_stays_until_it_is_not),
        IN_WORLD(what_sandboxes_are_pinned_to_stays),
        IN_WORLD(a_dry_run_tells_and_removes_nothing),
        IN_WORLD(one_image_alone_can_go),
        IN_WORLD(a_prune_waits_for_who_adds_and_gives_up),
        IN_WORLD(damaged_images_go_with_their_names),
        IN_WORLD(without_its_manifest_an_image_keeps_all_blobs),
        IN_WORLD(layers_that_are_whole_after_a_boot_stay),
        IN_WORLD(layers_that_were_cut_are_set_aside_and_unpacked_again),
        IN_WORLD(a_number_that_is_given_again_has_a_note_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
