/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "core/promise.h"

static void every_promise_parses_by_its_own_name(void **state)
{
    hutch_promise_set all = 0, sum = 0;
    struct hutch_error err;
    (void)state;
    for (unsigned i = 0; i < HUTCH_PROMISE_COUNT; i++) {
        hutch_promise_set set = 0;
        const char *name = hutch_promise_name((enum hutch_promise)i);
        assert_fine(hutch_promise_parse(name, &set, &err), &err);
        assert_int_equal(set, UINT32_C(1) << i);
        assert_true(strlen(hutch_promise_doc((enum hutch_promise)i)) > 0);
        sum |= set;
    }
    assert_fine(hutch_promise_parse("all", &all, &err), &err);
    assert_int_equal(all, sum);
}

static void an_unknown_name_is_refused_with_the_nearest_or_all(void **state)
{
    hutch_promise_set set = 7;
    struct hutch_error err;
    (void)state;
    assert_refused(hutch_promise_parse("memroy", &set, &err), &err,
                   "unknown limit 'memroy', did you mean 'memory'?");
    assert_refused(hutch_promise_parse("All", &set, &err), &err,
                   "unknown limit 'All', did you mean 'all'?");
    assert_refused(hutch_promise_parse("seccomp", &set, &err), &err,
                   "unknown limit 'seccomp', write one of memory, cpus, pids, disk, inodes, "
                   "timeout, idle_timeout, output, open_files, groups, egress, read_only, or all");
    assert_refused(hutch_promise_parse("", &set, &err), &err,
                   "unknown limit '', write one of memory, cpus, pids, disk, inodes, timeout, "
                   "idle_timeout, output, open_files, groups, egress, read_only, or all");
    assert_int_equal(set, 7);
}

static void a_spec_needs_everything_but_what_it_does_not_have(void **state)
{
    struct hutch_spec *spec = NULL;
    struct hutch_error err;
    hutch_promise_set all;
    (void)state;
    assert_fine(hutch_spec_new(&spec, &err), &err);
    assert_fine(hutch_promise_parse("all", &all, &err), &err);
    assert_int_equal(hutch_promises_required(spec), all & ~HUTCH_PROMISE_BIT(IDLE_TIMEOUT) &
                                                        ~HUTCH_PROMISE_BIT(EGRESS) &
                                                        ~HUTCH_PROMISE_BIT(READ_ONLY));
    assert_fine(hutch_spec_set(spec, "limits.idle_timeout", "5s", &err), &err);
    assert_fine(hutch_spec_set(spec, "egress", "a.example", &err), &err);
    assert_fine(hutch_spec_set(spec, "read_only", "true", &err), &err);
    assert_int_equal(hutch_promises_required(spec), all);
    hutch_spec_free(spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_promise_parses_by_its_own_name),
        cmocka_unit_test(an_unknown_name_is_refused_with_the_nearest_or_all),
        cmocka_unit_test(a_spec_needs_everything_but_what_it_does_not_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
