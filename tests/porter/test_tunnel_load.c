/* SPDX-License-Identifier: Apache-2.0 */
/* The tunnel under load, and how everything ends. */
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE_BYTES (UINT64_C(100) << 20)
#define COMMANDS 100
#define STARTS 200

/* Reads to the end and counts. */
static uint64_t count_bytes(int fd)
{
    static char chunk[1 << 18];
    uint64_t total = 0;
    ssize_t got;
    while ((got = read(fd, chunk, sizeof(chunk))) > 0)
        total += (uint64_t)got;
    return total;
}

static uint32_t start_with_output(struct box *box, const char *script, int *ret_output)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    int out[2];
    make_pipe(out);
    const struct command command = {.argv = argv, .fds = {-1, out[1], -1}};
    uint32_t session = box_spawn(box, &command);
    (void)close(out[1]);
    box_expect(box, INIT_SPAWNED, session, NULL);
    *ret_output = out[0];
    return session;
}

/* A reader that does not read stops its own command and no other. */
static void a_hundred_megabytes_pass_a_reader_that_sleeps(void **state)
{
    (void)state;
    struct box box;
    int slow, fast;
    box_start(&box, false);
    uint32_t sleeper = start_with_output(&box, "yes", &slow);
    double begun = now_seconds();
    uint32_t session = start_with_output(&box, "head -c 104857600 /dev/zero; echo end >&2", &fast);
    assert_int_equal(count_bytes(fast), LARGE_BYTES);
    double took = now_seconds() - begun;
    print_message("100 MiB in %.3f s: %.0f MB/s\n", took, (double)LARGE_BYTES / 1e6 / took);
    assert_int_equal(box_expect(&box, INIT_EXITED, session, NULL).value, 0);
    box_expect(&box, INIT_GONE, session, NULL);
    box_send(&box, INIT_KILL, sleeper, 0);
    assert_true(count_bytes(slow) > 0);
    box_expect(&box, INIT_EXITED, sleeper, NULL);
    box_expect(&box, INIT_GONE, sleeper, NULL);
    (void)close(slow);
    (void)close(fast);
    assert_int_equal(box_end(&box), 0);
}

/* Bytes that differ, in both directions at once. */
static void what_goes_in_comes_out(void **state)
{
    (void)state;
    struct box box;
    const char *const argv[] = {"cat", NULL};
    enum { WORDS = 4 << 20 };
    int in[2], out[2];
    box_start(&box, false);
    make_pipe(in);
    make_pipe(out);
    const struct command command = {.argv = argv, .fds = {in[0], out[1], -1}};
    uint32_t session = box_spawn(&box, &command);
    (void)close(in[0]);
    (void)close(out[1]);
    box_expect(&box, INIT_SPAWNED, session, NULL);
    pid_t writer = fork();
    if (writer == 0) {
        FILE *stream = fdopen(in[1], "w");
        for (uint32_t i = 0; i < WORDS; i++)
            (void)fwrite(&i, sizeof(i), 1, stream);
        _exit(fclose(stream) == 0 ? 0 : 1);
    }
    (void)close(in[1]);
    FILE *stream = fdopen(out[0], "r");
    uint32_t word = 0, expected = 0;
    while (fread(&word, sizeof(word), 1, stream) == 1)
        if (word != expected++)
            fail_msg("word %u is %u", expected - 1, word);
    assert_int_equal(expected, WORDS);
    (void)fclose(stream);
    int status;
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
    assert_int_equal(box_expect(&box, INIT_EXITED, session, NULL).value, 0);
    box_expect(&box, INIT_GONE, session, NULL);
    assert_int_equal(box_end(&box), 0);
}

static void many_commands_at_one_time(void **state)
{
    (void)state;
    struct box box;
    int outputs[COMMANDS];
    uint32_t sessions[COMMANDS];
    const char *const argv[] = {"sh", "-c", "sleep 0.2; head -c 100000 /dev/zero", NULL};
    int spawned = 0, exited = 0, gone = 0;
    box_start(&box, false);
    for (size_t i = 0; i < COMMANDS; i++) {
        int out[2];
        make_pipe(out);
        const struct command command = {.argv = argv, .fds = {-1, out[1], -1}};
        sessions[i] = box_spawn(&box, &command);
        (void)close(out[1]);
        outputs[i] = out[0];
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        assert_int_equal(count_bytes(outputs[i]), 100000);
        (void)close(outputs[i]);
    }
    while (gone < COMMANDS) {
        int fd;
        struct init_message report = box_hear(&box, &fd);
        assert_true(report.session >= sessions[0] && report.session <= sessions[COMMANDS - 1]);
        spawned += report.type == INIT_SPAWNED;
        exited += report.type == INIT_EXITED && report.value == 0;
        gone += report.type == INIT_GONE;
    }
    assert_int_equal(spawned, COMMANDS);
    assert_int_equal(exited, COMMANDS);
    assert_int_equal(box_end(&box), 0);
}

static void a_start_takes_little(void **state)
{
    (void)state;
    struct box box;
    const char *const argv[] = {"true", NULL};
    const struct command command = {.argv = argv, .fds = {-1, -1, -1}};
    box_start(&box, false);
    double begun = now_seconds();
    for (int i = 0; i < STARTS; i++) {
        uint32_t session = box_spawn(&box, &command);
        box_expect(&box, INIT_SPAWNED, session, NULL);
        box_expect(&box, INIT_EXITED, session, NULL);
        box_expect(&box, INIT_GONE, session, NULL);
    }
    double each_ms = (now_seconds() - begun) * 1000 / STARTS;
    print_message("%.3f ms for each command\n", each_ms);
    assert_int_equal(box_end(&box), 0);
}

/* Its readers are gone: whoever dozes before the end of a file must not be waited for. */
static void an_output_that_is_not_read_does_not_delay_the_end(void **state)
{
    (void)state;
    struct box box;
    int unread;
    box_start(&box, false);
    (void)start_with_output(&box, "yes", &unread);
    struct pollfd written = {unread, POLLIN, 0};
    assert_int_equal(poll(&written, 1, 20000), 1);
    double begun = now_seconds();
    assert_int_equal(box_end(&box), 0);
    assert_true(now_seconds() - begun < 2);
    assert_true(count_bytes(unread) > 0); /* what had come out is in the pipe */
    (void)close(unread);
}

/* What a command wrote before it was killed with its container is not lost. */
static void the_end_of_all_loses_nothing_that_was_written(void **state)
{
    (void)state;
    struct box box;
    int output;
    box_start(&box, false);
    (void)start_with_output(&box, "head -c 300000 /dev/zero; exec sleep 1000", &output);
    (void)usleep(300000); /* the pipe, the window and the pipe inside hold it */
    box_send(&box, PORTER_END, 0, 0);
    assert_int_equal(count_bytes(output), 300000);
    (void)close(output);
    int fd;
    while (box_hear(&box, &fd).type != PORTER_ENDED)
        ;
    (void)close(fd);
    assert_int_equal(box_wait(&box), 0);
}

static void a_run_ends_by_itself(void **state)
{
    (void)state;
    struct box box;
    const char *const argv[] = {"sh", "-c", "head -c 1000000 /dev/zero; exit 9", NULL};
    int out[2], fd;
    box_start(&box, true);
    make_pipe(out);
    const struct command command = {.argv = argv, .fds = {-1, out[1], -1}, .one_shot = true};
    uint32_t session = box_spawn(&box, &command);
    (void)close(out[1]);
    box_expect(&box, INIT_SPAWNED, session, NULL);
    assert_int_equal(count_bytes(out[0]), 1000000);
    assert_int_equal(WEXITSTATUS(box_expect(&box, INIT_EXITED, session, NULL).value), 9);
    assert_int_equal(box_hear(&box, &fd).type, PORTER_ENDED);
    (void)close(fd);
    (void)close(out[0]);
    assert_int_equal(box_wait(&box), 0);
}

/* The porter was killed: its container reads end-of-file and is over to the last process. */
static void nothing_outlives_the_porter(void **state)
{
    (void)state;
    struct box box;
    int output, fifo[2];
    char byte;
    box_start(&box, false);
    make_pipe(fifo);
    (void)start_with_output(&box, "trap '' TERM HUP; setsid sleep 1000 & sleep 1000", &output);
    assert_int_equal(kill(box.porter, SIGKILL), 0);
    int status = box_wait(&box);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(read(output, &byte, 1), 0);
    (void)close(output);
    (void)close(fifo[0]);
    (void)close(fifo[1]);
}

/* A keeper that was killed: the porter ends its container and itself. */
static void nothing_outlives_the_keeper(void **state)
{
    (void)state;
    struct box box;
    int output;
    char byte;
    box_start(&box, false);
    (void)start_with_output(&box, "trap '' TERM HUP; setsid sleep 1000 & sleep 1000", &output);
    double begun = now_seconds();
    (void)close(box.socket);
    (void)close(box.control);
    assert_int_equal(read(output, &byte, 1), 0);
    int status;
    assert_int_equal(waitpid(box.porter, &status, 0), box.porter);
    assert_int_equal(status, 0);
    assert_true(now_seconds() - begun < 2);
    (void)close(output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_megabytes_pass_a_reader_that_sleeps),
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(many_commands_at_one_time),
        cmocka_unit_test(a_start_takes_little),
        cmocka_unit_test(an_output_that_is_not_read_does_not_delay_the_end),
        cmocka_unit_test(the_end_of_all_loses_nothing_that_was_written),
        cmocka_unit_test(a_run_ends_by_itself),
        cmocka_unit_test(nothing_outlives_the_porter),
        cmocka_unit_test(nothing_outlives_the_keeper),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
