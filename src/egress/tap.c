/* SPDX-License-Identifier: Apache-2.0 */
/* What was sent to the sandbox's own networks where nobody listens: the kernel has refused it
 * already; here it is only noted. */
#include <netinet/in.h>
#include <string.h>

#include "egress/gateway.h"

#define PACKETS_OF_A_TURN 64
#define IP4_BYTES 20

struct packet {
    struct address to;
    uint16_t port;
};

/* Ports are at the same place of both protocols. */
static bool read_port(const uint8_t *data, size_t length, struct packet *packet)
{
    if (length < 4)
        return false;
    packet->port = (uint16_t)(data[2] << 8 | data[3]);
    return true;
}

static bool read_packet_4(const uint8_t *data, size_t length, struct packet *packet)
{
    if (length < IP4_BYTES || data[0] >> 4 != 4)
        return false;
    size_t header = (size_t)(data[0] & 15) * 4;
    packet->to.family = AF_INET;
    memcpy(packet->to.bytes, data + 16, 4);
    return header <= length && read_port(data + header, length - header, packet);
}

/* Of IPv6 the kernel hands out what follows the header, and where it went beside it. */
static bool read_packet_6(struct msghdr *message, const uint8_t *data, size_t length,
                          struct packet *packet)
{
    struct in6_pktinfo info;
    struct cmsghdr *where = CMSG_FIRSTHDR(message);
    if (!where || where->cmsg_level != IPPROTO_IPV6 || where->cmsg_type != IPV6_PKTINFO ||
        where->cmsg_len < CMSG_LEN(sizeof(info)))
        return false;
    memcpy(&info, CMSG_DATA(where), sizeof(info));
    packet->to.family = AF_INET6;
    memcpy(packet->to.bytes, &info.ipi6_addr, sizeof(info.ipi6_addr));
    return read_port(data, length, packet);
}

static void note(struct gateway *gateway, const struct packet *packet, bool is_udp)
{
    const struct site *site = sites_find_address(&gateway->sites, &packet->to);
    char text[ADDRESS_TEXT_BYTES];
    address_format(&packet->to, text);
    if (is_udp)
        figures_deny(gateway->table, site ? site->name : text, packet->port, EGRESS_WHY_UDP);
    else if (!site)
        figures_deny(gateway->table, text, packet->port, EGRESS_WHY_ADDRESS);
    else if (!site_has_door(site, packet->to.family, packet->port))
        figures_deny(gateway->table, site->name, packet->port,
                     order_names(gateway->order, site->name) ? EGRESS_WHY_PORT : EGRESS_WHY_NAME);
}

static void drain(struct tap *tap)
{
    for (int i = 0; i < PACKETS_OF_A_TURN; i++) {
        uint8_t data[PLANT_TAP_BYTES];
        union {
            struct cmsghdr header;
            char space[CMSG_SPACE(sizeof(struct in6_pktinfo))];
        } control;
        struct iovec iov = {data, sizeof(data)};
        struct msghdr message = {.msg_iov = &iov,
                                 .msg_iovlen = 1,
                                 .msg_control = control.space,
                                 .msg_controllen = sizeof(control.space)};
        struct packet packet = {.port = 0};
        ssize_t got = recvmsg(tap->watch.fd, &message, MSG_DONTWAIT);
        if (got < 0)
            return;
        if (tap->family == AF_INET ? read_packet_4(data, (size_t)got, &packet)
                                   : read_packet_6(&message, data, (size_t)got, &packet))
            note(tap->gateway, &packet, tap->is_udp);
    }
}

static void on_packet(struct watch *watch, uint32_t events)
{
    struct tap *tap = LOOP_OWNER(watch, struct tap, watch);
    (void)events;
    loop_turn(&tap->gateway->loop, &tap->turn);
}

/* After those who wait for a connection: it only counts. */
static void on_turn(struct turn *turn)
{
    drain(LOOP_OWNER(turn, struct tap, turn));
}

void tap_take(struct gateway *gateway, uint16_t family, uint16_t protocol, int fd)
{
    bool is_udp = protocol == IPPROTO_UDP;
    struct tap *tap = &gateway->taps[(family == AF_INET6) * 2 + is_udp];
    *tap = (struct tap){
        {.fd = fd, .on_event = on_packet}, gateway, family, is_udp, {.on_turn = on_turn}};
    if (loop_watch(&gateway->loop, &tap->watch, EPOLLIN) < 0)
        loop_close(&tap->watch);
}

void tap_drain(struct gateway *gateway)
{
    for (size_t i = 0; i < PLANT_TAPS; i++)
        if (gateway->taps[i].watch.fd >= 0)
            drain(&gateway->taps[i]);
}
