/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/output.h"

/* Restoring from the background would stop us by SIGTTOU before it is done; with the signal blocked
 * the kernel lets it through. */
static int set_attributes(int fd, const struct termios *attributes)
{
    sigset_t block;
    sigset_t before;
    (void)sigemptyset(&block);
    (void)sigaddset(&block, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &block, &before);
    int result = tcsetattr(fd, TCSANOW, attributes); /* not drained: nobody may be reading */
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}

/* Is it still as we left it? The control flags are not compared: a terminal may refuse the 8-bit
 * characters that cfmakeraw(3) asks for. */
static bool same_mode(const struct termios *a, const struct termios *b)
{
    return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_lflag == b->c_lflag;
}

static void say(int fd, const char *codes)
{
    ssize_t written = write(fd, codes, strlen(codes));
    (void)written; /* a terminal that is gone needs nothing */
}

/* The guard's whole life. It holds nothing but the terminal and the pipe, and no signal ends it. */
static _Noreturn void guard(const struct cli_terminal *terminal, int pipe_fd)
{
    sigset_t all;
    char word;
    ssize_t got;
    struct termios now;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    if (dup2(terminal->fd, STDIN_FILENO) < 0 || dup2(pipe_fd, STDOUT_FILENO) < 0)
        _exit(1);
    (void)syscall(SYS_close_range, STDERR_FILENO, ~0U, 0);
    do {
        got = read(STDOUT_FILENO, &word, 1);
    } while (got < 0 && errno == EINTR);
    if (got == 0 && terminal->farewell)
        say(STDIN_FILENO, terminal->farewell);
    if (got == 0 && tcgetattr(STDIN_FILENO, &now) == 0 && same_mode(&now, &terminal->raw))
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal->saved);
    _exit(0);
}

static int start_guard(struct cli_terminal *terminal, struct hutch_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return cli_fail_errno(err, errno, "cannot guard the terminal: pipe");
    pid_t pid = fork();
    if (pid < 0) {
        int saved = errno;
        (void)close(ends[0]);
        (void)close(ends[1]);
        return cli_fail_errno(err, saved, "cannot guard the terminal: fork");
    }
    if (pid == 0) {
        (void)close(ends[1]);
        guard(terminal, ends[0]);
    }
    (void)close(ends[0]);
    terminal->guard = pid;
    terminal->guard_fd = ends[1];
    return 0;
}

/* A guard that is not told, or cannot be, sees end-of-file next and restores what is still raw. */
static void stop_guard(struct cli_terminal *terminal, bool restored)
{
    if (terminal->guard < 0)
        return;
    if (restored) {
        ssize_t told = write(terminal->guard_fd, "q", 1);
        (void)told;
    }
    (void)close(terminal->guard_fd);
    while (waitpid(terminal->guard, NULL, 0) < 0 && errno == EINTR)
        ;
    terminal->guard = -1;
    terminal->guard_fd = -1;
}

/* A stopped hutch would leave the shell with a raw terminal. The command's Ctrl-Z does not come
 * this way, so only kill -TSTP is held back. */
static void hold_stop_signal(void)
{
    sigset_t stop;
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTSTP);
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
}

static int read_mode(struct cli_terminal *terminal, int fd, struct hutch_error *err)
{
    if (tcgetattr(fd, &terminal->saved) < 0)
        return cli_fail_errno(err, errno, "cannot read the terminal's mode");
    terminal->fd = fd;
    terminal->raw = terminal->saved;
    return 0;
}

static int enter_mode(struct cli_terminal *terminal, int fd, struct hutch_error *err)
{
    hold_stop_signal();
    int failed = start_guard(terminal, err);
    if (failed)
        return failed;
    if (tcsetattr(fd, TCSADRAIN, &terminal->raw) < 0) {
        failed = cli_fail_errno(err, errno, "cannot put the terminal into raw mode");
        stop_guard(terminal, true);
        return failed;
    }
    terminal->is_raw = true;
    return 0;
}

int cli_terminal_check(bool json, struct hutch_error *err)
{
    if (json)
        return cli_fail(err, HUTCH_E_INVALID,
                        "'--tty' shows the command's output on this terminal, '--json' keeps it "
                        "for the result; give one of them");
    if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
        return cli_fail(err, HUTCH_E_INVALID,
                        "'--tty' needs a terminal, but standard %s is none; leave '-t' out",
                        isatty(STDIN_FILENO) != 1 ? "input" : "output");
    return 0;
}

int cli_terminal_make_raw(struct cli_terminal *terminal, int fd, struct hutch_error *err)
{
    int failed = read_mode(terminal, fd, err);
    if (failed)
        return failed;
    cfmakeraw(&terminal->raw);
    return enter_mode(terminal, fd, err);
}

int cli_terminal_take_screen(struct cli_terminal *terminal, int fd, const char *greeting,
                             const char *farewell, struct hutch_error *err)
{
    int failed = read_mode(terminal, fd, err);
    if (failed)
        return failed;
    terminal->raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    terminal->raw.c_cc[VMIN] = 1;
    terminal->raw.c_cc[VTIME] = 0;
    terminal->farewell = farewell;
    failed = enter_mode(terminal, fd, err);
    if (failed)
        terminal->farewell = NULL;
    else
        say(fd, greeting);
    return failed;
}

int cli_terminal_hide_input(struct cli_terminal *terminal, int fd, struct hutch_error *err)
{
    int failed = read_mode(terminal, fd, err);
    if (failed)
        return failed;
    terminal->raw.c_lflag &= ~(tcflag_t)ECHO;
    terminal->raw.c_lflag |= ECHONL;
    return enter_mode(terminal, fd, err);
}

void cli_terminal_restore(struct cli_terminal *terminal)
{
    if (terminal->farewell)
        say(terminal->fd, terminal->farewell);
    terminal->farewell = NULL;
    bool restored = !terminal->is_raw || set_attributes(terminal->fd, &terminal->saved) == 0;
    terminal->is_raw = false;
    stop_guard(terminal, restored);
}
