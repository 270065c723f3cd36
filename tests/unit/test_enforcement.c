/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "backend/backend.h"
#include "core/enforcement.h"

static struct hutch_spec *new_spec(void)
{
    struct hutch_error err;
    struct hutch_spec *spec = NULL;
    assert_fine(hutch_spec_new(&spec, &err), &err);
    return spec;
}

static void every_backend_has_its_row(void **state)
{
    size_t rows = 0, backends = 0;
    (void)state;
    (void)hutch_enforcements(&rows);
    while (hutch_backends[backends])
        assert_int_not_equal(hutch_enforcement_least(hutch_backends[backends++]->name), 0);
    assert_true(rows >= backends);
    assert_int_equal(hutch_enforcement_most("no-such-backend"), 0);
}

static void what_always_holds_is_part_of_what_can(void **state)
{
    size_t count = 0;
    const struct hutch_enforcement *rows = hutch_enforcements(&count);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        hutch_promise_set least = hutch_enforcement_least(rows[i].backend);
        assert_int_equal(least & ~hutch_enforcement_most(rows[i].backend), 0);
        assert_true(least & HUTCH_PROMISE_BIT(TIMEOUT));
    }
}

static void a_host_keeps_at_least_what_always_holds(void **state)
{
    struct hutch_error err;
    struct hutch_probe probe;
    struct hutch_spec *spec = new_spec();
    (void)state;
    const struct hutch_backend_ops *native = hutch_backend_find("native", &err);
    assert_non_null(native);
    assert_fine(native->probe(spec, &probe, &err), &err);
    assert_int_equal(hutch_enforcement_least("native") & ~probe.enforces, 0);
    hutch_spec_free(spec);
}

/* Whatever a probe says. */
static void nothing_beyond_the_row_counts(void **state)
{
    struct hutch_error err;
    hutch_promise_set missing = 0;
    struct hutch_spec *spec = new_spec();
    (void)state;
    assert_fine(hutch_spec_set(spec, "backend", "docker", &err), &err);
    assert_fine(hutch_spec_set(spec, "limits.inodes", "100", &err), &err);
    assert_int_equal(hutch_promises_settle(spec, ~(hutch_promise_set)0, "", &missing, &err),
                     -HUTCH_E_UNENFORCEABLE);
    assert_non_null(strstr(err.msg, "inodes"));
    assert_fine(hutch_spec_set(spec, "allow_missing", "inodes", &err), &err);
    assert_fine(hutch_promises_settle(spec, ~(hutch_promise_set)0, "", &missing, &err), &err);
    assert_int_equal(missing, HUTCH_PROMISE_BIT(INODES));
    hutch_spec_free(spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_backend_has_its_row),
        cmocka_unit_test(what_always_holds_is_part_of_what_can),
        cmocka_unit_test(a_host_keeps_at_least_what_always_holds),
        cmocka_unit_test(nothing_beyond_the_row_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
