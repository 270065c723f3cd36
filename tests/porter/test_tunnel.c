/* SPDX-License-Identifier: Apache-2.0 */
/* Commands through the tunnel: how they start, speak and end. */
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define MANY 60

static struct box box;

static int start_box(void **state)
{
    (void)state;
    box_start(&box, false);
    return 0;
}

static int end_box(void **state)
{
    (void)state;
    return box_end(&box);
}

static void says_who_it_is(void **state)
{
    (void)state;
    char output[256];
    assert_int_equal(box.ready.uid, 1000);
    assert_int_equal(box.ready.gid, 1000);
    assert_int_equal(box_run(&box, "id -u; grep CapEff /proc/self/status", output, sizeof(output)),
                     0);
    assert_string_equal(output, "1000\nCapEff:\t0000000000000000\n");
}

static void ends_are_told_as_they_were(void **state)
{
    (void)state;
    char output[64];
    assert_int_equal(WEXITSTATUS(box_run(&box, "exit 7", output, sizeof(output))), 7);
    int status = box_run(&box, "kill -SEGV $$", output, sizeof(output));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static void a_command_that_is_not_there_has_failed(void **state)
{
    (void)state;
    const char *const argv[] = {"no-such-program", NULL};
    const struct command command = {.argv = argv, .fds = {-1, -1, -1}};
    uint32_t session = box_spawn(&box, &command);
    struct init_message failed = box_expect(&box, INIT_FAILED, session, NULL);
    assert_int_equal(failed.stage, INIT_STAGE_EXEC);
    assert_int_equal(failed.os_errno, ENOENT);
    box_expect(&box, INIT_GONE, session, NULL);
}

/* When the end is heard of, the pipe holds everything, and its end. */
static void the_end_comes_after_the_output(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c", "echo out; echo err >&2", NULL};
    for (int i = 0; i < MANY; i++) {
        int ends[2];
        char output[16];
        make_pipe(ends);
        const struct command command = {.argv = argv, .fds = {-1, ends[1], ends[1]}};
        uint32_t session = box_spawn(&box, &command);
        (void)close(ends[1]);
        (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
        box_expect(&box, INIT_SPAWNED, session, NULL);
        box_expect(&box, INIT_EXITED, session, NULL);
        assert_int_equal(read(ends[0], output, sizeof(output)), 8);
        assert_memory_equal(output, "out\nerr\n", 8);
        assert_int_equal(read(ends[0], output, sizeof(output)), 0);
        (void)close(ends[0]);
        box_expect(&box, INIT_GONE, session, NULL);
    }
}

/* Written to one descriptor outside, they come in the order in which they were written. */
static void two_outputs_into_one_pipe_stay_in_order(void **state)
{
    (void)state;
    static char output[1 << 20];
    static char expected[1 << 20];
    size_t length = 0;
    for (int i = 0; i < 2000; i++)
        length +=
            (size_t)snprintf(expected + length, sizeof(expected) - length, "o%d\ne%d\n", i, i);
    assert_int_equal(
        box_run(&box, "i=0; while [ $i -lt 2000 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done",
                output, sizeof(output)),
        0);
    assert_string_equal(output, expected);
}

static void input_reaches_its_end(void **state)
{
    (void)state;
    const char *const argv[] = {"cat", NULL};
    int in[2], out[2];
    char output[64];
    make_pipe(in);
    make_pipe(out);
    const struct command command = {.argv = argv, .fds = {in[0], out[1], -1}};
    uint32_t session = box_spawn(&box, &command);
    (void)close(in[0]);
    (void)close(out[1]);
    box_expect(&box, INIT_SPAWNED, session, NULL);
    assert_int_equal(write(in[1], "hello", 5), 5);
    assert_int_equal(read(out[0], output, sizeof(output)), 5);
    assert_int_equal(write(in[1], " you", 4), 4);
    (void)close(in[1]);
    assert_int_equal(read_all(out[0], output, sizeof(output)), 4);
    assert_int_equal(box_expect(&box, INIT_EXITED, session, NULL).value, 0);
    box_expect(&box, INIT_GONE, session, NULL);
    (void)close(out[0]);
}

/* As with a pipe of one's own: who writes to a command that has gone hears of it. */
static void input_nobody_reads_is_refused(void **state)
{
    (void)state;
    const char *const argv[] = {"true", NULL};
    int in[2];
    make_pipe(in);
    const struct command command = {.argv = argv, .fds = {in[0], -1, -1}};
    uint32_t session = box_spawn(&box, &command);
    (void)close(in[0]);
    box_expect(&box, INIT_SPAWNED, session, NULL);
    box_expect(&box, INIT_EXITED, session, NULL);
    box_expect(&box, INIT_GONE, session, NULL);
    struct pollfd broken = {in[1], 0, 0};
    assert_int_equal(poll(&broken, 1, BOX_PATIENCE_MS), 1);
    assert_true(broken.revents & POLLERR);
    (void)close(in[1]);
}

static void output_nobody_reads_ends_its_writer(void **state)
{
    (void)state;
    const char *const argv[] = {"yes", NULL};
    int out[2];
    make_pipe(out);
    const struct command command = {.argv = argv, .fds = {-1, out[1], -1}};
    uint32_t session = box_spawn(&box, &command);
    (void)close(out[1]);
    box_expect(&box, INIT_SPAWNED, session, NULL);
    (void)close(out[0]);
    int status = box_expect(&box, INIT_EXITED, session, NULL).value;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
    box_expect(&box, INIT_GONE, session, NULL);
}

static void a_signal_reaches_its_command(void **state)
{
    (void)state;
    const char *const argv[] = {"sleep", "1000", NULL};
    const struct command command = {.argv = argv, .fds = {-1, -1, -1}};
    uint32_t session = box_spawn(&box, &command);
    box_expect(&box, INIT_SPAWNED, session, NULL);
    box_send(&box, INIT_SIGNAL, session, SIGTERM);
    int status = box_expect(&box, INIT_EXITED, session, NULL).value;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    box_expect(&box, INIT_GONE, session, NULL);
}

/* One command with all that it started, whatever it did to hide; another one lives on. */
static void one_command_is_killed_to_the_last_process(void **state)
{
    (void)state;
    const char *const bad[] = {
        "sh", "-c",
        "trap '' TERM; setsid sh -c 'sleep 771 & sleep 772' & (sleep 773 &) ; echo up; sleep 774",
        NULL};
    const char *const good[] = {"cat", NULL};
    int out[2], in[2], back[2];
    char output[256];
    make_pipe(out);
    make_pipe(in);
    make_pipe(back);
    const struct command first = {.argv = bad, .fds = {-1, out[1], -1}};
    const struct command second = {.argv = good, .fds = {in[0], back[1], -1}};
    uint32_t victim = box_spawn(&box, &first);
    box_expect(&box, INIT_SPAWNED, victim, NULL);
    uint32_t bystander = box_spawn(&box, &second);
    box_expect(&box, INIT_SPAWNED, bystander, NULL);
    (void)close(out[1]);
    (void)close(in[0]);
    (void)close(back[1]);
    assert_int_equal(read(out[0], output, sizeof(output)), 3);
    struct init_message report;
    bool is_gone = false;
    for (int i = 0; i < 100 && !is_gone; i++) {
        struct pollfd ready = {box.socket, POLLIN, 0};
        box_send(&box, INIT_KILL, victim, 0);
        while (!is_gone && poll(&ready, 1, 20) == 1) {
            int fd;
            report = box_hear(&box, &fd);
            assert_int_equal(report.session, victim);
            is_gone = report.type == INIT_GONE;
        }
    }
    assert_true(is_gone);
    assert_int_equal(read(out[0], output, sizeof(output)), 0);
    assert_int_equal(write(in[1], "still", 5), 5);
    assert_int_equal(read(back[0], output, sizeof(output)), 5);
    (void)close(in[1]);
    box_expect(&box, INIT_EXITED, bystander, NULL);
    box_expect(&box, INIT_GONE, bystander, NULL);
    assert_int_equal(
        box_run(&box, "ps ax | grep -c 'sleep 77[1-4]$'; true", output, sizeof(output)), 0);
    assert_string_equal(output, "0\n");
    (void)close(out[0]);
    (void)close(back[0]);
}

static bool is_gone(struct box *where, uint32_t session, int patience_ms)
{
    struct pollfd ready = {where->socket, POLLIN, 0};
    int fd;
    if (poll(&ready, 1, patience_ms) != 1)
        return false;
    struct init_message report = box_hear(where, &fd);
    assert_int_equal(report.type, INIT_GONE);
    assert_int_equal(report.session, session);
    return true;
}

/* What a command leaves behind lives on, whoever else is killed, and dies when it is its turn. */
static void a_daemon_belongs_to_its_command(void **state)
{
    (void)state;
    const char *const leaves[] = {"sh", "-c", "setsid sleep 781 & (env -i sleep 782 &); sleep 0.1",
                                  NULL};
    const char *const victim[] = {"sh", "-c", "(setsid sleep 783 &); sleep 784", NULL};
    const char count[] = "ps ax | grep -c 'sleep 78[1-4]$'; true";
    const struct command first = {.argv = leaves, .fds = {-1, -1, -1}};
    const struct command second = {.argv = victim, .fds = {-1, -1, -1}};
    char output[64];
    uint32_t daemon = box_spawn(&box, &first);
    box_expect(&box, INIT_SPAWNED, daemon, NULL);
    box_expect(&box, INIT_EXITED, daemon, NULL);
    uint32_t killed = box_spawn(&box, &second);
    box_expect(&box, INIT_SPAWNED, killed, NULL);
    (void)usleep(100000);
    box_send(&box, INIT_KILL, killed, 0);
    box_expect(&box, INIT_EXITED, killed, NULL);
    for (int i = 0; i < 100 && !is_gone(&box, killed, 20); i++)
        box_send(&box, INIT_KILL, killed, 0);
    assert_int_equal(box_run(&box, count, output, sizeof(output)), 0);
    assert_string_equal(output, "2\n");
    box_send(&box, INIT_KILL, daemon, 0);
    for (int i = 0; i < 100 && !is_gone(&box, daemon, 20); i++)
        box_send(&box, INIT_KILL, daemon, 0);
    assert_int_equal(box_run(&box, count, output, sizeof(output)), 0);
    assert_string_equal(output, "0\n");
}

static void a_long_environment_arrives(void **state)
{
    (void)state;
    static char large[200000];
    const char *const argv[] = {"sh", "-c", "echo ${#A} ${#B}", NULL};
    const char *const env[] = {large, "B=12345", "PATH=/usr/bin:/bin", NULL};
    int out[2];
    char output[64] = "";
    memset(large, 'x', 100002);
    memcpy(large, "A=", 2);
    large[100002] = '\0';
    make_pipe(out);
    const struct command command = {.argv = argv, .env = env, .fds = {-1, out[1], -1}};
    uint32_t session = box_spawn(&box, &command);
    (void)close(out[1]);
    box_expect(&box, INIT_SPAWNED, session, NULL);
    (void)read_all(out[0], output, sizeof(output) - 1);
    assert_string_equal(output, "100000 5\n");
    box_expect(&box, INIT_EXITED, session, NULL);
    box_expect(&box, INIT_GONE, session, NULL);
    (void)close(out[0]);
}

/* As hutch-copy does: a program that is not in the container. */
static void a_program_travels(void **state)
{
    (void)state;
    const char *const argv[] = {"my-echo", "travelled", "far", NULL};
    int out[2];
    char output[64] = "";
    make_pipe(out);
    int program = open("/bin/echo", O_RDONLY | O_CLOEXEC);
    assert_true(program >= 0);
    const struct command command = {.argv = argv, .fds = {-1, out[1], -1}, .program = program};
    uint32_t session = box_spawn(&box, &command);
    (void)close(out[1]);
    box_expect(&box, INIT_SPAWNED, session, NULL);
    (void)read_all(out[0], output, sizeof(output) - 1);
    assert_string_equal(output, "travelled far\n");
    assert_int_equal(box_expect(&box, INIT_EXITED, session, NULL).value, 0);
    box_expect(&box, INIT_GONE, session, NULL);
    (void)close(out[0]);
    (void)close(program);
}

/* Reads until the terminal has said this. */
static void await_text(int master, const char *text)
{
    char seen[8192] = "";
    size_t length = 0;
    while (!strstr(seen, text)) {
        struct pollfd ready = {master, POLLIN, 0};
        if (poll(&ready, 1, BOX_PATIENCE_MS) != 1)
            fail_msg("no '%s' in '%s'", text, seen);
        ssize_t got = read(master, seen + length, sizeof(seen) - 1 - length);
        if (got <= 0)
            fail_msg("ended without '%s': '%s'", text, seen);
        length += (size_t)got;
        seen[length] = '\0';
    }
}

static void a_terminal_is_one(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c",
                                "case $(tty) in /dev/pts/*) stty size ;; esac; "
                                "trap 'stty size' WINCH; cat; echo by $?",
                                NULL};
    const struct command command = {.argv = argv, .terminal = true, .rows = 33, .columns = 77};
    const struct winsize larger = {.ws_row = 44, .ws_col = 88};
    uint32_t session = box_spawn(&box, &command);
    int master = -1;
    char rest[256];
    box_expect(&box, INIT_SPAWNED, session, &master);
    assert_true(isatty(master));
    await_text(master, "33 77\r\n");
    assert_int_equal(write(master, "typed\n", 6), 6);
    await_text(master, "typed\r\ntyped\r\n"); /* echoed once, by the terminal inside */
    assert_int_equal(ioctl(master, TIOCSWINSZ, &larger), 0);
    (void)usleep(300000);
    assert_int_equal(write(master, "\003", 1), 1); /* Ctrl-C: of cat, and of the shell's wait */
    int status = box_expect(&box, INIT_EXITED, session, NULL).value;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    box_expect(&box, INIT_GONE, session, NULL);
    while (read(master, rest, sizeof(rest)) > 0)
        ;
    assert_int_equal(errno, EIO);
    (void)close(master);
}

static void a_terminal_hears_of_its_size(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c",
                                "trap 'stty size; exit 5' WINCH; echo up; "
                                "while :; do sleep 0.01; done",
                                NULL};
    const struct command command = {.argv = argv, .terminal = true, .rows = 33, .columns = 77};
    const struct winsize larger = {.ws_row = 44, .ws_col = 88};
    uint32_t session = box_spawn(&box, &command);
    int master = -1;
    box_expect(&box, INIT_SPAWNED, session, &master);
    await_text(master, "up");
    assert_int_equal(ioctl(master, TIOCSWINSZ, &larger), 0);
    await_text(master, "44 88");
    assert_int_equal(WEXITSTATUS(box_expect(&box, INIT_EXITED, session, NULL).value), 5);
    box_expect(&box, INIT_GONE, session, NULL);
    (void)close(master);
}

static void a_terminal_that_is_closed_hangs_up(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c", "echo up; cat", NULL};
    const struct command command = {.argv = argv, .terminal = true, .rows = 33, .columns = 77};
    uint32_t session = box_spawn(&box, &command);
    int master = -1;
    box_expect(&box, INIT_SPAWNED, session, &master);
    await_text(master, "up");
    (void)close(master);
    int status = box_expect(&box, INIT_EXITED, session, NULL).value;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
    box_expect(&box, INIT_GONE, session, NULL);
}

/* Every command has the user id of hutch-init. */
static void hutch_init_is_out_of_reach(void **state)
{
    (void)state;
    char output[2048];
    box_run(&box,
            "cat /proc/1/environ; for i in 0 1 2 3 4 5 6 7; do cat /proc/1/fd/$i; done; dd "
            "if=/proc/1/mem bs=1 count=1; "
            "kill -STOP 1; kill -KILL 1; sleep 0.1; echo done",
            output, sizeof(output));
    assert_non_null(strstr(output, "/proc/1/environ: Permission denied"));
    assert_non_null(strstr(output, "/proc/1/fd/4: Permission denied"));
    assert_non_null(strstr(output, "/proc/1/fd/5: Permission denied"));
    assert_non_null(strstr(output, "'/proc/1/mem': Permission denied"));
    assert_non_null(strstr(output, "done\n"));
    assert_int_equal(box_run(&box, "echo alive", output, sizeof(output)), 0);
    assert_string_equal(output, "alive\n");
}

/* It takes its own guard along, and all others of its user; PID 1 and the tunnel stay. */
static void a_command_that_kills_everybody_kills_no_tunnel(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c", "sleep 0.1; kill -KILL -1", NULL};
    const struct command command = {.argv = argv, .fds = {-1, -1, -1}};
    char output[64];
    uint32_t session = box_spawn(&box, &command);
    box_expect(&box, INIT_SPAWNED, session, NULL);
    assert_true(WIFSIGNALED(box_expect(&box, INIT_EXITED, session, NULL).value));
    box_expect(&box, INIT_GONE, session, NULL);
    assert_int_equal(box_run(&box, "echo alive", output, sizeof(output)), 0);
    assert_string_equal(output, "alive\n");
}

static void descriptors_are_the_commands_own(void **state)
{
    (void)state;
    char output[128];
    assert_int_equal(box_run(&box, "ls /proc/self/fd | tr '\\n' ' '", output, sizeof(output)), 0);
    assert_string_equal(output, "0 1 2 3 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_who_it_is),
        cmocka_unit_test(ends_are_told_as_they_were),
        cmocka_unit_test(a_command_that_is_not_there_has_failed),
        cmocka_unit_test(the_end_comes_after_the_output),
        cmocka_unit_test(two_outputs_into_one_pipe_stay_in_order),
        cmocka_unit_test(input_reaches_its_end),
        cmocka_unit_test(input_nobody_reads_is_refused),
        cmocka_unit_test(output_nobody_reads_ends_its_writer),
        cmocka_unit_test(a_signal_reaches_its_command),
        cmocka_unit_test(one_command_is_killed_to_the_last_process),
        cmocka_unit_test(a_daemon_belongs_to_its_command),
        cmocka_unit_test(a_long_environment_arrives),
        cmocka_unit_test(a_program_travels),
        cmocka_unit_test(a_terminal_is_one),
        cmocka_unit_test(a_terminal_hears_of_its_size),
        cmocka_unit_test(a_terminal_that_is_closed_hangs_up),
        cmocka_unit_test(hutch_init_is_out_of_reach),
        cmocka_unit_test(a_command_that_kills_everybody_kills_no_tunnel),
        cmocka_unit_test(descriptors_are_the_commands_own),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, start_box, end_box);
}
