/* SPDX-License-Identifier: Apache-2.0 */
/* What was sent to the sandbox's own networks where nobody listens: the kernel has refused it
 * already; here it is only noted. */
#include <netinet/in.h>
#include <string.h>

#include "egress/gateway.h"

#define PACKETS_OF_A_TURN 64
#define PACKET_BYTES 128
#define IP4_BYTES 20
#define IP6_BYTES 40

struct packet {
    struct address to;
    uint8_t protocol;
    uint16_t port;
};

static bool read_packet(uint16_t family, const uint8_t *data, size_t length, struct packet *packet)
{
    bool is_four = family == AF_INET;
    if (length < (is_four ? IP4_BYTES : IP6_BYTES) || data[0] >> 4 != (is_four ? 4 : 6))
        return false;
    size_t header = is_four ? (size_t)(data[0] & 15) * 4 : IP6_BYTES;
    *packet = (struct packet){.to.family = family, .protocol = data[is_four ? 9 : 6]};
    memcpy(packet->to.bytes, data + (is_four ? 16 : 24), is_four ? 4 : 16);
    if (length < header + 4)
        return false;
    packet->port = (uint16_t)(data[header + 2] << 8 | data[header + 3]);
    return true;
}

static void note(struct gateway *gateway, const struct packet *packet)
{
    const struct site *site = sites_find_address(&gateway->sites, &packet->to);
    char text[ADDRESS_TEXT_BYTES];
    address_format(&packet->to, text);
    if (packet->protocol == IPPROTO_UDP)
        figures_deny(gateway->table, site ? site->name : text, packet->port, EGRESS_WHY_UDP);
    else if (!site)
        figures_deny(gateway->table, text, packet->port, EGRESS_WHY_ADDRESS);
    else if (!site_has_door(site, packet->to.family, packet->port))
        figures_deny(gateway->table, site->name, packet->port,
                     order_names(gateway->order, site->name) ? EGRESS_WHY_PORT : EGRESS_WHY_NAME);
}

static void drain(struct gateway *gateway, uint16_t family, int fd)
{
    for (int i = 0; i < PACKETS_OF_A_TURN; i++) {
        uint8_t data[PACKET_BYTES];
        struct packet packet;
        ssize_t got = recv(fd, data, sizeof(data), MSG_DONTWAIT);
        if (got < 0)
            return;
        if (read_packet(family, data, (size_t)got, &packet))
            note(gateway, &packet);
    }
}

static void on_packet_4(struct watch *watch, uint32_t events)
{
    (void)events;
    drain(LOOP_OWNER(watch, struct gateway, taps[0]), AF_INET, watch->fd);
}

static void on_packet_6(struct watch *watch, uint32_t events)
{
    (void)events;
    drain(LOOP_OWNER(watch, struct gateway, taps[1]), AF_INET6, watch->fd);
}

void tap_take(struct gateway *gateway, uint16_t family, int fd)
{
    struct watch *watch = &gateway->taps[family == AF_INET6];
    *watch = (struct watch){fd, family == AF_INET6 ? on_packet_6 : on_packet_4};
    if (loop_watch(&gateway->loop, watch, EPOLLIN) < 0)
        loop_close(watch);
}

void tap_drain(struct gateway *gateway)
{
    static const uint16_t families[] = {AF_INET, AF_INET6};
    for (size_t i = 0; i < HUTCH_COUNT(families); i++)
        if (gateway->taps[i].fd >= 0)
            drain(gateway, families[i], gateway->taps[i].fd);
}
