/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever watches the journal gets every event once and in order: over segments, out of the
 * database, in pieces, and while it is being written. */
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hutch/audit.h"
#include "store/audit_files.h"
#include "util/own.h"
#include "util/remove_tree.h"

#define SEGMENT_BYTES 2000

static char home[64];

static int make_home(void **state)
{
    (void)state;
    (void)snprintf(home, sizeof(home), "/tmp/hutch-watch-XXXXXX");
    if (!mkdtemp(home))
        return -1;
    return setenv("HUTCH_HOME", home, 1);
}

static int remove_home(void **state)
{
    (void)state;
    return remove_tree(AT_FDCWD, home);
}

static void write_events(unsigned count)
{
    struct hutch_error err;
    struct audit audit = AUDIT_INIT;
    const struct audit_event event = {.kind = "test"};
    audit.segment_bytes = SEGMENT_BYTES;
    assert_fine(audit_open(&audit, &err), &err);
    for (unsigned i = 0; i < count; i++)
        assert_fine(audit_append(&audit, &event, &err), &err);
    audit_close(&audit);
}

struct heard {
    uint64_t next;
    uint64_t count;
    uint64_t most; /* then it has enough for now */
};

static int hear(void *userdata, uint64_t seq, const char *json, size_t length)
{
    struct heard *heard = userdata;
    assert_int_equal(seq, heard->next);
    assert_true(length > 20 && json[0] == '{' && json[length - 1] == '}');
    heard->next++;
    return ++heard->count == heard->most;
}

static struct hutch_audit_watch *watch_from(uint64_t from)
{
    struct hutch_error err;
    struct hutch_audit_watch *watch = NULL;
    assert_fine(hutch_audit_watch_new(from, &watch, &err), &err);
    return watch;
}

static void hear_all(struct hutch_audit_watch *watch, struct heard *heard)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    assert_fine(hutch_audit_watch_read(watch, hear, heard, &err), &err);
}

static void test_segments(void **state)
{
    (void)state;
    struct heard heard = {.next = 1};
    write_events(100);
    struct hutch_audit_watch *watch = watch_from(0);
    hear_all(watch, &heard);
    assert_int_equal(heard.count, 100);
    for (int round = 0; round < 20; round++) {
        write_events(7);
        hear_all(watch, &heard);
    }
    assert_int_equal(heard.count, 240);
    assert_int_equal(hutch_audit_watch_next(watch), 241);
    hutch_audit_watch_free(watch);
}

static void test_pieces_and_places(void **state)
{
    (void)state;
    struct hutch_error err = HUTCH_ERROR_INIT;
    write_events(60);
    for (uint64_t from = 1; from < 70; from += 4) {
        struct heard heard = {.next = from, .most = 1};
        struct hutch_audit_watch *watch = watch_from(from);
        int status;
        while ((status = hutch_audit_watch_read(watch, hear, &heard, &err)) == 1)
            heard.most = heard.count + 1 + from % 3;
        assert_int_equal(status, 0);
        assert_int_equal(heard.count, from <= 60 ? 61 - from : 0);
        hutch_audit_watch_free(watch);
    }
}

static int pass_over(void *userdata, const struct hutch_audit_event *event)
{
    (void)userdata, (void)event;
    return 0;
}

/* What is asked about is collected, and its segments go. */
static void test_database(void **state)
{
    (void)state;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct heard behind = {.next = 1, .most = 3}, old = {.next = 5};
    write_events(60);
    struct hutch_audit_watch *watch = watch_from(1);
    assert_int_equal(hutch_audit_watch_read(watch, hear, &behind, &err), 1);
    assert_fine(hutch_audit_read(NULL, pass_over, NULL, &err), &err);
    write_events(5);
    struct hutch_audit_watch *late = watch_from(5);
    hear_all(late, &old);
    assert_int_equal(old.count, 61);
    behind.most = 0;
    hear_all(watch, &behind);
    assert_int_equal(behind.next, 66);
    hutch_audit_watch_free(watch);
    hutch_audit_watch_free(late);
}

static void *write_many(void *argument)
{
    for (int i = 0; i < 50; i++)
        write_events(10);
    return argument;
}

static void test_while_it_is_written(void **state)
{
    (void)state;
    pthread_t writer;
    struct hutch_audit_watch *watch = watch_from(HUTCH_AUDIT_TO_COME);
    struct heard heard = {.next = hutch_audit_watch_next(watch)};
    assert_int_equal(pthread_create(&writer, NULL, write_many, NULL), 0);
    while (heard.count < 500) {
        struct pollfd more = {.fd = hutch_audit_watch_fd(watch), .events = POLLIN};
        assert_int_equal(poll(&more, 1, 10000), 1);
        hear_all(watch, &heard);
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    hear_all(watch, &heard);
    assert_int_equal(heard.count, 500);
    hutch_audit_watch_free(watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_segments, make_home, remove_home),
        cmocka_unit_test_setup_teardown(test_pieces_and_places, make_home, remove_home),
        cmocka_unit_test_setup_teardown(test_database, make_home, remove_home),
        cmocka_unit_test_setup_teardown(test_while_it_is_written, make_home, remove_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
