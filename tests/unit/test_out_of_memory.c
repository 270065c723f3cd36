/* SPDX-License-Identifier: Apache-2.0 */
/* Fails the first allocation, then the second, and so on until the work gets by without one that
 * fails. Whatever fails, the answer is "out of memory" and nothing leaks. The linker's --wrap sends
 * hutch's own allocations here; libyaml's cannot be reached. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/env_file.h"
#include "core/json_in.h"
#include "core/result.h"
#include "core/spec.h"
#include "store/apply.h"
#include "store/changes.h"
#include "store/treediff.h"
#include "util/own.h"

static long allocations_left = -1; /* negative: no end to them */

static bool exhausted(void)
{
    if (allocations_left < 0)
        return false;
    if (!allocations_left) {
        errno = ENOMEM; /* as the real ones do */
        return true;
    }
    allocations_left--;
    return false;
}

#define WRAP(type, name, parameters, arguments)              \
    type __real_##name parameters;                           \
    type __wrap_##name parameters;                           \
    type __wrap_##name parameters                            \
    {                                                        \
        return exhausted() ? NULL : __real_##name arguments; \
    }

WRAP(void *, malloc, (size_t size), (size))
WRAP(void *, calloc, (size_t count, size_t size), (count, size))
WRAP(void *, realloc, (void *old, size_t size), (old, size))
WRAP(void *, reallocarray, (void *old, size_t count, size_t size), (old, count, size))
WRAP(char *, strdup, (const char *text), (text))
WRAP(char *, strndup, (const char *text, size_t length), (text, length))

/* Runs the work with 0, 1, 2... allocations until it succeeds. Returns how many it took. */
static long torture(int (*work)(struct hutch_error *err))
{
    for (long granted = 0; granted < 10000; granted++) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        allocations_left = granted;
        int r = work(&err);
        allocations_left = -1;
        if (r == 0)
            return granted;
        if (r != -HUTCH_E_NO_MEMORY)
            fail_msg("with %ld allocations: %d '%s'", granted, r, err.msg);
    }
    fail_msg("it never succeeds");
    return -1;
}

static const char document[] =
    "{\"command\": [\"a\", \"b\"], \"name\": \"n\", \"user\": 7, \"workspace\": \"/a:ro\","
    " \"mounts\": [\"/a:/b\", {\"source\": \"/c\", \"target\": \"/d\"}],"
    " \"tmpfs\": [\"/t\", {\"target\": \"/u\", \"size\": \"1m\"}],"
    " \"env\": {\"B\": \"2\", \"A\": \"1\"}, \"limits\": {\"memory\": \"1g\", \"cpus\": 1.5}}";

static int parse_and_write(enum hutch_format format, struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    hutch_autofree char *json = NULL;
    int r = hutch_spec_new(&spec, err);
    if (r >= 0)
        r = hutch_spec_parse(spec, document, sizeof(document) - 1, format, err);
    if (r >= 0)
        r = hutch_spec_to_json(spec, &json, err);
    free(HUTCH_TAKE_PTR(json));
    if (r >= 0)
        r = hutch_spec_to_json_set(spec, &json, err);
    hutch_spec_free(spec);
    return r;
}

static int work_json(struct hutch_error *err)
{
    return parse_and_write(HUTCH_FORMAT_JSON, err);
}

static int work_yaml(struct hutch_error *err)
{
    return parse_and_write(HUTCH_FORMAT_YAML, err);
}

/* What was read until the memory ran out is released, at every depth. */
static int work_tree(struct hutch_error *err)
{
    static const char text[] = "[{\"a\": [\"b\\n\", {\"c\": {}, \"d\": [1.5, []], \"e\": \"\"}]}, "
                               "\"f\", [true, null, \"g\"], {\"h\": \"i\", \"j\": 1}]";
    struct hutch_value tree = {0};
    int r = hutch_json_parse(text, sizeof(text) - 1, &tree, err);
    hutch_value_done(&tree);
    return r;
}

static int work_set(struct hutch_error *err)
{
    static const char *const settings[][2] = {
        {"name", "n"},       {"env", "A=1"},       {"env", "A=2"},     {"labels", "k=v"},
        {"mounts", "/a:/b"}, {"tmpfs", "/t:1m"},   {"workspace", "."}, {"pass_env", "X"},
        {"workdir", "/a/"},  {"limits.cpus", "2"},
    };
    static const char *const argv[] = {"a", "b"};
    struct hutch_spec *spec = NULL;
    int r = hutch_spec_new(&spec, err);
    for (size_t i = 0; r >= 0 && i < HUTCH_COUNT(settings); i++)
        r = hutch_spec_set(spec, settings[i][0], settings[i][1], err);
    if (r >= 0)
        r = hutch_spec_set_command(spec, 2, argv, err);
    hutch_spec_free(spec);
    return r;
}

static int work_env_file(struct hutch_error *err)
{
    static const char text[] = "A=1\nB=2\nA=3\n";
    struct hutch_map map = {0};
    int r = hutch_env_file_parse(text, sizeof(text) - 1, &map, err);
    hutch_map_done(&map);
    return r;
}

static int work_result(struct hutch_error *err)
{
    struct hutch_result_owned *owned = hutch_result_new();
    hutch_autofree char *json = NULL;
    if (!owned)
        return -HUTCH_E_NO_MEMORY;
    owned->result.out = (struct hutch_output){"a\xC3z", 3, 2, 9, 6};
    int r = hutch_result_to_json(&owned->result, &json, NULL, err);
    hutch_result_free(&owned->result);
    return r;
}

/* ---- a sandbox's changes: a directory over an empty one ---- */

static int layers[2] = {-1, -1};

static int ignore_change(void *context, const struct hutch_change *change, struct hutch_error *err)
{
    (void)context;
    (void)change;
    (void)err;
    return 0;
}

static int ignore_text(void *context, const char *text, size_t length, struct hutch_error *err)
{
    (void)context;
    (void)text;
    (void)length;
    (void)err;
    return 0;
}

static int work_changes(struct hutch_error *err)
{
    static const char *const skeleton[] = {"b"};
    int r = hutch_changes(layers[0], layers[1], NULL, ignore_change, NULL, err);
    if (r >= 0)
        r = hutch_changes_in_layer(layers[0], skeleton, 1, ignore_change, NULL, err);
    return r;
}

static int work_patch(struct hutch_error *err)
{
    return hutch_treediff(layers[0], layers[1], ignore_text, NULL, err);
}

/* Nothing is written, or the second time would have less to do. */
static int work_apply(struct hutch_error *err)
{
    struct hutch_apply_options options = {.dry_run = true};
    return hutch_apply(layers[0], layers[1], &options, NULL, err);
}

static void write_text(int dir, const char *name, const char *text)
{
    hutch_autofd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void a_sandboxs_changes(void **state)
{
    char home[] = "/var/tmp/hutch-memory-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(home));
    hutch_autofd int top = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    static const char *const names[] = {"upper", "lower"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mkdirat(top, names[i], 0755), 0);
        layers[i] = openat(top, names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    write_text(layers[0], "a", "1\n2\n3\n");
    write_text(layers[1], "a", "2\n1\n3\n");
    assert_int_equal(mkdirat(layers[0], "b", 0755), 0);
    assert_int_equal(symlinkat("x", layers[0], "b/link"), 0);
    long changes = torture(work_changes), patch = torture(work_patch);
    long apply = torture(work_apply);
    for (int i = 0; i < 2; i++)
        hutch_fd_close(&layers[i]);
    static const char *const gone[] = {"upper/a", "upper/b/link", "upper/b",
                                       "upper",   "lower/a",      "lower"};
    for (size_t i = 0; i < HUTCH_COUNT(gone); i++)
        if (unlinkat(top, gone[i], 0) < 0)
            assert_int_equal(unlinkat(top, gone[i], AT_REMOVEDIR), 0);
    assert_int_equal(rmdir(home), 0);
    assert_true(changes > 5 && patch > 15 && apply > 5);
}

static void a_spec_from_json(void **state)
{
    (void)state;
    assert_true(torture(work_json) > 20);
}

static void a_tree_from_json(void **state)
{
    (void)state;
    assert_true(torture(work_tree) > 20);
}

static void a_spec_from_yaml(void **state)
{
    (void)state;
    assert_true(torture(work_yaml) > 20);
}

static void a_spec_from_flags(void **state)
{
    (void)state;
    assert_true(torture(work_set) > 10);
}

static void an_environment_file(void **state)
{
    (void)state;
    assert_true(torture(work_env_file) > 2);
}

static void a_result_as_json(void **state)
{
    (void)state;
    assert_true(torture(work_result) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spec_from_json),    cmocka_unit_test(a_tree_from_json),
        cmocka_unit_test(a_spec_from_yaml),    cmocka_unit_test(a_spec_from_flags),
        cmocka_unit_test(an_environment_file), cmocka_unit_test(a_result_as_json),
        cmocka_unit_test(a_spec_from_json),    cmocka_unit_test(a_spec_from_yaml),
        cmocka_unit_test(a_spec_from_flags),   cmocka_unit_test(an_environment_file),
        cmocka_unit_test(a_result_as_json),    cmocka_unit_test(a_sandboxs_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
