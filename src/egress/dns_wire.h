/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a DNS message. */
#ifndef HUTCH_EGRESS_DNS_WIRE_H
#define HUTCH_EGRESS_DNS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_HEADER_BYTES 12
#define DNS_CLASS_IN 1
#define DNS_NAME_TEXT 256 /* of at most 255 bytes on the wire */

struct dns_reader {
    const uint8_t *data;
    size_t length;
    size_t at;
};

static inline uint16_t dns_get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline void dns_put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

bool dns_read16(struct dns_reader *reader, uint16_t *ret_value);
bool dns_read32(struct dns_reader *reader, uint32_t *ret_value);
bool dns_skip(struct dns_reader *reader, size_t count);
/* A name as text: labels with dots between; what cannot be part of a host's name is '?'. Its length
 * goes with it. Compression is followed backwards only, so it ends. */
bool dns_read_name(struct dns_reader *reader, char ret_text[DNS_NAME_TEXT], size_t *ret_length);
/* A canonical name. Returns its end. */
uint8_t *dns_put_name(uint8_t *at, const char *name);

#endif
