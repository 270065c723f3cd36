/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded commands are written to, have terminals, and are listed when they have ended. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxes.h"

static void start(struct hutch_sandbox *box, const char *script,
                  const struct hutch_exec_options *options, char id[33])
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    const char *const command[] = {"sh", "-c", script};
    (void)signal(SIGPIPE, SIG_IGN);
    if (hutch_sandbox_spawn(box, COUNT(command), command, options, id, &err) < 0)
        fail_msg("spawn '%s': %s", script, err.msg);
}

static void await_end(struct hutch_sandbox *box, const char *id, int exit_code)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    if (hutch_sandbox_wait(box, id, &result, &err) < 0)
        fail_msg("wait: %s", err.msg);
    assert_reason(result, HUTCH_REASON_EXITED, exit_code);
    hutch_result_free(result);
}

static void has_said(struct hutch_sandbox *box, const char *id, const char *wanted)
{
    char *text = box_log(box, id);
    assert_string_equal(text, wanted);
    free(text);
}

static void input_stays_open_until_it_is_closed(void **state)
{
    struct hutch_exec_options options = HUTCH_EXEC_OPTIONS_INIT;
    struct hutch_error err = HUTCH_ERROR_INIT;
    char id[33];
    (void)state;
    struct hutch_sandbox *box = box_create("input");
    options.keeps_stdin = true;
    start(box, "cat; exit 4", &options, id);
    assert_int_equal(hutch_sandbox_input(box, id, "one\n", 4, -1, &err), 0);
    box_await_log(box, id, 4);
    hutch_sandbox_free(box); /* whoever started it may go */
    box = box_reopen("input");
    assert_int_equal(hutch_sandbox_input(box, id, "two\n", 4, -1, &err), 0);
    assert_int_equal(hutch_sandbox_resize(box, id, 1, 1, &err), -HUTCH_E_CONFLICT);
    assert_int_equal(hutch_sandbox_end_input(box, id, &err), 0);
    await_end(box, id, 4);
    has_said(box, id, "one\ntwo\n");
    assert_true(hutch_sandbox_input(box, id, "late", 4, -1, &err) < 0);
    box_destroy(box);
}

static void a_pipe_of_the_callers_is_its_input(void **state)
{
    struct hutch_exec_options options = HUTCH_EXEC_OPTIONS_INIT;
    char id[33];
    int ends[2];
    (void)state;
    struct hutch_sandbox *box = box_create("piped");
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "piped", 5), 5);
    (void)close(ends[1]);
    options.stdin_fd = ends[0];
    start(box, "cat", &options, id);
    (void)close(ends[0]);
    await_end(box, id, 0);
    has_said(box, id, "piped");
    box_destroy(box);
}

static void a_terminal_outlives_whoever_asked_for_it(void **state)
{
    struct hutch_exec_options options = HUTCH_EXEC_OPTIONS_INIT;
    struct hutch_error err = HUTCH_ERROR_INIT;
    char id[33];
    (void)state;
    struct hutch_sandbox *box = box_create("screen");
    options.rows = 11;
    options.columns = 22;
    start(box,
          contract_has_keys()
              ? "stty -echo; stty size; read x; stty size; cat; echo over"
              : "stty -echo; stty size; read x; stty size; read x; echo $x; echo over",
          &options, id);
    box_await_log(box, id, 7);
    hutch_sandbox_free(box);
    box = box_reopen("screen");
    if (hutch_sandbox_resize(box, id, 33, 44, &err) < 0)
        fail_msg("resize: %s", err.msg);
    assert_int_equal(hutch_sandbox_input(box, id, "go\n", 3, -1, &err), 0);
    box_await_log(box, id, 14);
    assert_int_equal(hutch_sandbox_input(box, id, "line\n", 5, -1, &err), 0);
    box_await_log(box, id, 20);
    if (contract_has_keys())
        assert_int_equal(hutch_sandbox_end_input(box, id, &err), 0);
    await_end(box, id, 0);
    has_said(box, id, "11 22\r\n33 44\r\nline\r\nover\r\n");
    box_destroy(box);
}

struct listed {
    unsigned count;
    char states[64];
    bool has_terminal;
};

static int list(void *userdata, const struct hutch_session *session)
{
    struct listed *listed = userdata;
    size_t used = strlen(listed->states);
    (void)snprintf(listed->states + used, sizeof(listed->states) - used, "%s%s", used ? " " : "",
                   session->state);
    assert_string_equal(session->argv[0], "sh");
    assert_int_equal(session->result != NULL, !strcmp(session->state, "ended"));
    assert_true(session->started_us > 0);
    listed->count++;
    return 0;
}

static void those_that_have_ended_are_listed_too(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct listed listed = {0};
    char first[33], second[33];
    (void)state;
    struct hutch_sandbox *box = box_create("listed");
    start(box, "exit 3", NULL, first);
    await_end(box, first, 3);
    start(box, "sleep 1000", NULL, second);
    assert_int_equal(hutch_sandbox_sessions(box, NULL, list, &listed, &err), 0);
    assert_string_equal(listed.states, "ended running");
    listed = (struct listed){0};
    assert_int_equal(hutch_sandbox_sessions(box, second, list, &listed, &err), 0);
    assert_string_equal(listed.states, "running");
    assert_int_equal(hutch_sandbox_sessions(box, "abc", list, &listed, &err), -HUTCH_E_NOT_FOUND);
    assert_int_equal(hutch_sandbox_kill(box, &err), 0);
    listed = (struct listed){0};
    assert_int_equal(hutch_sandbox_sessions(box, NULL, list, &listed, &err), 0);
    assert_string_equal(listed.states, "ended ended");
    box_destroy(box);
}

static void waiting_can_be_given_up(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    char id[33];
    int ends[2];
    (void)state;
    struct hutch_sandbox *box = box_create("awaited");
    start(box, "sleep 1000", NULL, id);
    assert_int_equal(pipe(ends), 0);
    (void)close(ends[1]); /* readable: its end */
    assert_int_equal(hutch_sandbox_wait_or_cancel(box, id, ends[0], &result, &err), 0);
    assert_null(result);
    (void)close(ends[0]);
    box_says(box, "echo still here", "still here\n");
    box_destroy(box);
}

CONTRACT_TABLE(contract_sessions, TEST(input_stays_open_until_it_is_closed),
               TEST(a_pipe_of_the_callers_is_its_input),
               TEST(a_terminal_outlives_whoever_asked_for_it),
               TEST(those_that_have_ended_are_listed_too), TEST(waiting_can_be_given_up));
