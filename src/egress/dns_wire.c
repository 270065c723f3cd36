/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/dns_wire.h"

#include <string.h>

bool dns_read16(struct dns_reader *reader, uint16_t *ret_value)
{
    if (reader->length - reader->at < 2)
        return false;
    *ret_value = dns_get16(reader->data + reader->at);
    reader->at += 2;
    return true;
}

bool dns_read32(struct dns_reader *reader, uint32_t *ret_value)
{
    uint16_t high, low;
    if (!dns_read16(reader, &high) || !dns_read16(reader, &low))
        return false;
    *ret_value = (uint32_t)high << 16 | low;
    return true;
}

bool dns_skip(struct dns_reader *reader, size_t count)
{
    if (reader->length - reader->at < count)
        return false;
    reader->at += count;
    return true;
}

/* A dot within a label, or a byte that no host name has, must not become part of one. */
static char printed(uint8_t byte)
{
    bool is_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
    return (char)(is_letter || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' ? byte
                                                                                          : '?');
}

bool dns_read_name(struct dns_reader *reader, char ret_text[DNS_NAME_TEXT], size_t *ret_length)
{
    size_t at = reader->at, text = 0, before = reader->at;
    bool has_jumped = false;
    for (;;) {
        if (at >= reader->length)
            return false;
        uint8_t count = reader->data[at++];
        if ((count & 0xc0) == 0xc0) {
            if (at >= reader->length)
                return false;
            size_t target = (size_t)(count & 0x3f) << 8 | reader->data[at++];
            if (!has_jumped)
                reader->at = at;
            has_jumped = true;
            if (target >= before)
                return false;
            at = before = target;
            continue;
        }
        if (count > 63 || reader->length - at < count || text + count + 2 > DNS_NAME_TEXT)
            return false;
        if (!count)
            break;
        if (text)
            ret_text[text++] = '.';
        for (; count; count--)
            ret_text[text++] = printed(reader->data[at++]);
    }
    if (!has_jumped)
        reader->at = at;
    ret_text[text] = '\0';
    *ret_length = text;
    return true;
}

uint8_t *dns_put_name(uint8_t *at, const char *name)
{
    for (;;) {
        size_t length = strcspn(name, ".");
        *at++ = (uint8_t)length;
        memcpy(at, name, length);
        at += length;
        name += length;
        if (!*name)
            break;
        name++;
    }
    *at++ = 0;
    return at;
}
