/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's network: loopback, and with egress two more networks that are local to it, so that
 * every address in them leads to a socket of the sandbox's own namespace or to nothing. There is no
 * other device and no route that leads out. */
#include "init/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/on_stack.h"
#include "init/plant.h"

#define LOOPBACK_INDEX 1 /* in every network namespace */

/* ---- the namespace --------------------------------------------------------------------------- */

/* The kernel takes about as long to make one as PID 1 to build the file tree. So a thread makes it
 * meanwhile, for a network namespace is a task's and not a process's. */

#define MAKER_STACK_BYTES 8192
#define MAKER_NUMBER 999 /* not the next one, which is the first command's */

/* With loopback up. Its descriptor is asked of a socket: once the root has changed, no name of
 * /proc leads there. */
RAW static void make_namespace(struct network *network)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    long failed = raw_syscall(SYS_unshare, CLONE_NEWNET, 0, 0, 0, 0);
    long fd =
        failed ? failed : raw_syscall(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0, 0, 0);
    if (fd < 0) {
        network->namespace = fd;
        return;
    }
    failed = raw_syscall(SYS_ioctl, fd, SIOCSIFFLAGS, (long)&request, 0, 0);
    network->namespace = failed ? failed : raw_syscall(SYS_ioctl, fd, SIOCGSKNS, 0, 0, 0);
    raw_syscall(SYS_close, fd, 0, 0, 0, 0);
}

RAW static void maker_main(void *network)
{
    make_namespace(network);
    for (;;)
        raw_syscall(SYS_exit, 0, 0, 0, 0, 0);
}

/* As the keeper does with PID 1, and for the same reason (native/processors.c). */
static void keep_away(long thread)
{
    cpu_set_t others;
    int here = sched_getcpu();
    if (here < 0 || sched_getaffinity(0, sizeof(others), &others) < 0)
        return;
    CPU_CLR((size_t)here, &others);
    (void)sched_setaffinity((pid_t)thread, sizeof(others), &others); /* refused when none is left */
}

void network_init(struct network *network, bool is_pending)
{
    *network = (struct network){.is_pending = is_pending, .plant = -1};
    for (size_t i = 0; i < PLANT_TAPS; i++)
        network->taps[i] = -1; /* 0 is the way to the keeper */
}

void network_begin(struct network *network)
{
    static _Alignas(16) char stack[MAKER_STACK_BYTES];
    const pid_t number = MAKER_NUMBER;
    struct clone_args args = {
        .flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                 CLONE_CHILD_CLEARTID,
        .child_tid = (uintptr_t)&network->maker_busy,
        .stack = (uintptr_t)stack,
        .stack_size = sizeof(stack),
        .set_tid = (uintptr_t)&number,
        .set_tid_size = 1,
    };
    network->maker_busy = 1;
    network->maker = clone_on_stack(&args, maker_main, network);
    if (network->maker > 0)
        keep_away(network->maker);
    else
        network->maker = 0;
}

/* It counts as a process of the sandbox until the kernel knows its number no more. */
static void await_maker(struct network *network)
{
    await_cleared(&network->maker_busy);
    while (syscall(SYS_tgkill, getpid(), network->maker, 0) == 0)
        sched_yield();
}

int network_enter(struct network *network)
{
    if (!network->is_pending)
        return 0;
    if (network->maker)
        await_maker(network);
    else
        make_namespace(network);
    if (network->namespace < 0) {
        errno = (int)-network->namespace;
        return -1;
    }
    int status = setns((int)network->namespace, CLONE_NEWNET);
    close((int)network->namespace);
    network->is_pending = status < 0;
    return status;
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Orders to the kernel, in one message. An order that fails is answered whether it asked for an
 * answer or not; the last one asks. */
struct batch {
    _Alignas(NLMSG_ALIGNTO) char data[512];
    size_t length;
    uint32_t count;
};

static struct nlmsghdr *batch_add(struct batch *batch, uint16_t type, uint16_t flags,
                                  const void *body, size_t length)
{
    struct nlmsghdr *order = (struct nlmsghdr *)(void *)(batch->data + batch->length);
    order->nlmsg_len = (uint32_t)NLMSG_LENGTH(length);
    order->nlmsg_type = type;
    order->nlmsg_flags = NLM_F_REQUEST | flags;
    order->nlmsg_seq = ++batch->count;
    memcpy(NLMSG_DATA(order), body, length);
    batch->length += NLMSG_ALIGN(order->nlmsg_len);
    return order;
}

static void batch_attribute(struct batch *batch, struct nlmsghdr *order, uint16_t type,
                            const void *data, size_t length)
{
    struct rtattr *attribute = (struct rtattr *)(void *)(batch->data + batch->length);
    attribute->rta_type = type;
    attribute->rta_len = (uint16_t)RTA_LENGTH(length);
    memcpy(RTA_DATA(attribute), data, length);
    batch->length += RTA_ALIGN(attribute->rta_len);
    order->nlmsg_len = (uint32_t)(batch->data + batch->length - (char *)order);
}

/* The way to the gateway is memory: there is nothing to be congested, and on a host whose
 * connections are paced those of the sandbox would be too. */
static void batch_unpaced(struct batch *batch, struct nlmsghdr *order)
{
    const struct {
        struct rtattr head;
        char name[sizeof("reno")];
    } metric = {{(uint16_t)RTA_LENGTH(sizeof(metric.name)), RTAX_CC_ALGO}, "reno"};
    batch_attribute(batch, order, RTA_METRICS, &metric, metric.head.rta_len);
}

static void add_network_4(struct batch *batch)
{
    struct in_addr address, network;
    const int index = LOOPBACK_INDEX;
    struct ifaddrmsg body = {.ifa_family = AF_INET,
                             .ifa_prefixlen = 32,
                             .ifa_scope = RT_SCOPE_HOST,
                             .ifa_index = LOOPBACK_INDEX};
    struct rtmsg route = {.rtm_family = AF_INET,
                          .rtm_dst_len = PLANT_PREFIX_4,
                          .rtm_table = RT_TABLE_LOCAL,
                          .rtm_protocol = RTPROT_BOOT,
                          .rtm_scope = RT_SCOPE_HOST,
                          .rtm_type = RTN_LOCAL};
    (void)inet_pton(AF_INET, PLANT_SERVER_4, &address);
    (void)inet_pton(AF_INET, PLANT_NETWORK_4, &network);
    struct nlmsghdr *order =
        batch_add(batch, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
    batch_attribute(batch, order, IFA_LOCAL, &address, sizeof(address));
    order = batch_add(batch, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &route, sizeof(route));
    batch_attribute(batch, order, RTA_DST, &network, sizeof(network));
    batch_attribute(batch, order, RTA_PREFSRC, &address, sizeof(address));
    batch_attribute(batch, order, RTA_OIF, &index, sizeof(index));
    batch_unpaced(batch, order);
}

static void add_network_6(struct batch *batch)
{
    struct in6_addr address;
    const int index = LOOPBACK_INDEX;
    struct ifaddrmsg body = {.ifa_family = AF_INET6,
                             .ifa_prefixlen = 128,
                             .ifa_flags = IFA_F_NODAD,
                             .ifa_scope = RT_SCOPE_HOST,
                             .ifa_index = LOOPBACK_INDEX};
    struct rtmsg route = {.rtm_family = AF_INET6,
                          .rtm_dst_len = PLANT_PREFIX_6,
                          .rtm_table = RT_TABLE_LOCAL,
                          .rtm_protocol = RTPROT_BOOT,
                          .rtm_type = RTN_LOCAL};
    (void)inet_pton(AF_INET6, PLANT_SERVER_6, &address);
    struct nlmsghdr *order =
        batch_add(batch, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
    batch_attribute(batch, order, IFA_ADDRESS, &address, sizeof(address));
    (void)inet_pton(AF_INET6, PLANT_NETWORK_6, &address);
    order = batch_add(batch, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, &route,
                      sizeof(route));
    batch_attribute(batch, order, RTA_DST, &address, sizeof(address));
    batch_attribute(batch, order, RTA_OIF, &index, sizeof(index));
    batch_unpaced(batch, order);
}

/* A kernel without IPv6 refuses the orders after the last that is needed, and nothing is lost. */
static int read_answers(int fd, uint32_t needed, uint32_t last)
{
    for (;;) {
        _Alignas(NLMSG_ALIGNTO) char data[1024];
        ssize_t got = recv(fd, data, sizeof(data), 0);
        const struct nlmsghdr *answer = (const struct nlmsghdr *)(const void *)data;
        if (got < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) ||
            answer->nlmsg_type != NLMSG_ERROR) {
            errno = got < 0 ? errno : EPROTO;
            return -1;
        }
        const struct nlmsgerr *error = (const struct nlmsgerr *)NLMSG_DATA(answer);
        if (error->error && answer->nlmsg_seq <= needed) {
            errno = -error->error;
            return -1;
        }
        if (answer->nlmsg_seq == last)
            return 0;
    }
}

static int add_networks(void)
{
    struct batch batch = {.length = 0};
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    const struct ifinfomsg up = {
        .ifi_index = LOOPBACK_INDEX, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0)
        return -1;
    (void)batch_add(&batch, RTM_NEWLINK, 0, &up, sizeof(up));
    add_network_4(&batch);
    uint32_t needed = batch.count;
    add_network_6(&batch);
    int status = sendto(fd, batch.data, batch.length, 0, (const struct sockaddr *)&kernel,
                        sizeof(kernel)) < 0
                     ? -1
                     : read_answers(fd, needed, batch.count);
    close(fd);
    return status;
}

/* ---- what nobody listens to ------------------------------------------------------------------ */

#define DROP 0
#define TCP_FLAGS_OF_INTEREST 0x12 /* SYN and ACK */
#define TCP_SYN 0x02
#define DNS_PORT 53
#define TAP_QUEUE_BYTES 65536

/* Of IPv4, whose header may have options: offsets of the next one are relative to its end. */
static struct sock_filter filter_4[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16), /* where to */
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xfffe0000),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xc6120000, 0, 16),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 6), /* not the rest of one that came in pieces */
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 14, 0),
    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9), /* what it carries */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 10),
    BPF_STMT(BPF_LD | BPF_B | BPF_IND, 13),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TCP_FLAGS_OF_INTEREST),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TCP_SYN, 0, 7),
    BPF_STMT(BPF_LD | BPF_H | BPF_IND, 0), /* no answer of the name server's */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DNS_PORT, 5, 0),
    BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2), /* and no question to it */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DNS_PORT, 0, 2),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xc6120001, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, PLANT_TAP_BYTES),
    BPF_STMT(BPF_RET | BPF_K, DROP),
};

/* Of IPv6 a raw socket has what follows the header; the header itself is where it was. */
#define IP6(offset) ((uint32_t)(SKF_NET_OFF + (offset)))
static struct sock_filter filter_6[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP6(24)), /* where to */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xfd687574, 0, 17),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP6(28)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x63680000, 0, 15),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, IP6(6)), /* what it carries */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 12),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TCP_FLAGS_OF_INTEREST),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TCP_SYN, 0, 9),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0), /* no answer of the name server's */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DNS_PORT, 7, 0),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 2), /* and no question to it */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DNS_PORT, 0, 4),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP6(32)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP6(36)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, PLANT_TAP_BYTES),
    BPF_STMT(BPF_RET | BPF_K, DROP),
};

/* A raw socket gets a copy of every packet of its protocol, whoever else does. A packet socket
 * would do as well, but whoever closes one waits until all processors have looked up: several times
 * as long as a whole run takes. */
static int open_tap(int family, int protocol)
{
    const int yes = 1, few = TAP_QUEUE_BYTES;
    const struct sock_fprog program =
        family == AF_INET ? (struct sock_fprog){sizeof(filter_4) / sizeof(filter_4[0]), filter_4}
                          : (struct sock_fprog){sizeof(filter_6) / sizeof(filter_6[0]), filter_6};
    int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few)) == 0 &&
        (family == AF_INET ||
         setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &yes, sizeof(yes)) == 0))
        return fd;
    close(fd);
    return -1;
}

int network_raise(struct network *network)
{
    static const struct {
        int family;
        int protocol;
    } taps[PLANT_TAPS] = {{AF_INET, IPPROTO_TCP},
                          {AF_INET, IPPROTO_UDP},
                          {AF_INET6, IPPROTO_TCP},
                          {AF_INET6, IPPROTO_UDP}};
    if (add_networks() < 0)
        return -1;
    for (size_t i = 0; i < PLANT_TAPS; i++)
        network->taps[i] = open_tap(taps[i].family, taps[i].protocol);
    return 0;
}
