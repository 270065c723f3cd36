/* SPDX-License-Identifier: Apache-2.0 */
/* Files go in and out of a sandbox that stays, byte for byte. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boxes.h"

static const char *below(const char *directory, const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void tell_skipped(void *userdata, const char *path, int os_errno)
{
    print_message("left out: %s (%s)\n", path, strerror(os_errno));
    (*(unsigned *)userdata)++;
}

static void copy_in(struct hutch_sandbox *box, const char *source, const char *target)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    unsigned skipped = 0;
    if (hutch_sandbox_copy_in(box, source, target, tell_skipped, &skipped, &err) < 0)
        fail_msg("copy '%s' in: %s", source, err.msg);
    assert_int_equal(skipped, 0);
}

static void copy_out(struct hutch_sandbox *box, const char *source, const char *target)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    unsigned skipped = 0;
    if (hutch_sandbox_copy_out(box, source, target, tell_skipped, &skipped, &err) < 0)
        fail_msg("copy '%s' out: %s", source, err.msg);
    assert_int_equal(skipped, 0);
}

static const char *make_tree(void)
{
    const char *directory = contract_directory();
    assert_int_equal(mkdir(below(directory, "d"), 0755), 0);
    contract_write(directory, "d/one", "one\n");
    contract_write(directory, "d/run", "#!/bin/sh\necho ran\n");
    assert_int_equal(chmod(below(directory, "d/run"), 0755), 0);
    assert_int_equal(symlink("one", below(directory, "d/link")), 0);
    contract_write(directory, "d/-odd name\n", "odd");
    return directory;
}

static void a_tree_goes_in_and_belongs_to_the_sandboxes_user(void **state)
{
    (void)state;
    const char *directory = make_tree();
    struct hutch_sandbox *box = box_create("in");
    copy_in(box, below(directory, "d"), "/workspace/copy");
    box_says(box,
             "cd /workspace/copy && cat one && ./run && readlink link && cat -- ./-odd* && "
             "[ -O one ] && echo >>one && echo mine",
             "one\nran\none\noddmine\n");
    copy_in(box, below(directory, "d/one"), "/tmp"); /* a directory takes it in */
    box_says(box, "cat /tmp/one", "one\n");
    box_destroy(box);
}

static void a_tree_comes_out_and_belongs_to_the_caller(void **state)
{
    struct stat info;
    (void)state;
    struct hutch_sandbox *box = box_create("out");
    const char *directory = contract_directory();
    box_says(box, "mkdir -p /tmp/t/e; echo two >/tmp/t/e/two; ln -s /etc/passwd /tmp/t/link", "");
    copy_out(box, "/tmp/t", below(directory, "t"));
    char *text = contract_read(directory, "t/e/two");
    assert_string_equal(text, "two\n");
    free(text);
    assert_int_equal(stat(below(directory, "t/e/two"), &info), 0);
    assert_int_equal(info.st_uid, geteuid());
    assert_int_equal(lstat(below(directory, "t/link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    box_destroy(box);
}

/* 12 MB that do not compress and hold every byte, there and back. */
static void bytes_survive_the_way_in_and_out(void **state)
{
    enum { SIZE = 12000017 };
    (void)state;
    const char *directory = contract_directory();
    unsigned char *sent = malloc(SIZE), *came = malloc(SIZE);
    uint32_t number = 12345;
    assert_non_null(sent);
    assert_non_null(came);
    for (size_t i = 0; i < SIZE; i++) {
        number = number * 1664525 + 1013904223;
        sent[i] = (unsigned char)(number >> 24);
    }
    FILE *file = fopen(below(directory, "big"), "we");
    assert_non_null(file);
    assert_int_equal(fwrite(sent, 1, SIZE, file), SIZE);
    assert_int_equal(fclose(file), 0);
    struct hutch_sandbox *box = box_create("bytes");
    copy_in(box, below(directory, "big"), "/workspace/big");
    box_says(box, "wc -c </workspace/big", "12000017\n");
    copy_out(box, "/workspace/big", below(directory, "back"));
    file = fopen(below(directory, "back"), "re");
    assert_non_null(file);
    assert_int_equal(fread(came, 1, SIZE, file), SIZE);
    assert_int_equal(fgetc(file), EOF);
    assert_int_equal(fclose(file), 0);
    assert_memory_equal(sent, came, SIZE);
    free(sent);
    free(came);
    box_destroy(box);
}

static void archives_go_in_and_out(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    unsigned skipped = 0;
    (void)state;
    const char *directory = contract_directory();
    struct hutch_sandbox *box = box_create("archives");
    box_says(box, "mkdir /workspace/a /workspace/b; echo x >/workspace/a/x", "");
    int archive = open(below(directory, "tar"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(archive >= 0);
    if (hutch_sandbox_pack(box, "/workspace/a", archive, tell_skipped, &skipped, &err) < 0)
        fail_msg("pack: %s", err.msg);
    assert_int_equal(lseek(archive, 0, SEEK_SET), 0);
    if (hutch_sandbox_unpack(box, archive, "/workspace/b", tell_skipped, &skipped, &err) < 0)
        fail_msg("unpack: %s", err.msg);
    assert_int_equal(skipped, 0);
    assert_int_equal(close(archive), 0);
    box_says(box, "cd /workspace/b && cat $(find . -type f)", "x\n");
    box_destroy(box);
}

static void what_is_not_there_is_told(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    unsigned skipped = 0;
    (void)state;
    const char *directory = contract_directory();
    struct hutch_sandbox *box = box_create("nothing");
    assert_int_equal(
        hutch_sandbox_copy_out(box, "/absent", below(directory, "x"), tell_skipped, &skipped, &err),
        -HUTCH_E_NOT_FOUND);
    assert_non_null(strstr(err.msg, "absent"));
    assert_int_equal(hutch_sandbox_copy_in(box, below(directory, "none"), "/tmp/x", tell_skipped,
                                           &skipped, &err),
                     -HUTCH_E_NOT_FOUND);
    assert_false(contract_exists(directory, "x"));
    box_destroy(box);
}

CONTRACT_TABLE(contract_files, TEST(a_tree_goes_in_and_belongs_to_the_sandboxes_user),
               TEST(a_tree_comes_out_and_belongs_to_the_caller),
               TEST(bytes_survive_the_way_in_and_out), TEST(archives_go_in_and_out),
               TEST(what_is_not_there_is_told));
