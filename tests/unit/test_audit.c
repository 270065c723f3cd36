/* SPDX-License-Identifier: Apache-2.0 */
/* The audit journal: what is added is there in order, and whatever is done to it afterwards is
 * found and named. */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/audit_files.h"
#include "util/fs.h"
#include "util/own.h"

#define EVENTS UINT64_C(40)

static char home[64];

static int make_home(void **state)
{
    (void)state;
    (void)snprintf(home, sizeof(home), "/tmp/hutch-audit-XXXXXX");
    return mkdtemp(home) ? 0 : -1;
}

static int remove_home(void **state)
{
    (void)state;
    DIR *directory = opendir(home);
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory));)
        (void)unlinkat(dirfd(directory), entry->d_name, 0);
    (void)closedir(directory);
    return rmdir(home);
}

static void put_number(struct hutch_json_out *out, const void *userdata)
{
    hutch_json_uint(out, "number", *(const unsigned *)userdata);
}

static void add(struct audit *audit, unsigned number)
{
    struct hutch_error err;
    const struct audit_event event = {.kind = "test", .fields = put_number, .userdata = &number};
    assert_fine(audit_append(audit, &event, &err), &err);
}

static struct audit open_journal(uint64_t segment_bytes)
{
    struct hutch_error err;
    struct audit audit = AUDIT_INIT;
    audit.segment_bytes = segment_bytes;
    assert_fine(audit_open_at(&audit, home, &err), &err);
    return audit;
}

static void fill(uint64_t events, uint64_t segment_bytes)
{
    struct audit audit = open_journal(segment_bytes);
    for (unsigned i = 0; i < events; i++)
        add(&audit, i);
    audit_close(&audit);
}

struct seen {
    uint64_t lines;
    uint64_t faults;
    uint64_t fault_seq;
    char fault[200];
};

static int see(void *userdata, const struct audit_entry *entry)
{
    struct seen *seen = userdata;
    seen->lines += entry->line != NULL;
    if (entry->fault && !seen->faults++) {
        seen->fault_seq = entry->seq;
        (void)snprintf(seen->fault, sizeof(seen->fault), "%s:%" PRIu64 ": %s", entry->segment,
                       entry->line_number, entry->fault);
    }
    return 0;
}

static struct seen verify(void)
{
    struct seen seen = {0};
    struct hutch_error err;
    struct audit_head begin;
    struct audit_chain chain = {0};
    audit_head_begin(&begin);
    memcpy(chain.hash, begin.hash, sizeof(chain.hash));
    assert_fine(audit_walk(home, &chain, see, &seen, &err), &err);
    return seen;
}

static void assert_whole(uint64_t lines)
{
    struct seen seen = verify();
    if (seen.faults)
        fail_msg("%s", seen.fault);
    assert_int_equal(seen.lines, lines);
}

static void segment_path(char *path, uint64_t first)
{
    audit_segment_path(home, first, path);
}

static char *read_segment(uint64_t first, size_t *ret_length)
{
    char path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES];
    char *text = NULL;
    struct hutch_error err;
    segment_path(path, first);
    assert_fine(hutch_read_file(path, AUDIT_SEGMENT_MAX_BYTES, &text, ret_length, &err), &err);
    return text;
}

static void write_segment(uint64_t first, const char *text, size_t length)
{
    char path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES];
    segment_path(path, first);
    hutch_autofd int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(hutch_write_all(fd, text, length), 0);
}

/* ---- */

static void test_what_is_added_is_there(void **state)
{
    (void)state;
    fill(EVENTS, 1u << 20);
    assert_whole(EVENTS);
    fill(EVENTS, 1000); /* several segments, by another writer */
    assert_whole(2 * EVENTS);
}

static void test_every_changed_byte_is_found(void **state)
{
    size_t length = 0;
    (void)state;
    fill(6, 1u << 20);
    hutch_autofree char *text = read_segment(1, &length);
    for (size_t i = 0; i < length; i++)
        for (unsigned bit = 0; bit < 8; bit += 3) {
            text[i] = (char)(text[i] ^ 1 << bit);
            write_segment(1, text, length);
            if (!verify().faults)
                fail_msg("byte %zu, bit %u", i, bit);
            text[i] = (char)(text[i] ^ 1 << bit);
        }
    write_segment(1, text, length);
    assert_whole(6);
}

static const char *nth_line(const char *text, size_t n, size_t *ret_length)
{
    while (n--)
        text = strchr(text, '\n') + 1;
    *ret_length = (size_t)(strchr(text, '\n') - text) + 1;
    return text;
}

/* Without one line, with it twice, and with it in the place of another. */
static void test_lines_taken_out_doubled_and_moved_are_named(void **state)
{
    size_t length = 0;
    (void)state;
    fill(5, 1u << 20);
    hutch_autofree char *text = read_segment(1, &length);
    for (size_t n = 0; n < 5; n++) {
        size_t size = 0;
        const char *line = nth_line(text, n, &size);
        size_t before = (size_t)(line - text), behind = length - before - size;
        hutch_autofree char *other = calloc(1, 2 * length);
        assert_non_null(other);
        memcpy(other, text, before);
        memcpy(other + before, line + size, behind);
        write_segment(1, other, before + behind);
        assert_true(verify().faults >= 1);
        if (n < 4) /* the last is missed by the head */
            assert_non_null(strstr(verify().fault, "1 events before it are missing"));
        else
            assert_non_null(strstr(verify().fault, "events 5 to 5 at the end are missing"));
        memcpy(other, text, before + size);
        memcpy(other + before + size, line, size + behind);
        write_segment(1, other, length + size);
        if (n < 4) /* behind the end is nothing */
            assert_non_null(strstr(verify().fault, "out of order"));
        if (n == 4)
            assert_int_equal(verify().faults, 0);
    }
}

static void test_every_cut_is_found(void **state)
{
    size_t length = 0;
    (void)state;
    fill(5, 1u << 20);
    hutch_autofree char *text = read_segment(1, &length);
    for (size_t kept = 0; kept < length; kept++) {
        write_segment(1, text, kept);
        struct seen seen = verify();
        assert_true(seen.faults >= 1);
    }
}

static void test_a_missing_segment_or_head_is_named(void **state)
{
    char path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES], aside[128];
    hutch_autofree uint64_t *firsts = NULL;
    struct hutch_error err;
    size_t count = 0;
    (void)state;
    fill(EVENTS, 1000);
    assert_fine(audit_segments(home, &firsts, &count, &err), &err);
    assert_true(count > 3);
    (void)snprintf(aside, sizeof(aside), "%s/aside", home);
    for (size_t i = 0; i < count; i++) {
        segment_path(path, firsts[i]);
        assert_int_equal(rename(path, aside), 0);
        assert_non_null(strstr(verify().fault, "missing"));
        assert_int_equal(rename(aside, path), 0);
    }
    assert_whole(EVENTS);
    (void)snprintf(path, sizeof(path), "%s/head", home);
    assert_int_equal(unlink(path), 0);
    assert_non_null(strstr(verify().fault, "it is missing or damaged"));
}

/* ---- a writer that was killed ---- */

static void test_what_was_left_behind_the_end_is_overwritten(void **state)
{
    char path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES];
    (void)state;
    fill(3, 1u << 20);
    segment_path(path, 1);
    hutch_autofd int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(hutch_write_all(fd, "{\"seq\":4,\"time", 14), 0);
    assert_whole(3);
    fill(2, 1u << 20);
    assert_whole(5);
}

static void test_of_a_first_writer_that_told_nobody_nothing_is_missing(void **state)
{
    char path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES];
    (void)state;
    segment_path(path, 1);
    hutch_autofd int empty = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(empty >= 0);
    fill(2, 1u << 20);
    assert_whole(2);
    assert_int_equal(remove_home(state), 0);
    assert_int_equal(make_home(state), 0);
    segment_path(path, 1);
    hutch_autofd int half = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(half >= 0);
    assert_int_equal(hutch_write_all(half, "{\"seq\":1,\"time", 14), 0);
    fill(2, 1u << 20);
    assert_whole(2);
}

static void test_work_goes_on_after_damage_and_it_is_noted(void **state)
{
    size_t length = 0;
    (void)state;
    fill(5, 1u << 20);
    hutch_autofree char *text = read_segment(1, &length);
    size_t size = 0;
    write_segment(1, text, (size_t)(nth_line(text, 3, &size) - text));
    fill(2, 1u << 20);
    struct seen seen = verify();
    assert_int_equal(seen.lines, 3 + 1 + 2); /* what is left, "mended", and two more */
    assert_int_equal(seen.faults, 1);
    assert_non_null(strstr(seen.fault, "2 events before it are missing"));
    hutch_autofree char *mended = read_segment(6, &length);
    assert_non_null(strstr(mended, "\"kind\":\"mended\""));
    assert_non_null(strstr(mended, "\"lost_from\":4,\"lost_to\":5"));
}

static void test_two_writers_at_once_are_in_one_line(void **state)
{
    (void)state;
    for (int child = 0; child < 4; child++)
        if (fork() == 0) {
            fill(200, 20000);
            _exit(0);
        }
    for (int child = 0; child < 4; child++) {
        int status = 0;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_whole(800);
}

/* A file that may grow no further is written in part, as on a full disk. */
static void test_no_room_leaves_no_half_event(void **state)
{
    unsigned number = 1;
    const struct audit_event event = {.kind = "test", .fields = put_number, .userdata = &number};
    size_t length = 0;
    (void)state;
    fill(3, 1u << 20);
    free(read_segment(1, &length));
    struct audit audit = open_journal(1u << 20);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (size_t room = 0; room < 150; room += 13) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        limit = (struct rlimit){length + room, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        int status = audit_append(&audit, &event, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_true(status < 0);
        assert_non_null(strstr(err.msg, "write to the audit journal"));
        assert_whole(3);
    }
    add(&audit, 4);
    audit_close(&audit);
    assert_whole(4);
}

/* ---- lives ---- */

static void test_a_life_is_locked_until_it_ends(void **state)
{
    struct hutch_error err;
    struct audit audit = open_journal(1u << 20), other = open_journal(1u << 20);
    const struct audit_event begin = {.kind = "run", .begins_life = true};
    const struct audit_event end = {.kind = "end", .ends_life = 2};
    (void)state;
    add(&audit, 1);
    assert_fine(audit_append(&audit, &begin, &err), &err);
    assert_int_equal(audit.life, 2);
    assert_true(audit_is_alive(other.head, 2));
    assert_false(audit_is_alive(other.head, 3));
    add(&other, 2); /* others are not in its way */
    assert_fine(audit_append(&audit, &end, &err), &err);
    assert_false(audit_is_alive(other.head, 2));
    assert_int_equal(audit.life, 0);
    assert_fine(audit_append(&audit, &begin, &err), &err);
    assert_true(audit_is_alive(other.head, 5));
    audit_close(&audit);
    assert_false(audit_is_alive(other.head, 5));
    audit_close(&other);
}

static void test_a_life_may_end_after_the_next_has_begun(void **state)
{
    struct hutch_error err;
    struct audit audit = open_journal(1u << 20), other = open_journal(1u << 20);
    const struct audit_event begin = {.kind = "create", .begins_life = true};
    const struct audit_event end = {.kind = "end", .ends_life = 1};
    (void)state;
    assert_fine(audit_append(&audit, &begin, &err), &err);
    assert_fine(audit_append(&audit, &begin, &err), &err);
    assert_int_equal(audit.life, 2);
    assert_true(audit_is_alive(other.head, 1));
    assert_fine(audit_append(&audit, &end, &err), &err);
    assert_int_equal(audit.life, 2);
    assert_false(audit_is_alive(other.head, 1));
    assert_true(audit_is_alive(other.head, 2));
    audit_close(&audit);
    assert_false(audit_is_alive(other.head, 2));
    audit_close(&other);
}

/* ---- words ---- */

static void check_argv(char *const *words, size_t count, bool as_digest, const char *wanted)
{
    struct hutch_buf buf = HUTCH_BUF(AUDIT_LINE_MAX);
    struct hutch_json_out out = {&buf, false};
    audit_put_argv(&out, words, count, as_digest);
    assert_false(buf.failed);
    assert_string_equal(buf.data, wanted);
    hutch_buf_done(&buf);
}

static void test_a_command_line_is_told_or_summed(void **state)
{
    static char echo[] = "echo", quoted[] = "a \"b\"", empty[] = "";
    char *words[] = {echo, quoted, empty};
    (void)state;
    check_argv(words, 3, false, "\"argv\":[\"echo\",\"a \\\"b\\\"\",\"\"]");
    check_argv(words, 3, true,
               "\"argv_sha256\":"
               "\"8ca3407fcb7943769bc3917b1e1f5a9109a166a7386d6f8b7e8f7c790159881c\",\"argc\":3");
}

static void test_a_long_command_line_is_cut(void **state)
{
    struct hutch_buf buf = HUTCH_BUF(AUDIT_LINE_MAX);
    struct hutch_json_out out = {&buf, false};
    hutch_autofree char *large = calloc(1, 1u << 20);
    (void)state;
    assert_non_null(large);
    memset(large, 'x', (1u << 20) - 1);
    char *words[] = {large, large};
    audit_put_argv(&out, words, 2, false);
    assert_false(buf.failed);
    assert_true(buf.length < AUDIT_ARGV_BYTES + (1u << 10));
    assert_non_null(strstr(buf.data, "\"argv_sha256\":"));
    assert_non_null(strstr(buf.data, "\"argc\":2"));
    hutch_buf_done(&buf);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_home, remove_home)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_added_is_there),
        TEST(test_every_changed_byte_is_found),
        TEST(test_lines_taken_out_doubled_and_moved_are_named),
        TEST(test_every_cut_is_found),
        TEST(test_a_missing_segment_or_head_is_named),
        TEST(test_what_was_left_behind_the_end_is_overwritten),
        TEST(test_of_a_first_writer_that_told_nobody_nothing_is_missing),
        TEST(test_work_goes_on_after_damage_and_it_is_noted),
        TEST(test_two_writers_at_once_are_in_one_line),
        TEST(test_no_room_leaves_no_half_event),
        TEST(test_a_life_is_locked_until_it_ends),
        TEST(test_a_life_may_end_after_the_next_has_begun),
        cmocka_unit_test(test_a_command_line_is_told_or_summed),
        cmocka_unit_test(test_a_long_command_line_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
