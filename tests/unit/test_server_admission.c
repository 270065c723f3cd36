/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is. */
#include "server/admission.h"
#include "server/call.h"
#include "unit.h"

#define CALLS 16

static char order[CALLS + 1]; /* names of those whose turn came, as it came */
static struct admission *admission;
static bool is_over_at_once;

static void on_turn(struct api_call *call)
{
    order[strlen(order)] = call->name[0];
    if (is_over_at_once)
        admission_leave(admission, (enum admission_line)call->turn);
}

static int begin(void **state)
{
    const struct admission_limits limits = {
        .places = {[ADMISSION_CREATING] = 1, [ADMISSION_RUNNING] = 2},
        .queue = 3,
        .on_turn = on_turn};
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    memset(order, 0, sizeof(order));
    is_over_at_once = false;
    return admission_new(&limits, &admission, &err);
}

static int end(void **state)
{
    (void)state;
    admission_free(admission);
    return 0;
}

static struct api_call call_of(const char *tenant, char name)
{
    struct api_call call = {.name = {name}};
    if (tenant)
        (void)strncpy(call.tenant, tenant, sizeof(call.tenant) - 1);
    return call;
}

static bool enter(struct api_call *call)
{
    call->who.tenant = *call->tenant ? call->tenant : NULL;
    return admission_enter(admission, ADMISSION_CREATING, call);
}

static void test_tenants_take_turns(void **state)
{
    struct api_call calls[] = {call_of("a", '1'), call_of("a", '2'), call_of("a", '3'),
                               call_of("a", '4'), call_of("b", 'x'), call_of("b", 'y'),
                               call_of(NULL, 'o')};
    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        assert_true(enter(&calls[i]));
    assert_string_equal(order, "1");
    for (size_t i = 0; i < 7; i++)
        admission_leave(admission, ADMISSION_CREATING);
    assert_string_equal(order, "12xo3y4");
}

static void test_a_full_queue_is_its_tenants_alone(void **state)
{
    struct api_call calls[] = {call_of("a", '1'), call_of("a", '2'), call_of("a", '3'),
                               call_of("a", '4'), call_of("a", '5'), call_of("b", 'x')};
    struct admission_counts counts;
    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_true(enter(&calls[i]));
    assert_false(enter(&calls[4]));
    assert_true(enter(&calls[5]));
    admission_count(admission, &counts);
    assert_int_equal(counts.busy[ADMISSION_CREATING], 1);
    assert_int_equal(counts.queued, 4);
    assert_int_equal(counts.turned_away, 1);
    for (size_t i = 0; i < 5; i++)
        admission_leave(admission, ADMISSION_CREATING);
    admission_count(admission, &counts);
    assert_int_equal(counts.busy[ADMISSION_CREATING], 0);
    assert_int_equal(counts.queued, 0);
}

static void test_lines_do_not_hold_each_other_up(void **state)
{
    struct api_call make = call_of("a", 'm'), wait = call_of("a", 'w'), run = call_of("a", 'r');
    (void)state;
    assert_true(enter(&make));
    assert_true(enter(&wait));
    run.who.tenant = run.tenant;
    assert_true(admission_enter(admission, ADMISSION_RUNNING, &run));
    assert_string_equal(order, "mr");
    admission_leave(admission, ADMISSION_RUNNING);
    admission_leave(admission, ADMISSION_CREATING);
    admission_leave(admission, ADMISSION_CREATING);
    assert_string_equal(order, "mrw");
}

static void test_turns_that_are_over_at_once(void **state)
{
    struct api_call calls[] = {call_of("a", '1'), call_of("a", '2'), call_of("a", '3'),
                               call_of("b", 'x')};
    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_true(enter(&calls[i]));
    is_over_at_once = true;
    admission_leave(admission, ADMISSION_CREATING);
    assert_string_equal(order, "12x3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tenants_take_turns, begin, end),
        cmocka_unit_test_setup_teardown(test_a_full_queue_is_its_tenants_alone, begin, end),
        cmocka_unit_test_setup_teardown(test_lines_do_not_hold_each_other_up, begin, end),
        cmocka_unit_test_setup_teardown(test_turns_that_are_over_at_once, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
