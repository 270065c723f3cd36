/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/output.h"

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* A blocked signal reaches the signalfd even when its disposition is to be ignored. What the caller
 * ignores (nohup, a shell's background job) must stay ignored, so it is left out. */
static bool is_ignored(int signal_number)
{
    struct sigaction action;
    return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static int open_set(const sigset_t *set, int *ret_fd, struct hutch_error *err)
{
    if (sigprocmask(SIG_BLOCK, set, NULL) < 0)
        return cli_fail_errno(err, errno, "cannot block signals");
    int fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return cli_fail_errno(err, errno, "cannot receive signals by descriptor");
    *ret_fd = fd;
    return 0;
}

int cli_signals_open(struct cli_signals *signals, struct hutch_error *err)
{
    sigset_t cancel;
    sigset_t resize;
    (void)sigemptyset(&cancel);
    for (size_t i = 0; i < CLI_COUNT(ending); i++)
        if (!is_ignored(ending[i]))
            (void)sigaddset(&cancel, ending[i]);
    (void)sigemptyset(&resize);
    (void)sigaddset(&resize, SIGWINCH);
    int failed = open_set(&cancel, &signals->cancel_fd, err);
    return failed ? failed : open_set(&resize, &signals->resize_fd, err);
}

int cli_signals_read(const struct cli_signals *signals)
{
    struct signalfd_siginfo info;
    ssize_t got = read(signals->cancel_fd, &info, sizeof(info));
    return got == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

void cli_signals_drain_resize(const struct cli_signals *signals)
{
    struct signalfd_siginfo info;
    while (read(signals->resize_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        ;
}

void cli_signals_close(struct cli_signals *signals)
{
    if (signals->cancel_fd >= 0)
        (void)close(signals->cancel_fd);
    if (signals->resize_fd >= 0)
        (void)close(signals->resize_fd);
    *signals = (struct cli_signals)CLI_SIGNALS_INIT;
}
