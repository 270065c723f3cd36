/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that must not be had: other families, raw ones, other protocols. */
#include "surface.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum {
    FAMILIES = 46, /* one more than Linux 6.18 has */
    /* A type with a flag that there is not: EINVAL without the filter, before the kernel has looked
     * at the family, or loaded a module for it. */
    STRAY_FLAG = 0x100
};

static bool is_allowed_family(unsigned long family)
{
    return family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
}

static void one_family(struct surface *surface, unsigned long family)
{
    char name[64];
    struct surface_attempt attempt = {.name = name,
                                      .expected = EAFNOSUPPORT,
                                      .number = SYS_socket,
                                      .args = {family, SOCK_STREAM | STRAY_FLAG, 0}};
    (void)snprintf(name, sizeof(name), "socket family %lu", family);
    surface_denied_dirty(surface, &attempt, 1U << 0 | 1U << 1 | 1U << 2);

    (void)snprintf(name, sizeof(name), "socket family %lu in earnest", family);
    attempt = (struct surface_attempt){.name = name,
                                       .layer = SURFACE_SANDBOX,
                                       .expected = SURFACE_ANY_ERROR,
                                       .number = SYS_socket,
                                       .args = {family, SOCK_DGRAM, 0}};
    surface_denied_dirty(surface, &attempt, 1U << 0);
    attempt.args[1] = SOCK_RAW;
    (void)snprintf(name, sizeof(name), "socket family %lu raw in earnest", family);
    surface_denied_dirty(surface, &attempt, 1U << 0);
}

static void one_pair(struct surface *surface, unsigned long family)
{
    char name[64];
    struct surface_attempt attempt = {.name = name,
                                      .expected = EAFNOSUPPORT,
                                      .number = SYS_socketpair,
                                      .args = {family, SOCK_STREAM | STRAY_FLAG, 0, 0}};
    (void)snprintf(name, sizeof(name), "socketpair family %lu", family);
    surface_denied_dirty(surface, &attempt, 1U << 0 | 1U << 1 | 1U << 2);
}

static void families(struct surface *surface)
{
    static const unsigned long strange[] = {255, 0x10001, 0x7fffffff, 0x80000001, 0xffffffff};
    for (unsigned long family = 0; family < FAMILIES; family++) {
        if (!is_allowed_family(family))
            one_family(surface, family);
        if (family != AF_UNIX)
            one_pair(surface, family);
    }
    for (size_t i = 0; i < SURFACE_COUNT(strange); i++) {
        one_family(surface, strange[i]);
        one_pair(surface, strange[i]);
    }
}

/* The flags every program adds do not hide the type. A protocol that does not exist makes the
 * kernel say so (EPROTONOSUPPORT or ESOCKTNOSUPPORT) before it asks for a capability. */
static void types(struct surface *surface)
{
    static const unsigned long allowed_families[] = {AF_UNIX, AF_INET, AF_INET6};
    static const unsigned long forbidden_types[] = {0, SOCK_RAW,    SOCK_RDM, SOCK_DCCP,
                                                    7, SOCK_PACKET, 11,       15};
    static const unsigned long flags[] = {0, SOCK_CLOEXEC, SOCK_CLOEXEC | SOCK_NONBLOCK};
    char name[64];
    for (size_t i = 0; i < 3 * SURFACE_COUNT(forbidden_types) * 3; i++) {
        unsigned long family = allowed_families[i % 3];
        unsigned long flag = flags[i / 3 % 3];
        unsigned long type = forbidden_types[i / 9];
        (void)snprintf(name, sizeof(name), "socket family %lu type %lu flags %#lx", family, type,
                       flag);
        surface_denied_dirty(surface,
                             &(struct surface_attempt){.name = name,
                                                       .expected = EPERM,
                                                       .number = SYS_socket,
                                                       .args = {family, type | flag, 0xfffff}},
                             1U << 0 | 1U << 1 | 1U << 2);
    }
}

static void protocol(struct surface *surface, unsigned long family, unsigned long type,
                     unsigned long number, int expected)
{
    char name[64];
    struct surface_attempt attempt = {.name = name,
                                      .expected = expected,
                                      .number = SYS_socket,
                                      .args = {family, type | STRAY_FLAG, number}};
    (void)snprintf(name, sizeof(name), "socket family %lu type %lu protocol %lu", family, type,
                   number);
    surface_denied_dirty(surface, &attempt, 1U << 0 | 1U << 1 | 1U << 2);
}

static void protocols(struct surface *surface)
{
    enum { L2TP = 115, SMC = 256, MPTCP = 262 };
    static const unsigned long internet[] = {AF_INET, AF_INET6};
    for (size_t i = 0; i < SURFACE_COUNT(internet); i++) {
        protocol(surface, internet[i], SOCK_STREAM, IPPROTO_SCTP, EPROTONOSUPPORT);
        protocol(surface, internet[i], SOCK_SEQPACKET, IPPROTO_SCTP, EPROTONOSUPPORT);
        protocol(surface, internet[i], SOCK_SEQPACKET, 0, EPROTONOSUPPORT);
        protocol(surface, internet[i], SOCK_STREAM, SMC, EPROTONOSUPPORT);
        protocol(surface, internet[i], SOCK_STREAM, MPTCP, EPROTONOSUPPORT);
        protocol(surface, internet[i], SOCK_DGRAM, L2TP, EPROTONOSUPPORT);
        protocol(surface, internet[i], SOCK_DGRAM, IPPROTO_ICMP, EPROTONOSUPPORT);
        protocol(surface, internet[i], SOCK_DGRAM, IPPROTO_ICMPV6, EPROTONOSUPPORT);
        protocol(surface, internet[i], SOCK_DGRAM, IPPROTO_UDPLITE, EPROTONOSUPPORT);
        protocol(surface, internet[i], SOCK_DGRAM, IPPROTO_RAW, EPROTONOSUPPORT);
    }
    for (unsigned long number = 1; number < 32; number++)
        protocol(surface, AF_NETLINK, SOCK_RAW, number, EAFNOSUPPORT);
}

void surface_sockets(struct surface *surface)
{
    /* No descriptor: EBADF without the filter. */
    static const struct surface_attempt ulp = {.name = "setsockopt TCP_ULP",
                                               .expected = ENOPROTOOPT,
                                               .number = SYS_setsockopt,
                                               .args = {0xffffffff, IPPROTO_TCP, TCP_ULP, 0, 0}};
    families(surface);
    types(surface);
    protocols(surface);
    surface_denied_dirty(surface, &ulp, 1U << 1 | 1U << 2);
}
