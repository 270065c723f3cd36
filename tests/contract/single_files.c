/* SPDX-License-Identifier: Apache-2.0 */
/* Single files of a sandbox: looked at, read in parts, written whole or not at all, removed. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "boxes.h"

struct seen {
    char names[128]; /* "NAME:TYPE " of each */
    char text[256];
    uint64_t start;
    uint64_t size;
};

static int see(void *userdata, const struct hutch_file *file)
{
    struct seen *seen = userdata;
    size_t used = strlen(seen->names);
    (void)snprintf(seen->names + used, sizeof(seen->names) - used, "%s:%s ", file->name,
                   file->type);
    seen->start = file->start;
    seen->size = file->size;
    return 0;
}

static int take(void *userdata, const char *data, size_t length)
{
    struct seen *seen = userdata;
    size_t used = strlen(seen->text);
    assert_true(used + length < sizeof(seen->text));
    memcpy(seen->text + used, data, length);
    return 0;
}

static int put(struct hutch_sandbox *box, const char *path, const char *text,
               hutch_whole_fn is_whole, struct hutch_error *err)
{
    int ends[2];
    (void)signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    (void)close(ends[1]);
    int status = hutch_sandbox_write_file(box, path, 0640, ends[0], is_whole, NULL, err);
    (void)close(ends[0]);
    return status;
}

static bool never(void *userdata)
{
    (void)userdata;
    return false;
}

static void a_file_is_written_whole_or_not_at_all(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    struct hutch_sandbox *box = box_create("put");
    if (put(box, "/workspace/f", "first", NULL, &err) < 0)
        fail_msg("put: %s", err.msg);
    box_says(box, "cat f; find f -perm 640; test -O f", "firstf\n");
    assert_true(put(box, "/workspace/f", "second", never, &err) < 0);
    box_says(box, "cat f; find . -mindepth 1", "first./f\n");
    assert_int_equal(put(box, "/workspace/f", "third", NULL, &err), 0);
    box_says(box, "cat f", "third");
    assert_int_equal(put(box, "/nowhere/f", "x", NULL, &err), -HUTCH_E_NOT_FOUND);
    assert_int_equal(put(box, "/workspace", "x", NULL, &err), -HUTCH_E_INVALID);
    assert_int_equal(put(box, "/dev/null", "x", NULL, &err), -HUTCH_E_INVALID);
    box_destroy(box);
}

static void a_file_is_read_in_parts(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    static const struct {
        const char *range, *text;
    } rows[] = {{NULL, "0123456789"}, {"0-0", "0"},      {"3-5", "345"},       {"8-", "89"},
                {"-3", "789"},        {"5-99", "56789"}, {"-99", "0123456789"}};
    (void)state;
    struct hutch_sandbox *box = box_create("read");
    assert_int_equal(put(box, "/workspace/f", "0123456789", NULL, &err), 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct seen seen = {0};
        if (hutch_sandbox_read_file(box, "/workspace/f", rows[i].range, see, take, &seen, &err) < 0)
            fail_msg("read: %s", err.msg);
        assert_string_equal(seen.text, rows[i].text);
        assert_int_equal(seen.size, 10);
    }
    struct seen seen = {0};
    assert_int_equal(hutch_sandbox_read_file(box, "/workspace/f", "10-", see, take, &seen, &err),
                     0);
    assert_true(seen.start == UINT64_MAX);
    assert_int_equal(hutch_sandbox_read_file(box, "/dev/zero", NULL, see, take, &seen, &err),
                     -HUTCH_E_INVALID);
    box_destroy(box);
}

static void a_directory_is_listed_and_removed(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct seen seen = {0};
    (void)state;
    struct hutch_sandbox *box = box_create("list");
    box_says(box, "mkdir -p d/e && echo x >d/e/x && ln -s e d/l", "");
    assert_int_equal(hutch_sandbox_list_files(box, "/workspace/d", see, &seen, &err), 0);
    assert_non_null(strstr(seen.names, ".:directory "));
    assert_non_null(strstr(seen.names, "e:directory "));
    assert_non_null(strstr(seen.names, "l:link "));
    assert_int_equal(hutch_sandbox_stat_file(box, "/workspace/none", see, &seen, &err),
                     -HUTCH_E_NOT_FOUND);
    assert_int_equal(hutch_sandbox_remove_file(box, "/workspace/d/l", true, &err), 0);
    box_says(box, "cat d/e/x", "x\n");
    assert_int_equal(hutch_sandbox_remove_file(box, "/workspace/d", false, &err),
                     -HUTCH_E_CONFLICT);
    assert_int_equal(hutch_sandbox_remove_file(box, "/workspace/d", true, &err), 0);
    box_says(box, "ls -A", "");
    box_destroy(box);
}

CONTRACT_TABLE(contract_single_files, TEST(a_file_is_written_whole_or_not_at_all),
               TEST(a_file_is_read_in_parts), TEST(a_directory_is_listed_and_removed));
