/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end: the kernel's word on a unix socket, an address on others. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http/connection.h"

static int read_unix(struct http_peer *about, int fd)
{
    struct ucred credentials;
    socklen_t length = sizeof(credentials);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0)
        return -1;
    about->is_unix = about->is_loopback = true;
    about->uid = credentials.uid;
    about->gid = credentials.gid;
    about->pid = credentials.pid;
    (void)snprintf(about->name, sizeof(about->name), "uid %" PRIu32, credentials.uid);
    return 0;
}

static void read_ipv4(struct http_peer *about, const struct sockaddr_in *address)
{
    char text[INET_ADDRSTRLEN] = "";
    (void)inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
    about->is_loopback = ntohl(address->sin_addr.s_addr) >> 24 == 127;
    (void)snprintf(about->name, sizeof(about->name), "%s:%u", text, ntohs(address->sin_port));
}

static void read_ipv6(struct http_peer *about, const struct sockaddr_in6 *address)
{
    char text[INET6_ADDRSTRLEN] = "";
    const struct in6_addr *in6 = &address->sin6_addr;
    (void)inet_ntop(AF_INET6, in6, text, sizeof(text));
    about->is_loopback =
        IN6_IS_ADDR_LOOPBACK(in6) || (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == 127);
    (void)snprintf(about->name, sizeof(about->name), "[%s]:%u", text, ntohs(address->sin6_port));
}

struct peer *peer_new(int fd, const void *address, bool has_tls)
{
    struct peer *peer = calloc(1, sizeof(*peer));
    const struct sockaddr *family = address;
    if (!peer)
        return NULL;
    peer->references = 1;
    peer->about.uid = (uid_t)-1;
    peer->about.gid = (gid_t)-1;
    peer->about.has_tls = has_tls;
    if (family->sa_family == AF_INET) {
        read_ipv4(&peer->about, address);
    } else if (family->sa_family == AF_INET6) {
        read_ipv6(&peer->about, address);
    } else if (read_unix(&peer->about, fd) < 0) {
        free(peer);
        return NULL;
    }
    return peer;
}

void peer_unref(struct peer *peer)
{
    if (peer && !--peer->references)
        free(peer);
}
