/* SPDX-License-Identifier: Apache-2.0 */
/* The archive streams, piece by piece, and what a changing tree or a full disk does to them. Other
 * programs' and hostile archives are tests/tar's. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tar/head.h"
#include "tar/links.h"
#include "tar/name.h"
#include "tar/number.h"
#include "tar/pax.h"
#include "tar/tar.h"
#include "util/own.h"
#include "util/remove_tree.h"

/* ---- numbers ---- */

static void octal_and_base256_fields_are_read_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        size_t size;
        bool good;
        int64_t value;
    } cases[] = {
        {"0000644\0", 8, true, 0644},
        {"    644 ", 8, true, 0644},
        {"77777777777\0", 12, true, INT64_C(077777777777)},
        {"777777777777", 12, true, INT64_C(0777777777777)},
        {"\0\0\0\0\0\0\0\0", 8, true, 0},
        {"12345 78", 8, true, 012345},
        {"0000648\0", 8, false, 0},
        {"-000001\0", 8, false, 0},
        {"\x80\0\0\0\0\0\0\0\0\0\x01\0", 12, true, 256},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe", 12, true, -2},
        {"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12, true, INT64_MAX},
        {"\x80\0\0\0\x80\0\0\0\0\0\0\0", 12, false, 0},
        {"\xff\xff\xff\xff\x80\0\0\0\0\0\0\0", 12, true, INT64_MIN},
        {"\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff", 12, false, 0},
        {"\x81\0\0\0\0\0\0\0\0\0\0\0", 12, false, 0},
    };
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        int64_t value = 0;
        assert_int_equal(tar_number_read(cases[i].field, cases[i].size, &value), cases[i].good);
        assert_int_equal(value, cases[i].value);
    }
}

static void a_number_that_does_not_fit_is_told(void **state)
{
    (void)state;
    char field[8];
    assert_true(tar_number_write(field, sizeof(field), 07777777));
    assert_string_equal(field, "7777777");
    assert_false(tar_number_write(field, sizeof(field), 010000000));
    assert_string_equal(field, "0000000");
}

static void times_survive_being_written_and_read(void **state)
{
    (void)state;
    static const struct {
        struct timespec time;
        const char *text;
    } cases[] = {
        {{0, 0}, "0"},
        {{1, 5}, "1.000000005"},
        {{-1, 0}, "-1"},
        {{-1, 500000000}, "-0.500000000"},
        {{-2, 500000000}, "-1.500000000"},
        {{INT64_C(1) << 40, 999999999}, "1099511627776.999999999"},
    };
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        char text[TAR_TIME_BYTES];
        struct timespec again;
        tar_time_write(text, &cases[i].time);
        assert_string_equal(text, cases[i].text);
        assert_true(tar_time_read(text, strlen(text), &again));
        assert_int_equal(again.tv_sec, cases[i].time.tv_sec);
        assert_int_equal(again.tv_nsec, cases[i].time.tv_nsec);
    }
}

/* ---- names ---- */

static void names_are_cleaned_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum tar_names names;
        enum tar_what what;
        const char *clean;
    } cases[] = {
        {"a", TAR_NAMES_REFUSE, TAR_FINE, "a"},
        {"./a//b/./c/", TAR_NAMES_REFUSE, TAR_FINE, "a/b/c"},
        {".", TAR_NAMES_REFUSE, TAR_FINE, ""},
        {"..a/b..", TAR_NAMES_REFUSE, TAR_FINE, "..a/b.."},
        {"...", TAR_NAMES_REFUSE, TAR_FINE, "..."},
        {"", TAR_NAMES_REFUSE, TAR_NAME, ""},
        {"/a", TAR_NAMES_REFUSE, TAR_NAME, NULL},
        {"a/..", TAR_NAMES_REFUSE, TAR_NAME, NULL},
        {"/a", TAR_NAMES_RELATIVE, TAR_FINE, "a"},
        {"a/../b", TAR_NAMES_RELATIVE, TAR_FINE, "b"},
        {"../../", TAR_NAMES_RELATIVE, TAR_FINE, ""},
        {"a/b/c/d/e", TAR_NAMES_REFUSE, TAR_TOO_DEEP, NULL},
        {"a/b/c/d", TAR_NAMES_REFUSE, TAR_FINE, "a/b/c/d"},
        {"123456789012345678901", TAR_NAMES_REFUSE, TAR_TOO_LONG, NULL},
    };
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        hutch_cleanup(tar_text_done) struct tar_text name = {0};
        const struct tar_unpack_options options = {
            .names = cases[i].names, .max_depth = 4, .max_name_bytes = 20};
        assert_int_equal(tar_text_set(&name, cases[i].name, strlen(cases[i].name)), 0);
        assert_int_equal(tar_name_clean(&name, &options), cases[i].what);
        if (cases[i].clean)
            assert_string_equal(name.data, cases[i].clean);
    }
}

/* ---- pax records ---- */

static void a_record_counts_its_own_digits(void **state)
{
    (void)state;
    for (size_t length = 101; length < 1200; length++) {
        char name[1200];
        memset(name, 'n', length);
        name[length] = '\0';
        hutch_cleanup(tar_text_done) struct tar_text records = {0};
        hutch_cleanup(tar_pax_done) struct tar_pax pax = {0};
        hutch_autofd int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        hutch_cleanup(tar_out_done) struct tar_out out = {0};
        assert_int_equal(tar_out_init(&out, nowhere, NULL, NULL), 0);
        const struct tar_head head = {.type = TAR_TYPE_FILE, .name = name};
        assert_int_equal(tar_head_write(&out, &head, &records), 0);
        assert_int_equal(tar_pax_read(&pax, &records, false), 0);
        assert_string_equal(pax.path.data, name);
    }
}

static void the_last_record_counts_and_an_empty_one_takes_back(void **state)
{
    (void)state;
    static const char text[] = "8 uid=1\n8 uid=2\n8 gid=3\n7 gid=\n";
    struct tar_text records = {.data = (char *)(uintptr_t)text, .length = sizeof(text) - 1};
    struct tar_pax pax = {0};
    assert_int_equal(tar_pax_read(&pax, &records, false), 0);
    assert_true(tar_pax_has(&pax, TAR_PAX_UID));
    assert_int_equal(pax.uid, 2);
    assert_false(tar_pax_has(&pax, TAR_PAX_GID));
}

/* ---- hard links ---- */

static void many_inodes_are_found_again(void **state)
{
    (void)state;
    hutch_cleanup(tar_links_done) struct tar_links links = {0};
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < 5000; i++) {
            char name[16];
            const struct stat info = {.st_dev = i % 3, .st_ino = i / 3};
            struct tar_text text = {.data = name, .length = (size_t)snprintf(name, 16, "%u", i)};
            const char *found = tar_links_find_or_add(&links, &info, &text);
            if (pass)
                assert_string_equal(found, name);
            else
                assert_null(found);
        }
}

/* ---- whole streams ---- */

static char home[64];

static int enter_home(void **state)
{
    (void)state;
    (void)snprintf(home, sizeof(home), "/tmp/hutch-test-tar-XXXXXX");
    (void)signal(SIGPIPE, SIG_IGN);
    return mkdtemp(home) && chdir(home) == 0 ? 0 : -1;
}

static int leave_home(void **state)
{
    (void)state;
    return chdir("/") == 0 && remove_tree(AT_FDCWD, home) == 0 ? 0 : -1;
}

static void write_file(const char *path, const char *text)
{
    hutch_autofd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static int archive_of(const char *path, const struct tar_pack_options *wanted)
{
    struct tar_pack_options options = *wanted;
    struct tar_failure failure = {0};
    int fd = open("archive", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    options.dir = AT_FDCWD;
    options.path = path;
    if (tar_pack(&options, fd, &failure) < 0)
        fail_msg("%s '%s' %d", tar_failure_text(failure.what), failure.path, failure.os_errno);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void unpack_into(const char *target, int archive, struct tar_unpack_options options)
{
    struct tar_failure failure = {0};
    assert_int_equal(mkdir(target, 0755), 0);
    hutch_autofd int dir = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    options.dir = dir;
    if (tar_unpack(&options, archive, &failure) < 0)
        fail_msg("%s '%s' %d", tar_failure_text(failure.what), failure.path, failure.os_errno);
}

/* The callback runs between a header's making and its content, which is the moment to change the
 * file. */
static void shrink_file(void *context, uid_t *uid, gid_t *gid)
{
    (void)uid;
    (void)gid;
    assert_int_equal(truncate(context, 3), 0);
}

static void grow_file(void *context, uid_t *uid, gid_t *gid)
{
    (void)uid;
    (void)gid;
    assert_int_equal(truncate(context, 1 << 20), 0);
}

static void check_changing(tar_map_owner *change, const char *target, const char *content)
{
    char path[64], text[64] = {0};
    write_file("changing", "0123456789");
    const struct tar_pack_options options = {.map_owner = change,
                                             .context = (void *)(uintptr_t) "changing"};
    hutch_autofd int archive = archive_of("changing", &options);
    unpack_into(target, archive, (struct tar_unpack_options){0});
    (void)snprintf(path, sizeof(path), "%s/changing", target);
    hutch_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof(text)), 10);
    assert_memory_equal(text, content, 10);
}

static void a_file_that_shrinks_is_filled_with_zeros(void **state)
{
    (void)state;
    check_changing(shrink_file, "shrunk", "012\0\0\0\0\0\0\0");
}

static void a_file_that_grows_is_cut(void **state)
{
    (void)state;
    check_changing(grow_file, "grown", "0123456789");
}

static void map_to_own(void *context, uid_t *uid, gid_t *gid)
{
    unsigned *calls = context;
    ++*calls;
    assert_int_equal(*uid, 7000000);
    assert_int_equal(*gid, 8000000);
    *uid = getuid();
    *gid = getgid();
}

static void map_to_large(void *context, uid_t *uid, gid_t *gid)
{
    (void)context;
    *uid = 7000000;
    *gid = 8000000;
}

static void owners_are_mapped_on_both_sides(void **state)
{
    (void)state;
    unsigned calls = 0;
    struct stat info;
    write_file("owned", "x");
    const struct tar_pack_options options = {.map_owner = map_to_large};
    hutch_autofd int archive = archive_of("owned", &options);
    unpack_into("mapped", archive,
                (struct tar_unpack_options){.map_owner = map_to_own, .context = &calls});
    assert_int_equal(calls, 1);
    assert_int_equal(stat("mapped/owned", &info), 0);
    assert_int_equal(info.st_uid, getuid());
}

static void a_reader_that_goes_away_is_a_failure(void **state)
{
    (void)state;
    int ends[2];
    struct tar_failure failure = {0};
    write_file("lost", "x");
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)close(ends[0]);
    const struct tar_pack_options options = {.dir = AT_FDCWD, .path = "lost"};
    assert_int_equal(tar_pack(&options, ends[1], &failure), -1);
    assert_int_equal(failure.what, TAR_STREAM);
    assert_int_equal(failure.os_errno, EPIPE);
    (void)close(ends[1]);
}

/* file is the archive's last entry, and of less than a block. */
static void check_half(const char *tree, const char *file, const char *target)
{
    struct tar_failure failure = {0};
    const struct tar_pack_options options = {0};
    hutch_autofd int archive = archive_of(tree, &options);
    off_t end = lseek(archive, 0, SEEK_END); /* the content's block, and two of the end mark */
    assert_int_equal(ftruncate(archive, end - (off_t)(TAR_BLOCK + TAR_BLOCK + TAR_BLOCK) + 4), 0);
    assert_int_equal(lseek(archive, 0, SEEK_SET), 0);
    assert_int_equal(mkdir(target, 0755), 0);
    hutch_autofd int dir = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct tar_unpack_options into = {.dir = dir};
    assert_int_equal(tar_unpack(&into, archive, &failure), -1);
    assert_int_equal(failure.what, TAR_TRUNCATED);
    assert_int_equal(faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW), -1);
    assert_int_equal(errno, ENOENT);
}

/* As a draft, and in a directory that the copy has made. */
static void half_a_file_leaves_nothing_behind(void **state)
{
    (void)state;
    write_file("cut", "0123456789");
    check_half("cut", "cut", "cut.out");
    assert_int_equal(mkdir("cuts", 0755), 0);
    write_file("cuts/cut", "0123456789");
    check_half("cuts", "cuts/cut", "cuts.out");
}

/* ---- destinations ---- */

static void check_destination(const char *path, const char *name, ino_t inode)
{
    struct tar_destination found;
    struct tar_failure failure = {0};
    struct stat info;
    assert_int_equal(tar_destination_open(AT_FDCWD, path, "source", &found, &failure), 0);
    assert_string_equal(found.name, name);
    assert_int_equal(fstat(found.fd, &info), 0);
    assert_int_equal(info.st_ino, inode);
    (void)close(found.fd);
}

static void a_destination_is_a_directory_or_a_new_name(void **state)
{
    (void)state;
    struct tar_destination found;
    struct tar_failure failure = {0};
    struct stat here, inside;
    assert_int_equal(mkdir("place", 0755), 0);
    write_file("file", "x");
    assert_int_equal(symlink("place", "to_place"), 0);
    assert_int_equal(stat(".", &here), 0);
    assert_int_equal(stat("place", &inside), 0);
    check_destination("place", "source", inside.st_ino);
    check_destination("place/", "source", inside.st_ino);
    check_destination("to_place", "source", inside.st_ino);
    check_destination("new", "new", here.st_ino);
    check_destination("file", "file", here.st_ino);
    check_destination("place/new", "new", inside.st_ino);
    assert_int_equal(tar_destination_open(AT_FDCWD, "new/", "source", &found, &failure), -1);
    assert_int_equal(failure.os_errno, ENOENT);
    assert_int_equal(tar_destination_open(AT_FDCWD, "new/name", "source", &found, &failure), -1);
    assert_int_equal(tar_destination_open(AT_FDCWD, "file/name", "source", &found, &failure), -1);
    assert_int_equal(tar_destination_open(AT_FDCWD, "place", "..", &found, &failure), -1);
    assert_int_equal(failure.what, TAR_NAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(octal_and_base256_fields_are_read_exactly),
        cmocka_unit_test(a_number_that_does_not_fit_is_told),
        cmocka_unit_test(times_survive_being_written_and_read),
        cmocka_unit_test(names_are_cleaned_or_refused),
        cmocka_unit_test(a_record_counts_its_own_digits),
        cmocka_unit_test(the_last_record_counts_and_an_empty_one_takes_back),
        cmocka_unit_test(many_inodes_are_found_again),
        cmocka_unit_test(a_file_that_shrinks_is_filled_with_zeros),
        cmocka_unit_test(a_file_that_grows_is_cut),
        cmocka_unit_test(owners_are_mapped_on_both_sides),
        cmocka_unit_test(a_reader_that_goes_away_is_a_failure),
        cmocka_unit_test(half_a_file_leaves_nothing_behind),
        cmocka_unit_test(a_destination_is_a_directory_or_a_new_name),
    };
    return cmocka_run_group_tests(tests, enter_home, leave_home);
}
