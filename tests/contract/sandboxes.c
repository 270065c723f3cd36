/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes that stay: handles come and go, the sandbox does not notice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxes.h"

static void one_handle_runs_many_commands(void **state)
{
    (void)state;
    struct hutch_sandbox *sandbox = box_create("many");
    unsigned before = 0;
    const int calls = contract_times(200);
    for (int i = 0; i < calls; i++) {
        char script[64], expected[32];
        (void)snprintf(script, sizeof(script), "echo %d; exit %d", i, i % 100);
        (void)snprintf(expected, sizeof(expected), "%d\n", i);
        struct hutch_result *result = box_shell(sandbox, script, NULL);
        assert_reason(result, HUTCH_REASON_EXITED, i % 100);
        assert_output(&result->out, expected);
        hutch_result_free(result);
        if (i == 0)
            before = open_descriptors();
    }
    assert_int_equal(open_descriptors(), before);
    box_destroy(sandbox);
}

static void freeing_a_handle_touches_nothing(void **state)
{
    (void)state;
    char id[33];
    const char *const command[] = {"sh", "-c", "sleep 0.5; echo later"};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_sandbox *sandbox = box_create("freed");
    hutch_result_free(box_shell(sandbox, "echo kept >/workspace/kept", NULL));
    assert_int_equal(hutch_sandbox_spawn(sandbox, COUNT(command), command, NULL, id, &err), 0);
    hutch_sandbox_free(sandbox);
    sandbox = box_reopen("freed");
    struct hutch_result *result = box_shell(sandbox, "cat /workspace/kept", NULL);
    assert_output(&result->out, "kept\n");
    hutch_result_free(result);
    result = NULL;
    assert_int_equal(hutch_sandbox_wait(sandbox, id, &result, &err), 0);
    assert_reason(result, HUTCH_REASON_EXITED, 0);
    hutch_result_free(result);
    hutch_sandbox_free(NULL);
    box_destroy(sandbox);
}

static void two_handles_of_one_sandbox_are_independent(void **state)
{
    (void)state;
    struct hutch_sandbox *one = box_create("twice");
    struct hutch_sandbox *two = box_reopen("twice");
    hutch_result_free(box_shell(one, "echo a >/workspace/a", NULL));
    hutch_sandbox_free(one);
    struct hutch_result *result = box_shell(two, "cat /workspace/a", NULL);
    assert_output(&result->out, "a\n");
    hutch_result_free(result);
    box_destroy(two);
}

static void a_timeout_and_a_cancel_leave_the_handle_usable(void **state)
{
    (void)state;
    int ends[2];
    struct hutch_exec_options options = HUTCH_EXEC_OPTIONS_INIT;
    struct hutch_sandbox *sandbox = box_create("ended");
    options.timeout_ms = 200;
    struct hutch_result *result = box_shell(sandbox, "sleep 60", &options);
    assert_reason(result, HUTCH_REASON_TIMEOUT, 124);
    hutch_result_free(result);
    assert_int_equal(pipe(ends), 0);
    (void)close(ends[1]); /* readable at once: end-of-file */
    options.timeout_ms = 0;
    options.cancel_fd = ends[0];
    result = box_shell(sandbox, "sleep 60", &options);
    assert_int_equal(result->reason, HUTCH_REASON_CANCELLED);
    hutch_result_free(result);
    (void)close(ends[0]);
    for (int i = 0; i < 20; i++) { /* no late word of the one before is taken for this one's */
        result = box_shell(sandbox, "echo fine", NULL);
        assert_output(&result->out, "fine\n");
        hutch_result_free(result);
    }
    box_destroy(sandbox);
}

static void a_handle_outlives_a_stop_and_a_start(void **state)
{
    (void)state;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    const char *const command[] = {"true"};
    struct hutch_sandbox *sandbox = box_create("again");
    hutch_result_free(box_shell(sandbox, "echo x >/workspace/x", NULL));
    assert_int_equal(hutch_sandbox_stop(sandbox, 0, &err), 0);
    assert_int_not_equal(hutch_sandbox_exec(sandbox, 1, command, NULL, &result, &err), 0);
    assert_int_equal(err.code, HUTCH_E_CONFLICT);
    if (hutch_sandbox_start(sandbox, &err) < 0)
        fail_msg("start: %s", err.msg);
    result = box_shell(sandbox, "cat /workspace/x", NULL);
    assert_output(&result->out, "x\n");
    hutch_result_free(result);
    box_destroy(sandbox);
}

static void wrong_options_and_names_are_told(void **state)
{
    (void)state;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_sandbox *sandbox = NULL;
    struct hutch_result *result = NULL;
    struct hutch_exec_options options = HUTCH_EXEC_OPTIONS_INIT;
    const char *const command[] = {"true"};
    assert_int_equal(hutch_sandbox_open("../x", &sandbox, &err), -HUTCH_E_NOT_FOUND);
    assert_null(sandbox);
    sandbox = box_create("wrong");
    options.size = 3;
    assert_int_equal(hutch_sandbox_exec(sandbox, 1, command, &options, &result, NULL),
                     -HUTCH_E_INVALID);
    options.size = sizeof(options);
    options.workdir = "/proc/self/fd";
    assert_int_equal(hutch_sandbox_exec(sandbox, 1, command, &options, &result, &err),
                     -HUTCH_E_INVALID);
    assert_null(result);
    box_destroy(sandbox);
}

CONTRACT_TABLE(contract_sandboxes, TEST(one_handle_runs_many_commands),
               TEST(freeing_a_handle_touches_nothing),
               TEST(two_handles_of_one_sandbox_are_independent),
               TEST(a_timeout_and_a_cancel_leave_the_handle_usable),
               TEST(a_handle_outlives_a_stop_and_a_start), TEST(wrong_options_and_names_are_told));
