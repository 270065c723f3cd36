/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/address.h"

#include <arpa/inet.h>
#include <string.h>

#include "util/own.h"

/* What the registries of special addresses keep from the public internet (RFC 6890 and what has
 * been added since), and what clouds serve their metadata at. IPv6 beyond 2000::/3 is nobody's. */
static const struct egress_range refused[] = {
    {AF_INET, 8, {0}},                 /* this network, unspecified */
    {AF_INET, 8, {10}},                /* private */
    {AF_INET, 10, {100, 64}},          /* shared: behind a carrier's NAT */
    {AF_INET, 8, {127}},               /* loopback */
    {AF_INET, 16, {169, 254}},         /* link-local, metadata */
    {AF_INET, 12, {172, 16}},          /* private */
    {AF_INET, 24, {192, 0, 0}},        /* protocol assignments */
    {AF_INET, 24, {192, 0, 2}},        /* documentation */
    {AF_INET, 24, {192, 88, 99}},      /* relays of 6to4 */
    {AF_INET, 16, {192, 168}},         /* private */
    {AF_INET, 15, {198, 18}},          /* benchmarks; the sandboxes' own */
    {AF_INET, 24, {198, 51, 100}},     /* documentation */
    {AF_INET, 24, {203, 0, 113}},      /* documentation */
    {AF_INET, 32, {168, 63, 129, 16}}, /* Azure's metadata and name server */
    {AF_INET, 4, {224}},               /* multicast */
    {AF_INET, 4, {240}},               /* reserved, broadcast */
    {AF_INET6, 3, {0}},                /* unspecified, loopback, IPv4-compatible and -mapped, ... */
    {AF_INET6, 2, {0x40}},             /* unassigned */
    {AF_INET6, 1, {0x80}},        /* unassigned, unique local, link- and site-local, multicast */
    {AF_INET6, 23, {0x20, 0x01}}, /* Teredo, ORCHID and other protocols' */
    {AF_INET6, 32, {0x20, 0x01, 0x0d, 0xb8}}, /* documentation */
    {AF_INET6, 20, {0x3f, 0xff}},             /* documentation */
};

/* IPv6 forms that stand for an IPv4 address: where that may go, they may. */
static const struct {
    struct egress_range range;
    size_t offset;
} embeddings[] = {
    {{AF_INET6, 96, {0x00, 0x64, 0xff, 0x9b}}, 12}, /* NAT64 */
    {{AF_INET6, 16, {0x20, 0x02}}, 2},              /* 6to4 */
};

bool address_parse(const char *text, struct address *ret_address)
{
    struct address address = {.family = strchr(text, ':') ? AF_INET6 : AF_INET};
    if (inet_pton(address.family, text, address.bytes) != 1)
        return false;
    *ret_address = address;
    return true;
}

void address_format(const struct address *address, char ret_text[ADDRESS_TEXT_BYTES])
{
    if (!inet_ntop(address->family, address->bytes, ret_text, ADDRESS_TEXT_BYTES))
        ret_text[0] = '\0';
}

socklen_t address_socket(const struct address *address, uint16_t port,
                         struct sockaddr_storage *ret_socket)
{
    memset(ret_socket, 0, sizeof(*ret_socket));
    ret_socket->ss_family = address->family;
    if (address->family == AF_INET) {
        struct sockaddr_in *four = (struct sockaddr_in *)ret_socket;
        four->sin_port = htons(port);
        memcpy(&four->sin_addr, address->bytes, sizeof(four->sin_addr));
        return sizeof(*four);
    }
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret_socket;
    six->sin6_port = htons(port);
    memcpy(&six->sin6_addr, address->bytes, sizeof(six->sin6_addr));
    return sizeof(*six);
}

static bool is_in(const struct address *address, const struct egress_range *range)
{
    size_t whole = range->prefix_bits / 8, rest = range->prefix_bits % 8;
    if (address->family != range->family || memcmp(address->bytes, range->address, whole) != 0)
        return false;
    uint8_t mask = (uint8_t)(0xff00U >> rest);
    return !rest || ((address->bytes[whole] ^ range->address[whole]) & mask) == 0;
}

static bool is_in_any(const struct address *address, const struct egress_range *ranges,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_in(address, &ranges[i]))
            return true;
    return false;
}

bool address_is_refused(const struct address *address, const struct egress_range *opened,
                        size_t opened_count)
{
    if (address->family != AF_INET && address->family != AF_INET6)
        return true;
    if (is_in_any(address, opened, opened_count))
        return false;
    for (size_t i = 0; i < HUTCH_COUNT(embeddings); i++) {
        if (!is_in(address, &embeddings[i].range))
            continue;
        struct address four = {.family = AF_INET};
        memcpy(four.bytes, address->bytes + embeddings[i].offset, 4);
        return is_in_any(&four, refused, HUTCH_COUNT(refused));
    }
    return is_in_any(address, refused, HUTCH_COUNT(refused));
}
