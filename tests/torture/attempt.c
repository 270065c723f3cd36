/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the program under test and taking its output; and attempts that are not traced. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "torture.h"

enum { WATCHDOG_SECONDS = 10, FIRED_FD = 51 };

static volatile sig_atomic_t barked;

void die(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)fprintf(stderr, "torture: ");
    (void)vfprintf(stderr, fmt, args);
    (void)fprintf(stderr, "\n");
    va_end(args);
    exit(2);
}

static void bark(int number)
{
    (void)number;
    barked = 1;
    (void)alarm(1); /* again, should it come just before a wait */
}

void watchdog_start(void)
{
    struct sigaction action = {.sa_handler = bark}; /* no SA_RESTART: waits are to return */
    (void)sigaction(SIGALRM, &action, NULL);
    barked = 0;
    (void)alarm(WATCHDOG_SECONDS);
}

bool watchdog_barked(void)
{
    return barked;
}

static void make_pipe(int *ret_read, int *ret_write)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        die("make a pipe: %s", strerror(errno));
    *ret_read = ends[0];
    *ret_write = ends[1];
}

/* Takes what the terminal shows until its last user is gone. */
static pid_t start_drain(int master, int slave, int out)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    (void)close(slave);
    char chunk[4096];
    ssize_t got;
    while ((got = read(master, chunk, sizeof(chunk))) > 0)
        if (write(out, chunk, (size_t)got) != got)
            break;
    _exit(0);
}

static void open_terminal(struct stdio *stdio)
{
    struct winsize size = {.ws_row = 33, .ws_col = 77};
    int master;
    int slave;
    int write_end;
    if (openpty(&master, &slave, NULL, NULL, &size) < 0)
        die("make a terminal: %s", strerror(errno));
    (void)fcntl(master, F_SETFD, FD_CLOEXEC);
    (void)fcntl(slave, F_SETFD, FD_CLOEXEC);
    make_pipe(&stdio->out, &write_end);
    stdio->drain = start_drain(master, slave, write_end);
    (void)close(write_end);
    stdio->master = master;
    stdio->ends[0] = slave;
    stdio->ends[1] = fcntl(slave, F_DUPFD_CLOEXEC, 3);
}

void stdio_open(const struct campaign *campaign, struct stdio *stdio)
{
    *stdio = (struct stdio){.master = -1};
    if (campaign->terminal) {
        open_terminal(stdio);
    } else {
        stdio->ends[0] =
            open(campaign->input ? campaign->input : "/dev/null", O_RDONLY | O_CLOEXEC);
        if (stdio->ends[0] < 0)
            die("open '%s': %s", campaign->input, strerror(errno));
        make_pipe(&stdio->out, &stdio->ends[1]);
    }
    make_pipe(&stdio->err, &stdio->ends[2]);
}

void child_execute(const struct campaign *campaign, const struct stdio *stdio)
{
    if (campaign->terminal && (setsid() < 0 || ioctl(stdio->ends[0], TIOCSCTTY, 0) < 0))
        die("take the terminal: %s", strerror(errno));
    for (int i = 0; i < 3; i++)
        if (dup2(stdio->ends[i], i) < 0)
            die("place descriptor %d: %s", i, strerror(errno));
    if (dup2(stdio->ends[2], STRAY_FD) < 0)
        die("place a stray descriptor: %s", strerror(errno));
    world_enter();
    if (campaign->uid &&
        (setgroups(0, NULL) < 0 || setresgid(campaign->uid, campaign->uid, campaign->uid) < 0 ||
         setresuid(campaign->uid, campaign->uid, campaign->uid) < 0))
        die("become uid %u: %s", (unsigned)campaign->uid, strerror(errno));
    (void)execv(campaign->argv[0], campaign->argv);
    die("execute '%s': %s", campaign->argv[0], strerror(errno));
}

/* Nobody writes any more, or somebody was left over: wait for neither. */
static void take_all(int fd, char *text)
{
    size_t length = 0;
    ssize_t got;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    while (length < TEXT_MAX - 1 && (got = read(fd, text + length, TEXT_MAX - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    (void)close(fd);
}

void stdio_collect(struct stdio *stdio, struct attempt *attempt)
{
    if (stdio->drain)
        (void)waitpid(stdio->drain, NULL, 0);
    struct termios mode;
    if (stdio->master >= 0) {
        attempt->raw = tcgetattr(stdio->master, &mode) == 0 && !(mode.c_lflag & ICANON);
        (void)close(stdio->master);
    }
    take_all(stdio->out, attempt->out);
    take_all(stdio->err, attempt->err);
}

/* The wrapped allocators (alloc.c) tell through this pipe that one has failed. */
static pid_t start_plain(const struct campaign *campaign, long number, const struct stdio *stdio,
                         int fired)
{
    pid_t pid = fork();
    if (pid < 0)
        die("fork: %s", strerror(errno));
    if (pid > 0)
        return pid;
    char text[32];
    (void)snprintf(text, sizeof(text), "%ld", number);
    (void)setenv("HUTCH_TORTURE_ALLOC", text, 1);
    if (dup2(fired, FIRED_FD) < 0)
        die("place the pipe: %s", strerror(errno));
    child_execute(campaign, stdio);
}

/* As subreaper we inherit whoever the program left behind. */
static unsigned count_left(void)
{
    unsigned left = 0;
    for (int tries = 0; tries < 100; tries++) {
        pid_t pid = waitpid(-1, NULL, WNOHANG | __WALL);
        if (pid < 0)
            return 0;
        left = 1;
        if (pid == 0)
            (void)usleep(5000);
    }
    return left;
}

void attempt_plain(const struct campaign *campaign, long number, struct attempt *attempt)
{
    struct stdio stdio;
    int fired_read;
    int fired_write;
    stdio_open(campaign, &stdio);
    make_pipe(&fired_read, &fired_write);
    pid_t pid = start_plain(campaign, number, &stdio, fired_write);
    (void)close(fired_write);
    for (int i = 0; i < 3; i++)
        (void)close(stdio.ends[i]);
    watchdog_start();
    while (waitpid(pid, &attempt->status, 0) < 0) {
        if (errno != EINTR)
            die("wait: %s", strerror(errno));
        attempt->hung = true;
        (void)kill(pid, SIGKILL);
    }
    (void)alarm(0);
    stdio_collect(&stdio, attempt);
    attempt->left = count_left();
    char word[TEXT_MAX];
    take_all(fired_read, word);
    attempt->fired = word[0] != '\0';
    (void)snprintf(attempt->what, sizeof(attempt->what), "allocation %ld: %.200s", number, word);
    if (WIFSIGNALED(attempt->status))
        attempt->crash = WTERMSIG(attempt->status);
}
