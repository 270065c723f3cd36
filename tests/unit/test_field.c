/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "core/field.h"

static void names_and_flags_are_unique(void **state)
{
    size_t count;
    const struct hutch_field *fields = hutch_fields(&count);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(fields[i].name, fields[k].name);
            if (fields[i].flag && fields[k].flag)
                assert_string_not_equal(fields[i].flag, fields[k].flag);
            if (fields[i].short_flag)
                assert_int_not_equal(fields[i].short_flag, fields[k].short_flag);
        }
    }
}

static void every_row_tells_what_help_needs(void **state)
{
    size_t count;
    const struct hutch_field *fields = hutch_fields(&count);
    (void)state;
    assert_int_equal(count, hutch_field_count());
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(fields[i].name, hutch_field_row(i)->name);
        /* a switch takes no value */
        assert_true(hutch_field_row(i)->type == HUTCH_TYPE_SWITCH
                        ? !fields[i].metavar
                        : fields[i].metavar && *fields[i].metavar);
        assert_true(fields[i].doc[strlen(fields[i].doc) - 1] == '.');
        /* what only the operator gives has no flag */
        assert_true(fields[i].flag ? fields[i].uses != 0
                                   : !fields[i].uses || !strcmp(fields[i].name, "command"));
    }
}

/* Documents that hutch writes open each group once. */
static void fields_of_a_group_are_neighbours(void **state)
{
    size_t count;
    const struct hutch_field *fields = hutch_fields(&count);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        size_t group = strcspn(fields[i].name, ".") + 1;
        bool is_open = i > 0 && !strncmp(fields[i - 1].name, fields[i].name, group);
        if (!strchr(fields[i].name, '.') || is_open)
            continue;
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(strncmp(fields[k].name, fields[i].name, group), 0);
    }
}

static void every_slot_of_every_type_is_filled(void **state)
{
    (void)state;
    for (size_t i = 0; i < HUTCH_TYPES; i++) {
        const struct hutch_field_type *type = &hutch_field_types[i];
        assert_true(type->slot_size > 0);
        assert_true(type->add_text && type->read && type->write && type->done && type->check);
    }
}

static void the_command_lines_flags_are_the_promised_ones(void **state)
{
    static const char *const flags[] = {
        "name",         "backend",      "runtime",       "isolation",
        "rootfs",       "image",        "pull",          "entrypoint",
        "hostname",     "user",         "workdir",       "artifacts",
        "workspace",    "mount",        "tmpfs",         "read-only",
        "env",          "pass-env",     "env-file",      "secret",
        "redact",       "label",        "allow-missing", "memory",
        "cpus",         "pids",         "disk",          "inodes",
        "timeout",      "idle-timeout", "output-limit",  "output-max",
        "open-files",   "log-limit",    "egress",        "egress-connections",
        "egress-bytes", "egress-rate",  "ttl",           "max-lifetime"};
    size_t count;
    const struct hutch_field *fields = hutch_fields(&count);
    (void)state;
    size_t seen = 0;
    for (size_t i = 0; i < count; i++) {
        if (!fields[i].flag)
            continue;
        assert_true(seen < sizeof(flags) / sizeof(flags[0]));
        assert_string_equal(fields[i].flag, flags[seen++]);
    }
    assert_int_equal(seen, sizeof(flags) / sizeof(flags[0]));
}

static void unknown_names_get_the_nearest_one(void **state)
{
    static const char *const cases[][2] = {
        {"limits.memroy", "unknown field 'limits.memroy', did you mean 'limits.memory'?"},
        {"memory", "unknown field 'memory', did you mean 'limits.memory'?"},
        {"comand", "unknown field 'comand', did you mean 'command'?"},
        {"mount", "unknown field 'mount', did you mean 'mounts'?"},
        {"envs", "unknown field 'envs', did you mean 'env'?"},
        {"workSpace", "unknown field 'workSpace', did you mean 'workspace'?"},
        {"limits", "unknown field 'limits'"},
        {"x", "unknown field 'x'"},
        {"", "unknown field ''"},
        {"something else entirely", "unknown field 'something else entirely'"},
        {"limits.", "unknown field 'limits.'"},
    };
    struct hutch_error err;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_refused(hutch_field_fail_unknown(cases[i][0], &err), &err, cases[i][1]);
}

static void groups_are_known(void **state)
{
    (void)state;
    assert_true(hutch_field_is_group("limits"));
    assert_false(hutch_field_is_group("limit"));
    assert_false(hutch_field_is_group("limits.memory"));
    assert_false(hutch_field_is_group("command"));
    assert_false(hutch_field_is_group(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_flags_are_unique),
        cmocka_unit_test(every_row_tells_what_help_needs),
        cmocka_unit_test(fields_of_a_group_are_neighbours),
        cmocka_unit_test(every_slot_of_every_type_is_filled),
        cmocka_unit_test(the_command_lines_flags_are_the_promised_ones),
        cmocka_unit_test(unknown_names_get_the_nearest_one),
        cmocka_unit_test(groups_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
