/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cidr.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static bool parse_bits(const char *text, unsigned most, unsigned *ret_bits)
{
    char *end;
    if (*text < '0' || *text > '9' || strlen(text) > 3)
        return false;
    unsigned long bits = strtoul(text, &end, 10);
    *ret_bits = (unsigned)bits;
    return !*end && bits <= most;
}

/* A range that begins in its own middle is a mistake, and nobody knows which one. */
static bool is_within_prefix(const struct hutch_cidr *cidr)
{
    unsigned bytes = cidr->family == AF_INET ? 4 : 16;
    for (unsigned bit = cidr->prefix_bits; bit < bytes * 8; bit++)
        if (cidr->address[bit / 8] & 0x80u >> bit % 8)
            return false;
    return true;
}

bool hutch_cidr_parse(const char *text, struct hutch_cidr *ret_cidr)
{
    char address[INET6_ADDRSTRLEN];
    struct hutch_cidr cidr = {.family = strchr(text, ':') ? AF_INET6 : AF_INET};
    size_t length = strcspn(text, "/");
    if (length >= sizeof(address))
        return false;
    memcpy(address, text, length);
    address[length] = '\0';
    cidr.prefix_bits = cidr.family == AF_INET ? 32 : 128;
    if (inet_pton(cidr.family, address, cidr.address) != 1 ||
        (text[length] && !parse_bits(text + length + 1, cidr.prefix_bits, &cidr.prefix_bits)) ||
        !is_within_prefix(&cidr))
        return false;
    *ret_cidr = cidr;
    return true;
}
