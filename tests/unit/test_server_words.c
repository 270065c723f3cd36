/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon makes of names and of lines, without a daemon. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "server/line_reader.h"
#include "server/project_name.h"

static void a_project_gets_a_name_that_a_sandbox_may_have(void **state)
{
    static const struct {
        const char *given, *name;
    } rows[] = {
        {"test", "test"},
        {"My Project", "my-project"},
        {"  --x--  ", "x"},
        {"a/b\\c", "a-b-c"},
        {"..hidden", "hidden"},
        {"v1.2_3", "v1.2_3"},
        {"../../etc/passwd", "etc-passwd"},
        {"na\xc3\xafve", "na-ve"},
        {"\xff\xfe", NULL},
        {"", NULL},
        {"---", NULL},
        {"UPPER", "upper"},
        {"new\nline", "new-line"},
    };
    char name[PROJECT_NAME_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(project_name(rows[i].given, name), rows[i].name != NULL);
        assert_string_equal(name, rows[i].name ? rows[i].name : "");
    }
}

static void a_long_project_leaves_room_for_what_makes_it_unique(void **state)
{
    char given[500], name[PROJECT_NAME_BYTES], other[PROJECT_NAME_BYTES];
    (void)state;
    memset(given, 'a', sizeof(given) - 1);
    given[sizeof(given) - 1] = '\0';
    assert_true(project_name(given, name));
    assert_int_equal(strlen(name), 48);
    project_name_with(name, 0xdeadbeef, other);
    assert_int_equal(strlen(other), 57);
    assert_string_equal(other + 48, "-deadbeef");
}

/* What the reader makes of these bytes: index and text of each line, "!" for one that is too long.
 */
static void read_all(const char *data, size_t length, size_t most, char *told, size_t size)
{
    int ends[2];
    size_t used = 0;
    struct line line;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], data, length), length);
    (void)close(ends[1]);
    struct line_reader reader = LINE_READER(ends[0], most);
    told[0] = '\0';
    while (line_reader_next(&reader, &line)) {
        used += (size_t)snprintf(told + used, size - used, "%u:%s;", (unsigned)line.index,
                                 line.text ? line.text : "!");
        assert_int_equal(line.err.code != HUTCH_OK, line.text == NULL);
        free(line.text);
    }
    assert_false(line_reader_next(&reader, &line));
    line_reader_done(&reader);
    (void)close(ends[0]);
}

static void lines_are_counted_and_empty_ones_passed_over(void **state)
{
    static const struct {
        const char *data, *told;
    } rows[] = {
        {"", ""},
        {"\n\n\n", ""},
        {"a", "0:a;"},
        {"a\n", "0:a;"},
        {"a\nb", "0:a;1:b;"},
        {"\n \t\r\na\r\n", "2:a\r;"},
        {"0123456789\n", "0:0123456789;"},
        {"0123456789a\nb\n", "0:!;1:b;"},
        {"a\n0123456789abcdef", "0:a;1:!;"},
    };
    char told[200];
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        read_all(rows[i].data, strlen(rows[i].data), 10, told, sizeof(told));
        assert_string_equal(told, rows[i].told);
    }
}

static void a_line_that_never_ends_is_told_of_once_and_not_kept(void **state)
{
    static char data[60000];
    char told[200];
    (void)state;
    memset(data, 'x', sizeof(data));
    memcpy(data + sizeof(data) - 6, "\nlast\n", 6);
    read_all(data, sizeof(data), 20000, told, sizeof(told));
    assert_string_equal(told, "0:!;1:last;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_project_gets_a_name_that_a_sandbox_may_have),
        cmocka_unit_test(a_long_project_leaves_room_for_what_makes_it_unique),
        cmocka_unit_test(lines_are_counted_and_empty_ones_passed_over),
        cmocka_unit_test(a_line_that_never_ends_is_told_of_once_and_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
