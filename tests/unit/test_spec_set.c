/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "core/map.h"
#include "core/spec.h"

static int setup(void **state)
{
    struct hutch_spec *spec = NULL;
    struct hutch_error err;
    int r = hutch_spec_new(&spec, &err);
    *state = spec;
    return r;
}

static int teardown(void **state)
{
    hutch_spec_free(*state);
    return 0;
}

static void set(struct hutch_spec *spec, const char *field, const char *text)
{
    struct hutch_error err;
    assert_fine(hutch_spec_set(spec, field, text, &err), &err);
}

static void defaults_are_the_documented_ones(void **state)
{
    const struct hutch_spec *spec = *state;
    assert_int_equal(spec->limits.memory_bytes, UINT64_C(512) << 20);
    assert_int_equal(spec->limits.cpus_milli, 1000);
    assert_int_equal(spec->limits.pids, 256);
    assert_int_equal(spec->limits.disk_bytes, UINT64_C(256) << 20);
    assert_int_equal(spec->limits.inodes, 100000);
    assert_int_equal(spec->limits.timeout_ms, 300000);
    assert_int_equal(spec->limits.idle_timeout_ms, 0);
    assert_int_equal(spec->limits.output_bytes, 1 << 20);
    assert_int_equal(spec->limits.output_max_bytes, 0);
    assert_int_equal(spec->limits.open_files, 1024);
    assert_string_equal(spec->backend, "native");
    assert_string_equal(spec->hostname, "hutch");
    assert_null(spec->name);
    assert_null(spec->workspace.path);
    assert_int_equal(spec->set_fields, 0);
}

static void the_last_of_two_scalars_wins(void **state)
{
    struct hutch_spec *spec = *state;
    set(spec, "limits.memory", "1g");
    set(spec, "limits.memory", "64m");
    assert_int_equal(spec->limits.memory_bytes, UINT64_C(64) << 20);
    set(spec, "name", "a");
    set(spec, "name", "b");
    assert_string_equal(spec->name, "b");
    set(spec, "workspace", "/a:ro");
    set(spec, "workspace", "/b");
    assert_string_equal(spec->workspace.path, "/b");
    assert_int_equal(spec->workspace.mode, HUTCH_WORKSPACE_RW);
}

static void a_refused_value_changes_nothing(void **state)
{
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    set(spec, "limits.timeout", "5s");
    set(spec, "name", "kept");
    set(spec, "mounts", "/a:/b");
    set(spec, "env", "A=1");
    uint64_t before = spec->set_fields;
    assert_refused(hutch_spec_set(spec, "limits.timeout", "31d", &err), &err,
                   "limits.timeout: '31d' is too much, the most is '30d'");
    assert_int_equal(spec->limits.timeout_ms, 5000);
    assert_int_equal(hutch_spec_set(spec, "name", "NOT", &err), -HUTCH_E_INVALID);
    assert_string_equal(spec->name, "kept");
    assert_int_equal(hutch_spec_set(spec, "mounts", "/a", &err), -HUTCH_E_INVALID);
    assert_int_equal(spec->mounts.count, 1);
    assert_int_equal(hutch_spec_set(spec, "env", "B", &err), -HUTCH_E_INVALID);
    assert_int_equal(spec->env.count, 1);
    assert_int_equal(hutch_spec_set(spec, "limits.pids", "0", &err), -HUTCH_E_INVALID);
    assert_int_equal(spec->set_fields, before);
}

static void what_was_given_is_known(void **state)
{
    struct hutch_spec *spec = *state;
    assert_false(hutch_spec_is_set(spec, "limits.memory"));
    set(spec, "limits.memory", "512m"); /* the same as the default, but asked for */
    assert_true(hutch_spec_is_set(spec, "limits.memory"));
    assert_false(hutch_spec_is_set(spec, "limits.pids"));
    assert_false(hutch_spec_is_set(spec, "no such field"));
    set(spec, "env", "A=1");
    assert_true(hutch_spec_is_set(spec, "env"));
}

static void lists_and_maps_grow(void **state)
{
    struct hutch_spec *spec = *state;
    set(spec, "env", "A=1");
    set(spec, "env", "B=x=y");
    set(spec, "env", "A=");
    assert_int_equal(spec->env.count, 2);
    assert_string_equal(hutch_map_get(&spec->env, "A"), "");
    assert_string_equal(hutch_map_get(&spec->env, "B"), "x=y");
    set(spec, "labels", "team=a");
    set(spec, "labels", "team=b");
    assert_string_equal(hutch_map_get(&spec->labels, "team"), "b");
    set(spec, "pass_env", "LANG");
    set(spec, "pass_env", "TERM");
    assert_int_equal(spec->pass_env.count, 2);
    set(spec, "allow_missing", "memory");
    set(spec, "allow_missing", "all");
    assert_int_equal(spec->allow_missing.count, 2);
    set(spec, "command", "echo");
    set(spec, "command", "");
    assert_int_equal(spec->command.count, 2);
    assert_null(spec->command.items[2]);
}

static void a_command_replaces_the_one_before(void **state)
{
    static const char *const argv[] = {"echo", "", "x y"};
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    set(spec, "command", "old");
    assert_fine(hutch_spec_set_command(spec, 3, argv, &err), &err);
    assert_int_equal(spec->command.count, 3);
    assert_string_equal(spec->command.items[2], "x y");
    assert_true(hutch_spec_is_set(spec, "command"));
    assert_fine(hutch_spec_set_command(spec, 0, NULL, &err), &err);
    assert_int_equal(spec->command.count, 0);
}

static void a_workspace_has_a_mode(void **state)
{
    static const struct {
        const char *text, *path;
        enum hutch_workspace_mode mode;
    } cases[] = {
        {".", ".", HUTCH_WORKSPACE_RW},          {"/a:ro", "/a", HUTCH_WORKSPACE_RO},
        {"/a:rw", "/a", HUTCH_WORKSPACE_RW},     {"/a:overlay", "/a", HUTCH_WORKSPACE_OVERLAY},
        {"/a:copy", "/a", HUTCH_WORKSPACE_COPY}, {"/a:b:copy", "/a:b", HUTCH_WORKSPACE_COPY},
        {"ro", "ro", HUTCH_WORKSPACE_RW},
    };
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set(spec, "workspace", cases[i].text);
        assert_string_equal(spec->workspace.path, cases[i].path);
        assert_int_equal(spec->workspace.mode, cases[i].mode);
    }
    assert_refused(hutch_spec_set(spec, "workspace", "/a:b", &err), &err,
                   "workspace: 'b' is not a mode, write ro, rw, overlay or copy (a path that has a "
                   "':' takes a mode after it, such as 'a:b:rw')");
    assert_int_equal(hutch_spec_set(spec, "workspace", ":ro", &err), -HUTCH_E_INVALID);
    assert_int_equal(hutch_spec_set(spec, "workspace", "", &err), -HUTCH_E_INVALID);
    assert_int_equal(hutch_spec_set(spec, "workspace", "/a:", &err), -HUTCH_E_INVALID);
}

static void a_mount_is_source_target_and_mode(void **state)
{
    static const struct {
        const char *text, *source, *target;
        bool read_only;
    } good[] = {
        {"/a:/b", "/a", "/b", false},     {"/a:/b:ro", "/a", "/b", true},
        {"/a:/b:rw", "/a", "/b", false},  {"./a:/b/c///", "./a", "/b/c", false},
        {"a:b:/c:ro", "a:b", "/c", true}, {"/a:ro:/b", "/a:ro", "/b", false},
        {"ro:/ro:ro", "ro", "/ro", true}, {"/a:/", "/a", "/", false},
    };
    static const char *const bad[] = {"",      ":",   "/a",     "/a:",      ":/b",    "/a:b",
                                      "/a:ro", ":ro", "/a:/b:", "/a:/b:xx", ":/b:ro", "ro"};
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        set(spec, "mounts", good[i].text);
        const struct hutch_mount *mount = &spec->mounts.items[i];
        assert_string_equal(mount->source, good[i].source);
        assert_string_equal(mount->target, good[i].target);
        assert_int_equal(mount->read_only, good[i].read_only);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (hutch_spec_set(spec, "mounts", bad[i], &err) != -HUTCH_E_INVALID)
            fail_msg("'%s' is taken", bad[i]);
    assert_refused(hutch_spec_set(spec, "mounts", "/a", &err), &err,
                   "mounts: '/a' is not a mount, write it like '/srv/data:/data' or "
                   "'/srv/data:/data:ro'");
}

static void a_tmpfs_is_never_without_a_size(void **state)
{
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    set(spec, "tmpfs", "/scratch/");
    set(spec, "tmpfs", "/b:1g");
    assert_string_equal(spec->tmpfs.items[0].target, "/scratch");
    assert_int_equal(spec->tmpfs.items[0].size_bytes, UINT64_C(64) << 20);
    assert_int_equal(spec->tmpfs.items[1].size_bytes, UINT64_C(1) << 30);
    assert_refused(hutch_spec_set(spec, "tmpfs", "/c:0", &err), &err,
                   "tmpfs: '0' is too little, the least is '4k'");
    assert_refused(hutch_spec_set(spec, "tmpfs", "c", &err), &err,
                   "tmpfs: 'c' is not a tmpfs, write it like '/scratch' or '/scratch:128m'");
    assert_int_equal(hutch_spec_set(spec, "tmpfs", "/c:", &err), -HUTCH_E_INVALID);
    assert_int_equal(hutch_spec_set(spec, "tmpfs", ":1m", &err), -HUTCH_E_INVALID);
    assert_int_equal(spec->tmpfs.count, 2);
}

static void limits_have_bounds(void **state)
{
    static const char *const cases[][3] = {
        /* the least, the most, and one beyond */
        {"limits.memory", "4m", "1024t"},      {"limits.cpus", "0.01", "4096"},
        {"limits.pids", "1", "4194304"},       {"limits.disk", "1m", "1024t"},
        {"limits.inodes", "64", "4294967295"}, {"limits.timeout", "1ms", "30d"},
        {"limits.idle_timeout", "1ms", "30d"}, {"limits.output", "0", "1g"},
        {"limits.output_max", "1", "1024t"},   {"limits.open_files", "8", "1048576"},
    };
    static const char *const beyond[][3] = {
        {"limits.memory", "4095k", "1025t"},   {"limits.cpus", "0.009", "4096.001"},
        {"limits.pids", "0", "4194305"},       {"limits.disk", "1023k", "1025t"},
        {"limits.inodes", "63", "4294967296"}, {"limits.timeout", "0", "31d"},
        {"limits.output", "-1", "1025m"},      {"limits.open_files", "7", "1048577"},
    };
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set(spec, cases[i][0], cases[i][1]);
        set(spec, cases[i][0], cases[i][2]);
    }
    for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++)
        for (size_t k = 1; k < 3; k++)
            if (hutch_spec_set(spec, beyond[i][0], beyond[i][k], &err) != -HUTCH_E_INVALID)
                fail_msg("%s '%s' is taken", beyond[i][0], beyond[i][k]);
}

static void only_some_limits_may_be_none(void **state)
{
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    set(spec, "limits.idle_timeout", "5s");
    set(spec, "limits.idle_timeout", "none");
    assert_int_equal(spec->limits.idle_timeout_ms, 0);
    assert_true(hutch_spec_is_set(spec, "limits.idle_timeout"));
    set(spec, "limits.output_max", "1m");
    set(spec, "limits.output_max", "0");
    assert_int_equal(spec->limits.output_max_bytes, 0);
    assert_int_equal(hutch_spec_set(spec, "limits.memory", "none", &err), -HUTCH_E_INVALID);
    assert_int_equal(hutch_spec_set(spec, "limits.timeout", "none", &err), -HUTCH_E_INVALID);
}

static void messages_name_the_field_and_the_remedy(void **state)
{
    static const char *const cases[][3] = {
        {"env", "PATH",
         "env: 'PATH' has no value, write it like 'KEY=value', or name it under pass_env to pass "
         "the caller's own"},
        {"env", "=1", "env: '' is not a key, write it like 'LANG'"},
        {"labels", "team", "labels: 'team' has no value, write it like 'KEY=value'"},
        {"labels", "team=red\nblue",
         "labels: a label has a control character after 'red', leave it out"},
        {"labels", "te\tam=red",
         "labels: a label has a control character after 'te', leave it out"},
        {"labels", "team=\x7f", "labels: a label has a control character after '', leave it out"},
        {"labels", "team=a\xc2\x9bm",
         "labels: a label has a control character after 'a', leave it out"},
        {"labels", "team=\xff",
         "labels: a label is not UTF-8, write it in letters such as 'team=red'"},
        {"pass_env", "A=1", "pass_env: 'A=1' is not a key, leave out the '=' and what follows"},
        {"allow_missing", "ram",
         "allow_missing: unknown limit 'ram', write one of memory, cpus, pids, disk, inodes, "
         "timeout, idle_timeout, output, open_files, groups, egress, read_only, or all"},
        {"workdir", "src",
         "workdir: 'src' is not an absolute path without '.', '..' and '//', write it like "
         "'/workspace/src'"},
        {"workdir", "/proc/self/cwd",
         "workdir: '/proc/self/cwd' lies in /proc, choose another directory, such as '/workspace'"},
        {"rootfs", "", "rootfs: '' is not a path, write it like '/srv/data' or './data'"},
        {"image", "a b",
         "image: 'a b' is not the name of an image, write it like 'python:3.11-slim' or "
         "'ghcr.io/owner/name@sha256:...'"},
        {"isolation", "vm",
         "isolation: 'vm' is not a level of isolation, write 'namespaces', 'container' or "
         "'gvisor'"},
        {"pull", "now", "pull: 'now' is not when to pull, write 'always', 'missing' or 'never'"},
        {"user", "70000", "user: '70000' has an id above 65535, the largest there is in a sandbox"},
        {"limits.memroy", "1g", "unknown field 'limits.memroy', did you mean 'limits.memory'?"},
    };
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_refused(hutch_spec_set(spec, cases[i][0], cases[i][1], &err), &err, cases[i][2]);
}

static void lists_have_a_most(void **state)
{
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    for (unsigned i = 0; i < 256; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "/a:/m%u", i);
        set(spec, "mounts", text);
        (void)snprintf(text, sizeof(text), "k%u=v", i);
        set(spec, "labels", text);
    }
    assert_refused(hutch_spec_set(spec, "mounts", "/a:/b", &err), &err,
                   "mounts: more than 256 entries, remove some");
    assert_refused(hutch_spec_set(spec, "labels", "one=more", &err), &err,
                   "labels: more than 256 entries, remove some");
    set(spec, "labels", "k0=changed");
    for (unsigned i = 0; i < 64; i++)
        set(spec, "env_files", "x.env");
    assert_refused(hutch_spec_set(spec, "env_files", "y.env", &err), &err,
                   "env_files: more than 64 entries, remove some");
}

/* The caller may not care why. */
static void an_error_argument_is_not_needed(void **state)
{
    struct hutch_spec *spec = *state;
    assert_true(hutch_spec_set(spec, "limits.memory", "x", NULL) < 0);
    assert_true(hutch_spec_set(spec, "nope", "x", NULL) < 0);
    assert_true(hutch_spec_parse(spec, "{\"mounts\": [1]}", 15, HUTCH_FORMAT_JSON, NULL) < 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(defaults_are_the_documented_ones),
        TEST(the_last_of_two_scalars_wins),
        TEST(a_refused_value_changes_nothing),
        TEST(what_was_given_is_known),
        TEST(lists_and_maps_grow),
        TEST(a_command_replaces_the_one_before),
        TEST(a_workspace_has_a_mode),
        TEST(a_mount_is_source_target_and_mode),
        TEST(a_tmpfs_is_never_without_a_size),
        TEST(limits_have_bounds),
        TEST(only_some_limits_may_be_none),
        TEST(messages_name_the_field_and_the_remedy),
        TEST(lists_have_a_most),
        TEST(an_error_argument_is_not_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
