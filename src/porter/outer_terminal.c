/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal's master cannot leave a container. The keeper gets that of another terminal, made
 * here, whose other side this process reads and writes raw: what is typed goes in, what the command
 * writes comes out, and the line discipline that counts is the one inside. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "porter/outer.h"
#include "util/own.h"

/* The kernel tells only a terminal's own processes of a new size. */
#define LOOK_PAUSE_US 100000

static int make_raw(int fd)
{
    struct termios mode;
    if (tcgetattr(fd, &mode) < 0)
        return -1;
    cfmakeraw(&mode);
    return tcsetattr(fd, TCSANOW, &mode);
}

int outer_make_terminal(struct channel *channel, uint16_t rows, uint16_t columns)
{
    const int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    int unlocked = 0;
    hutch_autofd int master = open("/dev/ptmx", flags);
    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
        return -1;
    hutch_autofd int slave = ioctl(master, TIOCGPTPEER, flags | O_NONBLOCK);
    hutch_autofd int twin = slave < 0 ? -1 : fcntl(slave, F_DUPFD_CLOEXEC, 0);
    if (twin < 0 || make_raw(slave) < 0 || ioctl(slave, TIOCSWINSZ, &size) < 0)
        return -1;
    channel->master = HUTCH_TAKE_FD(master);
    channel->source = HUTCH_TAKE_FD(slave);
    channel->target = HUTCH_TAKE_FD(twin);
    channel->rows = rows;
    channel->columns = columns;
    return 0;
}

static void look_at(struct outer *outer, struct channel *channel)
{
    struct winsize size;
    if (channel->source < 0 || ioctl(channel->source, TIOCGWINSZ, &size) < 0 ||
        (size.ws_row == channel->rows && size.ws_col == channel->columns))
        return;
    const uint16_t told[2] = {size.ws_row, size.ws_col};
    channel->rows = size.ws_row;
    channel->columns = size.ws_col;
    frame_put(&outer->tunnel.out, FRAME_RESIZE, channel->number, told, sizeof(told));
}

void outer_look_before_input(struct outer *outer, size_t fixed)
{
    for (size_t i = 0; i < outer->tunnel.count; i++) {
        struct channel *channel = outer->tunnel.channels[i];
        if (channel->kind == FRAME_FD_TERMINAL && outer->tunnel.fds[fixed + 2 * i].revents)
            look_at(outer, channel);
    }
}

uint64_t outer_look_at_terminals(struct outer *outer)
{
    uint64_t now = report_clock_us();
    bool is_due = outer->look_us <= now;
    bool has_one = false;
    for (size_t i = 0; i < outer->tunnel.count; i++) {
        struct channel *channel = outer->tunnel.channels[i];
        if (channel->kind != FRAME_FD_TERMINAL)
            continue;
        has_one = true;
        if (is_due)
            look_at(outer, channel);
    }
    if (!has_one)
        return UINT64_MAX;
    return is_due || outer->look_us == UINT64_MAX ? now + LOOK_PAUSE_US : outer->look_us;
}
