/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal for the command: of the caller's size, with its signals, in a run and in an exec. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "boxes.h"

#define CONTROL_C "\003"
#define CONTROL_D "\004"

/* The caller's own terminal: only its size matters. */
static int open_terminal(unsigned short rows, unsigned short columns)
{
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(master >= 0);
    assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
    return master;
}

/* A pipe that holds what is typed, and stays open. */
static void type(int ends[2], const char *text)
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
}

static void close_all(int terminal, const int ends[2])
{
    assert_int_equal(close(terminal), 0);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(close(ends[1]), 0);
}

static void assert_contains(const struct hutch_output *output, const char *text)
{
    if (!strstr(output->data, text))
        fail_msg("'%s' is not in '%s'", text, output->data);
}

static struct hutch_result *run_on_terminal(const char *script, const char *typed)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    int ends[2];
    options.terminal_fd = open_terminal(41, 97);
    type(ends, typed);
    options.stdin_fd = ends[0];
    struct hutch_result *result = contract_run(contract_spec(script), &options);
    close_all(options.terminal_fd, ends);
    return result;
}

static void a_run_has_a_terminal_of_the_callers_size(void **state)
{
    struct hutch_result *result =
        run_on_terminal("test -t 0 && test -t 1 && test -t 2 && stty size; read line; echo got "
                        "$line; exit 6",
                        "some words\n");
    (void)state;
    assert_reason(result, HUTCH_REASON_EXITED, 6);
    assert_contains(&result->out, "41 97\r\n");
    assert_contains(&result->out, "got some words\r\n");
    hutch_result_free(result);
}

static void keys_are_signals_and_the_end_of_input(void **state)
{
    if (!contract_has_keys())
        skip();
    struct hutch_result *result = run_on_terminal("cat; echo after", "line\n" CONTROL_D);
    (void)state;
    assert_reason(result, HUTCH_REASON_EXITED, 0);
    assert_contains(&result->out, "after\r\n");
    hutch_result_free(result);
    /* it may come before the trap is set */
    result = run_on_terminal("trap 'exit 5' INT; while :; do sleep 0.1; done", CONTROL_C);
    assert_true(result->exit_code == 5 || result->exit_code == 128 + SIGINT);
    hutch_result_free(result);
}

static struct hutch_result *exec_on_terminal(struct hutch_sandbox *box, const char *script,
                                             const char *typed)
{
    struct hutch_exec_options options = HUTCH_EXEC_OPTIONS_INIT;
    int ends[2];
    options.terminal_fd = open_terminal(33, 77);
    type(ends, typed);
    options.stdin_fd = ends[0];
    struct hutch_result *result = box_shell(box, script, &options);
    close_all(options.terminal_fd, ends);
    return result;
}

static void an_exec_has_a_terminal_of_the_callers_size(void **state)
{
    (void)state;
    struct hutch_sandbox *box = box_create("terminal");
    struct hutch_result *result =
        exec_on_terminal(box, "stty size; read line; echo got $line; exit 3", "words\n");
    assert_reason(result, HUTCH_REASON_EXITED, 3);
    assert_contains(&result->out, "33 77\r\n");
    assert_contains(&result->out, "got words\r\n");
    hutch_result_free(result);
    if (contract_has_keys()) {
        result = exec_on_terminal(box, "trap 'exit 5' INT; while :; do sleep 0.1; done", CONTROL_C);
        assert_true(result->exit_code == 5 || result->exit_code == 128 + SIGINT);
        hutch_result_free(result);
    }
    box_destroy(box);
}

CONTRACT_TABLE(contract_terminals, TEST(a_run_has_a_terminal_of_the_callers_size),
               TEST(keys_are_signals_and_the_end_of_input),
               TEST(an_exec_has_a_terminal_of_the_callers_size));
