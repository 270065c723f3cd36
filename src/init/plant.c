/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets for the gateway. It is outside and may be taken over by what it reads, so it gets none
 * but those of the two networks that are its business; whatever it says, nothing here waits for it
 * once a command runs. */
#include "init/plant.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/network.h"

#define BACKLOG 4096 /* the kernel's own ceiling is lower where its sandbox's is */

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

static bool is_ours(const struct plant_wish *wish)
{
    struct in_addr network_4;
    struct in6_addr network_6;
    (void)inet_pton(AF_INET, PLANT_NETWORK_4, &network_4);
    (void)inet_pton(AF_INET6, PLANT_NETWORK_6, &network_6);
    if (wish->family == AF_INET) {
        uint32_t address;
        memcpy(&address, wish->address, sizeof(address));
        return !((ntohl(address) ^ ntohl(network_4.s_addr)) >> (32 - PLANT_PREFIX_4));
    }
    return wish->family == AF_INET6 && !memcmp(wish->address, &network_6, PLANT_PREFIX_6 / 8);
}

static socklen_t fill_address(const struct plant_wish *wish, union address *address)
{
    memset(address, 0, sizeof(*address));
    if (wish->family == AF_INET) {
        address->in.sin_family = AF_INET;
        address->in.sin_port = htons(wish->port);
        memcpy(&address->in.sin_addr, wish->address, sizeof(address->in.sin_addr));
        return sizeof(address->in);
    }
    address->in6.sin6_family = AF_INET6;
    address->in6.sin6_port = htons(wish->port);
    memcpy(&address->in6.sin6_addr, wish->address, sizeof(address->in6.sin6_addr));
    return sizeof(address->in6);
}

/* IPv6 binds to a network that is local by a route only when told that the address need not be that
 * of a device. */
static int prepare_6(int fd)
{
    const int yes = 1;
    return setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes)) == 0 &&
                   setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &yes, sizeof(yes)) == 0
               ? 0
               : -1;
}

/* Its address may still be in use by connections that a gateway before has left. */
static int open_socket(const struct plant_wish *wish)
{
    const int yes = 1;
    union address address;
    bool is_tcp = wish->kind == PLANT_TCP;
    if (!is_ours(wish)) {
        errno = EACCES;
        return -1;
    }
    socklen_t length = fill_address(wish, &address);
    int type = (is_tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int fd = socket(wish->family, type, 0);
    if (fd < 0)
        return -1;
    if ((!is_tcp || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0) &&
        (wish->family == AF_INET || prepare_6(fd) == 0) && bind(fd, &address.any, length) == 0 &&
        (!is_tcp || listen(fd, BACKLOG) == 0))
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* Each one is asked for once by each gateway, and is the same socket every time. */
static int lend_tap(const struct network *network, const struct plant_wish *wish)
{
    int tap = network->taps[(wish->family == AF_INET6) * 2 + (wish->port == IPPROTO_UDP)];
    errno = EAFNOSUPPORT;
    return tap < 0 ? -1 : dup(tap);
}

static int open_wish(const struct network *network, const struct plant_wish *wish)
{
    switch (wish->kind) {
    case PLANT_TCP:
    case PLANT_UDP:
        return open_socket(wish);
    case PLANT_TAP:
        return lend_tap(network, wish);
    default:
        errno = EINVAL;
        return -1;
    }
}

static void send_reply(int plant, struct plant_reply *reply, const int *fds, size_t count)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * PLANT_MAX)];
    } control;
    struct iovec data = {reply, sizeof(*reply)};
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
    if (count) {
        memset(&control, 0, sizeof(control));
        header.msg_control = control.space;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(rights), fds, sizeof(int) * count);
    }
    /* whoever asks and does not read is not waited for: it gets no answer */
    (void)!sendmsg(plant, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Answers one request. flags: MSG_DONTWAIT, or 0 to wait for one. */
static int serve_one(struct network *network, int flags)
{
    struct plant_request request = {.count = 0};
    struct plant_reply reply = {.number = 0};
    int fds[PLANT_MAX];
    size_t count = 0;
    ssize_t got;
    do /* descriptors that come along are not taken */
        got = recv(network->plant, &request, sizeof(request), flags);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return got < 0 && errno == EAGAIN ? 0 : -1;
    if ((size_t)got < offsetof(struct plant_request, wishes) || request.count > PLANT_MAX ||
        (size_t)got <
            offsetof(struct plant_request, wishes) + request.count * sizeof(request.wishes[0]))
        return 0;
    reply.number = request.number;
    reply.count = request.count;
    for (uint32_t i = 0; i < request.count; i++) {
        int fd = open_wish(network, &request.wishes[i]);
        reply.errors[i] = fd < 0 ? errno : 0;
        if (fd >= 0)
            fds[count++] = fd;
    }
    send_reply(network->plant, &reply, fds, count);
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    if (!request.has_more)
        network->is_planted = true;
    return 0;
}

int plant_serve(struct network *network)
{
    return serve_one(network, MSG_DONTWAIT);
}

int plant_wait(struct network *network)
{
    while (network->plant >= 0 && !network->is_planted)
        if (serve_one(network, 0) < 0)
            return -1;
    return 0;
}
