/* SPDX-License-Identifier: Apache-2.0 */
/* What reaches a keeper from outside its socket: signals, and changes of its home.
 *
 * The socket in the home is the only way to a keeper. Whoever takes it away by mistake would leave
 * a sandbox that nobody can stop or remove, so the keeper hears of changes in its home and listens
 * again. It hears by directory notification: unlike inotify that has no limit for each user, which
 * a thousand keepers would reach. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/warden.h"
#include "util/own.h"
#include "util/remove_tree.h"

int warden_watch(struct warden *warden, struct hutch_error *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGIO);
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
    warden->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (warden->signals < 0)
        return hutch_fail_errno(err, errno, "watch for signals");
    /* one of its own: the home's is shared with whoever made it. Without the notice all else works
     */
    warden->watched = openat(warden->home.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (warden->watched >= 0)
        (void)fcntl(warden->watched, F_NOTIFY, DN_CREATE | DN_DELETE | DN_RENAME | DN_MULTISHOT);
    return 0;
}

void warden_take_signals(struct warden *warden)
{
    struct signalfd_siginfo signal;
    while (read(warden->signals, &signal, sizeof(signal)) == (ssize_t)sizeof(signal)) {
        if (signal.ssi_signo == SIGIO)
            warden->look_at_home_us = now_us() + WARDEN_HOME_PAUSE_US;
        warden->is_terminated |= signal.ssi_signo != SIGIO;
    }
    if (warden->is_terminated && warden->is_resting)
        warden->is_ending = true;
    else if (warden->is_terminated)
        warden_stop(warden, "terminated", 1000);
}

int warden_bind(struct warden *warden, struct hutch_error *err)
{
    struct stat made;
    int bound = home_bind(&warden->home, err);
    if (bound < 0)
        return bound;
    hutch_fd_close(&warden->bound);
    warden->bound = bound;
    warden->socket_inode =
        fstatat(warden->home.dir, "socket", &made, AT_SYMLINK_NOFOLLOW) == 0 ? made.st_ino : 0;
    return 0;
}

int warden_listen(struct warden *warden, struct hutch_error *err)
{
    if ((warden->bound < 0 && warden_bind(warden, err) < 0) ||
        home_listen(&warden->home, warden->bound, err) < 0)
        return -(int)err->code;
    hutch_fd_close(&warden->listener);
    warden->listener = HUTCH_TAKE_FD(warden->bound);
    return 0;
}

/* Nobody can ask for anything any more, nor find what it has written. */
static void end_homeless(struct warden *warden)
{
    warden->is_removing = true;
    if (warden->is_resting)
        warden->is_ending = true;
    else
        warden_stop(warden, "killed", 0);
}

uint64_t warden_look_at_home(struct warden *warden)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct stat info;
    if (!warden->look_at_home_us)
        return WARDEN_NEVER;
    if (now_us() < warden->look_at_home_us)
        return warden->look_at_home_us;
    warden->look_at_home_us = 0;
    if (fstat(warden->home.dir, &info) == 0 && info.st_nlink == 0) {
        end_homeless(warden);
        return 0;
    }
    if (warden->is_young)
        home_write_out(&warden->home);
    warden->is_young = false;
    if (warden->listener < 0 ||
        (fstatat(warden->home.dir, "socket", &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         info.st_ino == warden->socket_inode))
        return WARDEN_NEVER;
    (void)remove_tree(warden->home.dir, "socket");
    (void)!warden_listen(warden, &ignored);
    return WARDEN_NEVER;
}
