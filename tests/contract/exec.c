/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in a sandbox that stays: their surroundings, streams, signals and ends. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxes.h"

static void directory_and_variables_are_the_commands_own(void **state)
{
    static const char *const env[] = {"A_ONE=1 2", "A_EMPTY=", NULL};
    static const char *const fields[] = {"env", "A_BOX=box", "env", "A_ONE=box", NULL};
    struct hutch_exec_options options = HUTCH_EXEC_OPTIONS_INIT;
    (void)state;
    struct hutch_sandbox *box = box_create_with("around", fields);
    options.workdir = "/tmp";
    options.env = env;
    struct hutch_result *result = box_shell(box, "pwd; env | grep ^A_ | sort", &options);
    assert_output(&result->out, "/tmp\nA_BOX=box\nA_EMPTY=\nA_ONE=1 2\n");
    hutch_result_free(result);
    box_says(box, "pwd; env | grep ^A_ | sort", "/workspace\nA_BOX=box\nA_ONE=box\n");
    box_destroy(box);
}

/* Another user is that user, or refused: never another than was asked for. */
static void another_user_is_that_one_or_refused(void **state)
{
    const char *const command[] = {"id", "-u"};
    struct hutch_exec_options options = HUTCH_EXEC_OPTIONS_INIT;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    (void)state;
    struct hutch_sandbox *box = box_create("other");
    options.user = "1234";
    if (hutch_sandbox_exec(box, COUNT(command), command, &options, &result, &err) == 0) {
        assert_output(&result->out, "1234\n");
        hutch_result_free(result);
    } else {
        assert_true(err.code == HUTCH_E_UNSUPPORTED || err.code == HUTCH_E_PERMISSION);
        assert_non_null(strstr(err.msg, "1234"));
    }
    box_destroy(box);
}

static void ends_are_told_as_in_a_run(void **state)
{
    const char *const missing[] = {"no-such-program-anywhere"};
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    struct hutch_sandbox *box = box_create("ends");
    struct hutch_result *result = box_shell(box, "echo a; echo b >&2; exit 42", NULL);
    assert_reason(result, HUTCH_REASON_EXITED, 42);
    assert_output(&result->out, "a\n");
    assert_output(&result->err, "b\n");
    hutch_result_free(result);
    result = box_shell(box, "kill -9 $$", NULL);
    assert_reason(result, HUTCH_REASON_SIGNALED, 128 + SIGKILL);
    hutch_result_free(result);
    result = NULL;
    if (hutch_sandbox_exec(box, 1, missing, NULL, &result, &err) == 0) {
        assert_int_equal(result->exit_code, 127);
        hutch_result_free(result);
    } else {
        assert_int_equal(err.code, HUTCH_E_NO_COMMAND);
    }
    box_destroy(box);
}

/* --- streams --------------------------------------------------------------------------------- */

enum { BYTES = 100000000 };

struct reader {
    int fd;
    uint64_t bytes;
    uint64_t wrong; /* bytes that are not where they belong */
};

static void *read_all(void *userdata)
{
    struct reader *reader = userdata;
    static const char line[] = "0123456789\n";
    char buffer[65536];
    ssize_t got;
    while ((got = read(reader->fd, buffer, sizeof(buffer))) > 0)
        for (ssize_t i = 0; i < got; i++)
            reader->wrong += buffer[i] != line[reader->bytes++ % 11];
    return NULL;
}

static void a_hundred_million_bytes_reach_the_callers_pipe(void **state)
{
    struct hutch_exec_options options = HUTCH_EXEC_OPTIONS_INIT;
    struct reader reader = {-1, 0, 0};
    pthread_t thread;
    int ends[2];
    (void)state;
    struct hutch_sandbox *box = box_create("much");
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    reader.fd = ends[0];
    options.capture = false;
    options.stdout_fd = ends[1];
    assert_int_equal(pthread_create(&thread, NULL, read_all, &reader), 0);
    struct hutch_result *result = box_shell(box, "yes 0123456789 | head -c 100000000", &options);
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_reason(result, HUTCH_REASON_EXITED, 0);
    assert_int_equal(reader.bytes, BYTES);
    assert_int_equal(reader.wrong, 0);
    assert_int_equal(close(ends[0]), 0);
    hutch_result_free(result);
    box_destroy(box);
}

static void *feed(void *userdata)
{
    const int *fd = userdata;
    char block[8192];
    memset(block, 'y', sizeof(block));
    for (int i = 0; i < 2048; i++) /* 16 MiB */
        if (write(*fd, block, sizeof(block)) != (ssize_t)sizeof(block))
            break;
    (void)close(*fd);
    return NULL;
}

static void input_arrives_whole_and_with_its_end(void **state)
{
    struct hutch_exec_options options = HUTCH_EXEC_OPTIONS_INIT;
    pthread_t thread;
    int ends[2];
    (void)state;
    struct hutch_sandbox *box = box_create("input");
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    options.stdin_fd = ends[0];
    assert_int_equal(pthread_create(&thread, NULL, feed, &ends[1]), 0);
    struct hutch_result *result = box_shell(box, "wc -c; echo after >&2", &options);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_output(&result->out, "16777216\n");
    assert_output(&result->err, "after\n");
    assert_int_equal(close(ends[0]), 0);
    hutch_result_free(result);
    box_says(box, "wc -c", "0\n"); /* none was given */
    box_destroy(box);
}

static void *exec_slowly(void *userdata)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    const char *const command[] = {"sh", "-c", "yes | head -c 3000000; sleep 1; exit 4"};
    struct hutch_sandbox *box = NULL;
    struct hutch_result *result = NULL;
    bool *good = userdata;
    if (hutch_sandbox_open("many", &box, &err) == 0 &&
        hutch_sandbox_exec(box, COUNT(command), command, NULL, &result, &err) == 0)
        *good = result->exit_code == 4 && result->out.total_bytes == 3000000;
    hutch_result_free(result);
    hutch_sandbox_free(box);
    return NULL;
}

static void commands_run_beside_each_other(void **state)
{
    enum { COMMANDS = 8 };
    pthread_t threads[COMMANDS];
    bool good[COMMANDS] = {false};
    (void)state;
    struct hutch_sandbox *box = box_create("many");
    int64_t began = now_ms();
    for (size_t i = 0; i < COMMANDS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, exec_slowly, &good[i]), 0);
    for (size_t i = 0; i < COMMANDS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(good[i]);
    }
    assert_true(now_ms() - began < 6000); /* one after the other they would take eight seconds */
    box_destroy(box);
}

/* --- signals and ends ------------------------------------------------------------------------ */

static void a_signal_reaches_its_command_and_a_kill_all_it_started(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    char polite[33], deaf[33];
    (void)state;
    struct hutch_sandbox *box = box_create("signals");
    (void)snprintf(polite, sizeof(polite), "%s",
                   box_spawn(box, "trap 'echo told; exit 9' USR1; echo on; "
                                  "while :; do sleep 0.05; done"));
    (void)snprintf(deaf, sizeof(deaf), "%s",
                   box_spawn(box, "trap '' TERM; (setsid sleep 7777 &); echo on; sleep 7777"));
    box_await_log(box, polite, 3);
    box_await_log(box, deaf, 3);
    assert_int_equal(hutch_sandbox_signal(box, polite, SIGUSR1, &err), 0);
    assert_int_equal(hutch_sandbox_wait(box, polite, &result, &err), 0);
    assert_reason(result, HUTCH_REASON_EXITED, 9);
    hutch_result_free(result);
    result = NULL;
    assert_int_equal(hutch_sandbox_signal(box, deaf, SIGKILL, &err), 0);
    assert_int_equal(hutch_sandbox_wait(box, deaf, &result, &err), 0);
    assert_reason(result, HUTCH_REASON_SIGNALED, 128 + SIGKILL);
    hutch_result_free(result);
    box_says(box,
             "i=0; while cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q 'sleep "
             "[7]777' && [ $i -lt 50 ]; do sleep 0.1; i=$((i+1)); done; [ $i -lt 50 ] && echo gone",
             "gone\n");
    box_destroy(box);
}

static void a_timeout_ends_the_tree_and_nothing_else(void **state)
{
    struct hutch_exec_options options = HUTCH_EXEC_OPTIONS_INIT;
    char id[33];
    (void)state;
    struct hutch_sandbox *box = box_create("late");
    (void)snprintf(id, sizeof(id), "%s", box_spawn(box, "while :; do echo x; sleep 0.1; done"));
    options.timeout_ms = 1500;
    int64_t began = now_ms();
    struct hutch_result *result = box_shell(
        box,
        "echo before; trap '' TERM; (setsid sleep 8888 &); sleep 0.5; kill -STOP $$; sleep 8888",
        &options);
    assert_reason(result, HUTCH_REASON_TIMEOUT, 124);
    assert_output(&result->out, "before\n");
    assert_true(now_ms() - began < 5000);
    hutch_result_free(result);
    box_says(box,
             "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'sleep [8]888'; true",
             "0\n");
    char *text = box_log(box, id);
    size_t before = strlen(text);
    free(text);
    box_await_log(box, id, before + 4); /* it goes on */
    box_destroy(box);
}

static int count_running(void *userdata, const struct hutch_process *process)
{
    if (process->session && !strcmp(process->phase, "running") && process->argv[0] &&
        !strcmp(process->argv[0], "sh"))
        (*(unsigned *)userdata)++;
    return 0;
}

static void commands_are_listed(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    unsigned count = 0;
    (void)state;
    struct hutch_sandbox *box = box_create("listed");
    (void)box_spawn(box, "sleep 100; true");
    (void)box_spawn(box, "sleep 101; true");
    assert_int_equal(hutch_sandbox_ps(box, count_running, &count, &err), 0);
    assert_int_equal(count, 2);
    box_destroy(box);
}

CONTRACT_TABLE(contract_exec, TEST(directory_and_variables_are_the_commands_own),
               TEST(another_user_is_that_one_or_refused), TEST(ends_are_told_as_in_a_run),
               TEST(a_hundred_million_bytes_reach_the_callers_pipe),
               TEST(input_arrives_whole_and_with_its_end), TEST(commands_run_beside_each_other),
               TEST(a_signal_reaches_its_command_and_a_kill_all_it_started),
               TEST(a_timeout_ends_the_tree_and_nothing_else), TEST(commands_are_listed));
