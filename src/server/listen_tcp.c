/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "server/listen.h"
#include "server/util.h"

#define HOST_BYTES 256
#define BACKLOG 4096

static bool is_loopback_v4(uint32_t address)
{
    return (ntohl(address) >> 24) == 127;
}

bool listen_is_loopback(int fd, char *ret_address, size_t size)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof(address);
    *ret_address = '\0';
    if (getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        return false;
    if (address.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address;
        (void)inet_ntop(AF_INET, &v4->sin_addr, ret_address, (socklen_t)size);
        return is_loopback_v4(v4->sin_addr.s_addr);
    }
    if (address.ss_family != AF_INET6)
        return address.ss_family == AF_UNIX;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address;
    (void)inet_ntop(AF_INET6, &v6->sin6_addr, ret_address, (socklen_t)size);
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* "127.0.0.1:80", "[::1]:80", "localhost:80" */
static int split(const char *text, char host[HOST_BYTES], char port[8], struct hutch_error *err)
{
    const char *colon = strrchr(text, ':');
    uint64_t number = 0;
    bool has_brackets = *text == '[' && colon && colon > text && colon[-1] == ']';
    size_t skip = has_brackets ? 1 : 0;
    size_t length = colon ? (size_t)(colon - text) - 2 * skip : 0;
    if (!length || length >= HOST_BYTES || !server_number(colon + 1, UINT16_MAX, &number) ||
        (!has_brackets && memchr(text, ':', length)))
        return server_fail(err, HUTCH_E_INVALID,
                           "--listen takes ADDRESS:PORT, such as 127.0.0.1:8888 or [::1]:8888, not "
                           "'%.80s'",
                           text);
    (void)snprintf(host, HOST_BYTES, "%.*s", (int)length, text + skip);
    (void)snprintf(port, 8, "%u", (unsigned)number);
    return 0;
}

static int open_now(const struct addrinfo *info)
{
    int one = 1;
    server_autofd int fd =
        socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (info->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    if (bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
        return -1;
    return server_take(&fd);
}

static int open_one(const struct addrinfo *info)
{
    unsigned waited_ms = 0;
    int fd;
    while ((fd = open_now(info)) < 0 && errno == EADDRINUSE && listen_try_again(&waited_ms))
        ;
    return fd;
}

static int open_each(const struct listen_tcp *request, const struct addrinfo *found,
                     struct hutch_error *err)
{
    size_t count = 0;
    for (const struct addrinfo *info = found; info; info = info->ai_next) {
        char address[INET6_ADDRSTRLEN];
        int fd = open_one(info);
        if (fd < 0 && errno == EADDRNOTAVAIL && (info->ai_next || count))
            continue; /* a name may have an address that this machine has not */
        if (fd < 0)
            return server_fail_errno(err, "listen on '%.80s'", request->text);
        bool is_loopback = listen_is_loopback(fd, address, sizeof(address));
        int status = request->on_socket(request->userdata, fd, address, is_loopback, err);
        if (status < 0)
            return status;
        count++;
    }
    return 0;
}

int listen_tcp(const struct listen_tcp *request, struct hutch_error *err)
{
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    char host[HOST_BYTES], port[8];
    struct addrinfo *found = NULL;
    int status = split(request->text, host, port, err);
    if (status < 0)
        return status;
    int failed = getaddrinfo(host, port, &hints, &found);
    if (failed)
        return server_fail(err, HUTCH_E_INVALID, "listen on '%.80s': %s", request->text,
                           gai_strerror(failed));
    status = open_each(request, found, err);
    freeaddrinfo(found);
    return status;
}
