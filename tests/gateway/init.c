/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1's part: opens what the gateway wishes, in the inside's namespace. */
#include "world.h"

#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/plant.h"

static int open_wish(const struct plant_wish *wish)
{
    const int yes = 1;
    struct address address = {.family = wish->family};
    struct sockaddr_storage name;
    if (wish->kind == PLANT_TAP)
        return -EPERM;
    memcpy(address.bytes, wish->address, sizeof(address.bytes));
    socklen_t length = address_socket(&address, wish->port, &name);
    int type = wish->kind == PLANT_TCP ? SOCK_STREAM : SOCK_DGRAM;
    int fd = socket(wish->family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, (struct sockaddr *)&name, length) < 0 ||
        (type == SOCK_STREAM && listen(fd, 4096) < 0)) {
        int saved = errno;
        (void)close(fd);
        return -saved;
    }
    return fd;
}

static void answer(int plant, const struct plant_request *request)
{
    struct plant_reply reply = {.number = request->number, .count = request->count};
    int fds[PLANT_MAX] = {0};
    size_t count = 0;
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(fds))];
    } control;
    struct iovec piece = {&reply, sizeof(reply)};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    for (uint32_t i = 0; i < request->count; i++) {
        int fd = open_wish(&request->wishes[i]);
        reply.errors[i] = fd < 0 ? -fd : 0;
        if (fd >= 0)
            fds[count++] = fd;
    }
    if (count) {
        memset(&control, 0, sizeof(control));
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
    }
    (void)sendmsg(plant, &message, MSG_NOSIGNAL);
    while (count)
        (void)close(fds[--count]);
}

void init_run(int inside, int plant)
{
    struct plant_request request;
    if (setns(inside, CLONE_NEWNET) < 0)
        _exit(1);
    while (recv(plant, &request, sizeof(request), 0) > 0)
        answer(plant, &request);
    _exit(0);
}
