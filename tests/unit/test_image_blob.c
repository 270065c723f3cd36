/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs on their way into the image store. */
#include "store_world.h"

#include <signal.h>
#include <sys/wait.h>

static const char text[] = "0123456789abcdef";
#define TEXT_BYTES (sizeof(text) - 1)

static struct blob_writer *begin(struct world *world, uint64_t size, uint64_t expected_have)
{
    struct hutch_error err;
    struct blob_writer *writer = NULL;
    char digest[IMAGE_DIGEST_BYTES];
    bool there = true;
    uint64_t have = 99;
    digest_of(text, TEXT_BYTES, digest);
    assert_fine(blob_begin(&world->store, digest, size, &writer, &there, &have, &err), &err);
    assert_false(there);
    assert_int_equal(have, expected_have);
    assert_non_null(writer);
    return writer;
}

static void is_there(struct world *world)
{
    struct hutch_error err;
    char digest[IMAGE_DIGEST_BYTES];
    uint64_t size = 0;
    digest_of(text, TEXT_BYTES, digest);
    assert_true(store_has_blob(&world->store, digest, &size));
    assert_int_equal(size, TEXT_BYTES);
    assert_fine(store_check_blob(&world->store, digest, &err), &err);
    assert_int_equal(world_count(world, "partial"), 0);
    assert_int_equal(world_count(world, "tmp"), 0);
}

static void a_blob_is_there_when_all_of_it_is(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct blob_writer *writer = begin(world, TEXT_BYTES, 0);
    char digest[IMAGE_DIGEST_BYTES];
    bool there = false;
    uint64_t have;
    digest_of(text, TEXT_BYTES, digest);
    assert_fine(blob_write(writer, text, 4, &err), &err);
    char seen[4];
    assert_int_equal(pread(blob_descriptor(writer), seen, 4, 0), 4);
    assert_memory_equal(seen, text, 4);
    assert_false(store_has_blob(&world->store, digest, NULL));
    assert_fine(blob_write(writer, text + 4, TEXT_BYTES - 4, &err), &err);
    assert_fine(blob_commit(writer, &err), &err);
    blob_free(writer);
    is_there(world);
    writer = NULL;
    assert_fine(blob_begin(&world->store, digest, TEXT_BYTES, &writer, &there, &have, &err), &err);
    assert_true(there);
    assert_null(writer);
}

static void a_partial_blob_is_taken_up_again(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct blob_writer *writer = begin(world, TEXT_BYTES, 0);
    assert_fine(blob_write(writer, text, 5, &err), &err);
    assert_int_equal(blob_commit(writer, &err), -HUTCH_E_INVALID); /* too short, and stays */
    blob_free(writer);
    writer = begin(world, TEXT_BYTES, 5);
    assert_fine(blob_write(writer, text + 5, TEXT_BYTES - 5, &err), &err);
    assert_fine(blob_commit(writer, &err), &err);
    blob_free(writer);
    is_there(world);
}

static void a_partial_blob_is_never_trusted(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    char digest[IMAGE_DIGEST_BYTES], path[100];
    digest_of(text, TEXT_BYTES, digest);
    (void)snprintf(path, sizeof(path), "partial/%s", IMAGE_DIGEST_HEX(digest));
    assert_int_equal(world_put(world->store.dir, path, "0123X"), 0);
    struct blob_writer *writer = begin(world, TEXT_BYTES, 5);
    assert_fine(blob_write(writer, text + 5, TEXT_BYTES - 5, &err), &err);
    assert_int_equal(blob_commit(writer, &err), -HUTCH_E_INVALID);
    assert_non_null(strstr(err.msg, "damaged on its way"));
    blob_free(writer);
    assert_false(store_has_blob(&world->store, digest, NULL));
    assert_int_equal(world_count(world, "partial"), 0);
    assert_int_equal(world_put(world->store.dir, path, "longer than it can ever be"), 0);
    blob_free(begin(world, TEXT_BYTES, 0));
    assert_int_equal(world_count(world, "partial"), 0);
}

static void a_blob_can_begin_again(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct blob_writer *writer = begin(world, TEXT_BYTES, 0);
    assert_fine(blob_write(writer, "wrong", 5, &err), &err);
    assert_fine(blob_rewind(writer, &err), &err);
    assert_fine(blob_write(writer, text, TEXT_BYTES, &err), &err);
    assert_fine(blob_commit(writer, &err), &err);
    blob_free(writer);
    is_there(world);
}

static void more_than_was_said_is_refused_at_once(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct blob_writer *writer = begin(world, 8, 0);
    assert_fine(blob_write(writer, text, 8, &err), &err);
    assert_int_equal(blob_write(writer, text, 1, &err), -HUTCH_E_INVALID);
    assert_non_null(strstr(err.msg, "longer than the 8 bytes"));
    blob_free(writer);
}

static void a_wrong_size_is_told_from_a_damaged_blob(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    struct blob_writer *writer = NULL;
    char digest[IMAGE_DIGEST_BYTES], path[100], *read = NULL;
    bool there;
    uint64_t have;
    size_t length;
    assert_fine(store_add_blob(&world->store, text, TEXT_BYTES, digest, &err), &err);
    is_there(world);
    assert_int_equal(blob_begin(&world->store, digest, 5, &writer, &there, &have, &err),
                     -HUTCH_E_INVALID);
    assert_non_null(strstr(err.msg, "has 16 bytes and not 5"));
    (void)snprintf(path, sizeof(path), "blobs/%s", IMAGE_DIGEST_HEX(digest));
    assert_int_equal(world_put(world->store.dir, path, "0123456789abcdeX"), 0);
    assert_int_equal(store_read_blob(&world->store, digest, 100, &read, &length, &err),
                     -HUTCH_E_INVALID);
    assert_non_null(strstr(err.msg, "is damaged"));
    assert_int_equal(world_put(world->store.dir, path, "cut"), 0);
    writer = begin(world, TEXT_BYTES, 0); /* it went, and is fetched again */
    assert_fine(blob_write(writer, text, TEXT_BYTES, &err), &err);
    assert_fine(blob_commit(writer, &err), &err);
    blob_free(writer);
    is_there(world);
}

static void small_blobs_are_read_whole_and_checked(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    char digest[IMAGE_DIGEST_BYTES];
    hutch_autofree char *read = NULL;
    size_t length = 0;
    assert_fine(store_add_blob(&world->store, text, TEXT_BYTES, digest, &err), &err);
    assert_fine(store_add_blob(&world->store, text, TEXT_BYTES, digest, &err), &err);
    assert_int_equal(store_read_blob(&world->store, digest, 5, &read, &length, &err),
                     -HUTCH_E_INVALID);
    assert_fine(store_read_blob(&world->store, digest, 16, &read, &length, &err), &err);
    assert_string_equal(read, text);
    assert_int_equal(length, TEXT_BYTES);
    digest[8] = digest[8] == '0' ? '1' : '0';
    assert_int_equal(store_open_blob(&world->store, digest, &err), -HUTCH_E_NOT_FOUND);
    assert_int_equal(store_open_blob(&world->store, "sha256:../../x", &err), -HUTCH_E_INVALID);
    is_there(world);
}

static void an_empty_blob_is_a_blob(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    char digest[IMAGE_DIGEST_BYTES], named[IMAGE_DIGEST_BYTES];
    struct blob_writer *writer = NULL;
    bool there;
    uint64_t have, size = 1;
    digest_of("", 0, digest);
    assert_fine(blob_begin(&world->store, digest, 0, &writer, &there, &have, &err), &err);
    assert_fine(blob_commit(writer, &err), &err);
    blob_free(writer);
    assert_true(store_has_blob(&world->store, digest, &size));
    assert_int_equal(size, 0);
    assert_fine(blob_begin_unnamed(&world->store, &writer, &err), &err);
    assert_fine(blob_commit_unnamed(writer, named, &size, &err), &err);
    blob_free(writer);
    assert_string_equal(named, digest);
    assert_fine(blob_begin_unnamed(&world->store, &writer, &err), &err);
    assert_fine(blob_write(writer, "x", 1, &err), &err);
    blob_free(writer);
    assert_int_equal(world_count(world, "tmp"), 0);
}

/* A child that begins the blob, writes 5 bytes of it, says so, and waits to be killed. */
static pid_t writer_that_stops(struct world *world, int *ret_says)
{
    int says[2];
    assert_int_equal(pipe(says), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct hutch_error err;
        struct blob_writer *writer = begin(world, TEXT_BYTES, 0);
        assert_fine(blob_write(writer, text, 5, &err), &err);
        (void)!write(says[1], "x", 1);
        for (;;)
            pause();
    }
    (void)close(says[1]);
    *ret_says = says[0];
    return child;
}

static void who_comes_second_goes_on_when_the_first_dies(void **state)
{
    struct world *world = *state;
    struct hutch_error err;
    char byte;
    int says, status;
    pid_t first = writer_that_stops(world, &says);
    assert_int_equal(read(says, &byte, 1), 1);
    (void)close(says);
    pid_t second = fork();
    assert_true(second >= 0);
    if (second == 0) {
        struct blob_writer *writer = begin(world, TEXT_BYTES, 5);
        bool fine = blob_write(writer, text + 5, TEXT_BYTES - 5, &err) == 0 &&
                    blob_commit(writer, &err) == 0;
        blob_free(writer);
        _exit(fine ? 0 : 1);
    }
    (void)usleep(50000);
    assert_int_equal(waitpid(second, &status, WNOHANG), 0); /* it waits */
    assert_int_equal(kill(first, SIGKILL), 0);
    assert_int_equal(waitpid(first, &status, 0), first);
    assert_int_equal(waitpid(second, &status, 0), second);
    assert_int_equal(status, 0);
    is_there(world);
}

int main(void)
{
#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, new_world, no_world)
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_blob_is_there_when_all_of_it_is),
        IN_WORLD(a_partial_blob_is_taken_up_again),
        IN_WORLD(a_partial_blob_is_never_trusted),
        IN_WORLD(a_blob_can_begin_again),
        IN_WORLD(more_than_was_said_is_refused_at_once),
        IN_WORLD(a_wrong_size_is_told_from_a_damaged_blob),
        IN_WORLD(small_blobs_are_read_whole_and_checked),
        IN_WORLD(an_empty_blob_is_a_blob),
        IN_WORLD(who_comes_second_goes_on_when_the_first_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
