/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/planter.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "egress/gateway.h"

#define RETRY_US 5000
#define DNS_PORT 53

/* ---- wishes ---- */

static void wish(struct planter *planter, struct site *site, enum plant_kind kind,
                 const struct address *address, uint16_t port)
{
    struct plant_wish *wish = &planter->asked.wishes[planter->asked.count];
    planter->sites[planter->asked.count++] = site;
    *wish = (struct plant_wish){.kind = (uint16_t)kind, .family = address->family, .port = port};
    memcpy(wish->address, address->bytes, sizeof(wish->address));
}

static void wish_server(struct planter *planter)
{
    static const char *const texts[] = {PLANT_SERVER_4, PLANT_SERVER_6};
    for (size_t i = 0; i < HUTCH_COUNT(texts); i++) {
        struct address address = {0};
        (void)address_parse(texts[i], &address);
        wish(planter, NULL, PLANT_UDP, &address, DNS_PORT);
        wish(planter, NULL, PLANT_TCP, &address, DNS_PORT);
        wish(planter, NULL, PLANT_TAP, &address, IPPROTO_TCP);
        wish(planter, NULL, PLANT_TAP, &address, IPPROTO_UDP);
    }
    planter->has_server = true;
}

/* Wishes as many of the site's sockets as there is room for. Returns false when some are left. */
static bool wish_site(struct gateway *gateway, struct site *site)
{
    static const uint16_t families[] = {AF_INET, AF_INET6};
    struct planter *planter = &gateway->planter;
    uint16_t ports[SITE_MAX_DOORS / 2];
    size_t count = site_ports(gateway->order, site->name, ports, HUTCH_COUNT(ports));
    for (size_t i = 0; i < count; i++) {
        for (size_t f = 0; f < HUTCH_COUNT(families); f++) {
            struct address address;
            if (site_has_door(site, families[f], ports[i]))
                continue;
            if (planter->asked.count == PLANT_MAX)
                return false;
            site_address(site, families[f], &address);
            wish(planter, site, PLANT_TCP, &address, ports[i]);
        }
    }
    return true;
}

/* A site whose sockets come in two requests is planted with the second. */
static void wish_sites(struct gateway *gateway)
{
    struct planter *planter = &gateway->planter;
    planter->wants_next = false;
    for (size_t i = 0; i < gateway->sites.count; i++) {
        struct site *site = &gateway->sites.rows[i];
        if (!site->is_used || !site->is_wanted)
            continue;
        if (planter->wants_next || !gateway->order || !wish_site(gateway, site))
            planter->wants_next = gateway->order != NULL;
        else
            site->is_planted = true;
        if (!gateway->order)
            site->is_wanted = false;
    }
}

/* ---- asking ---- */

static void send_request(struct gateway *gateway)
{
    struct planter *planter = &gateway->planter;
    if (send(planter->watch.fd, &planter->asked, planter->asked_bytes,
             MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
        errno != EPIPE && errno != ECONNRESET)
        loop_timer_set(&gateway->loop, &planter->retry, RETRY_US);
}

static void on_retry(struct timer *timer)
{
    send_request(LOOP_OWNER(timer, struct gateway, planter.retry));
}

static void finish_sites(struct gateway *gateway)
{
    for (size_t i = 0; i < gateway->sites.count; i++) {
        struct site *site = &gateway->sites.rows[i];
        if (site->is_wanted && site->is_planted)
            site->is_wanted = false;
    }
}

void planter_go(struct gateway *gateway)
{
    struct planter *planter = &gateway->planter;
    if (planter->is_busy)
        return;
    planter->asked.count = 0;
    if (!planter->has_server)
        wish_server(planter);
    wish_sites(gateway);
    if (!planter->asked.count) {
        finish_sites(gateway);
        gateway_planted(gateway);
        return;
    }
    planter->is_busy = true;
    planter->asked.number = ++planter->number;
    planter->asked.has_more = planter->wants_next;
    planter->asked_bytes = offsetof(struct plant_request, wishes) +
                           planter->asked.count * sizeof(planter->asked.wishes[0]);
    send_request(gateway);
}

/* ---- answers ---- */

/* Without IPv6, or without taps, there is less to serve; without the rest nothing. */
static void note_failure(struct gateway *gateway, const struct plant_wish *wish, int os_errno)
{
    struct address address = {.family = wish->family};
    char text[ADDRESS_TEXT_BYTES];
    if (wish->family != AF_INET || wish->kind == PLANT_TAP)
        return;
    memcpy(address.bytes, wish->address, sizeof(address.bytes));
    address_format(&address, text);
    gateway_plant_failed(gateway, text, wish->port, os_errno);
}

static void take_socket(struct gateway *gateway, size_t i, int fd)
{
    struct planter *planter = &gateway->planter;
    const struct plant_wish *wish = &planter->asked.wishes[i];
    struct site *site = planter->sites[i];
    if (wish->kind == PLANT_TAP)
        tap_take(gateway, wish->family, wish->port, fd);
    else if (!site)
        nameserver_take(gateway, wish->kind == PLANT_UDP, wish->family, fd);
    else if (!order_allows(gateway->order, site->name, wish->port))
        hutch_fd_close(&fd); /* the order has changed meanwhile */
    else if (site_open_door(site, wish->family, wish->port, fd) < 0)
        note_failure(gateway, wish, EMFILE);
}

static void take_reply(struct gateway *gateway, const struct plant_reply *reply, const int *fds,
                       size_t fd_count)
{
    struct planter *planter = &gateway->planter;
    size_t next = 0;
    for (size_t i = 0; i < planter->asked.count; i++) {
        if (reply->errors[i])
            note_failure(gateway, &planter->asked.wishes[i], reply->errors[i]);
        else if (next < fd_count)
            take_socket(gateway, i, fds[next++]);
    }
    for (; next < fd_count; next++)
        (void)close(fds[next]);
    planter->is_busy = false;
    finish_sites(gateway);
    planter_go(gateway);
}

static void on_readable(struct watch *watch, uint32_t events)
{
    struct gateway *gateway = LOOP_OWNER(watch, struct gateway, planter.watch);
    struct plant_reply reply = {0};
    int fds[PLANT_MAX];
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(fds))];
    } control;
    struct iovec piece = {&reply, sizeof(reply)};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    size_t count = 0;
    ssize_t got = recvmsg(watch->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got <= 0) {
        if (events & (EPOLLHUP | EPOLLERR))
            loop_close(watch); /* PID 1 is gone, and with it everybody whom we serve */
        return;
    }
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(head), count * sizeof(int));
    }
    if ((size_t)got == sizeof(reply) && gateway->planter.is_busy &&
        reply.number == gateway->planter.number && reply.count == gateway->planter.asked.count) {
        take_reply(gateway, &reply, fds, count);
        return;
    }
    while (count)
        (void)close(fds[--count]); /* of a request of the gateway before us */
}

int planter_init(struct gateway *gateway, int fd, struct hutch_error *err)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    struct planter *planter = &gateway->planter;
    planter->watch = (struct watch){.fd = fd, .on_event = on_readable};
    planter->retry.on_due = on_retry;
    planter->number = (uint32_t)now.tv_nsec ^ (uint32_t)now.tv_sec << 16;
    if (loop_watch(&gateway->loop, &planter->watch, EPOLLIN) < 0)
        return hutch_fail_errno(err, errno, "watch the way to PID 1");
    return 0;
}
