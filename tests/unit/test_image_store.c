/* SPDX-License-Identifier: Apache-2.0 */
/* The image store as who runs images sees it. */
#include "store_world.h"

#include <sys/wait.h>

#include "image/record.h"
#include "image/store_files.h"

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

/* A prune that is faster takes the record's name while the other waits for its lock. */
static void a_record_that_goes_meanwhile_is_not_found(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    char digest[IMAGE_DIGEST_BYTES], path[100];
    int status;
    assert_fine(world_add(world, 1, digest, &err), &err);
    (void)snprintf(path, sizeof(path), "images/%s", IMAGE_DIGEST_HEX(digest));
    hutch_autofd int record = openat(world->store.dir, path, O_RDWR | O_CLOEXEC);
    assert_int_equal(store_lock(record, F_WRLCK, 0, false), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct image image = IMAGE_INIT;
        _exit(-image_find_digest(&world->store, digest, &image, &err));
    }
    (void)usleep(50000);
    assert_int_equal(waitpid(child, &status, WNOHANG), 0); /* it waits */
    assert_int_equal(unlinkat(world->store.dir, path, 0), 0);
    assert_int_equal(store_lock(record, F_UNLCK, 0, false), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), HUTCH_E_NOT_FOUND);
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

int main(void)
{
#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, new_world, no_world)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_that_is_not_there_finds_nothing_and_is_not_made),
        cmocka_unit_test(a_record_is_read_back_as_it_was_written),
        IN_WORLD(an_image_is_found_by_name_and_by_digest_and_locked),
        IN_WORLD(a_name_that_gets_another_image_leads_to_it),
        IN_WORLD(a_digest_that_is_none_is_refused),
        IN_WORLD(damaged_records_are_said_to_be_damaged),
        IN_WORLD(a_damaged_name_is_said_to_be_damaged),
        IN_WORLD(a_record_that_goes_meanwhile_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
