/* SPDX-License-Identifier: Apache-2.0 */
#include "server/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a first byte promises: how many bytes follow, and the range of the second, which excludes
 * overlong forms, surrogates and what lies beyond U+10FFFF (RFC 3629). */
static const struct {
    unsigned char from, to, follow, second_from, second_to;
} leads[] = {
    {0x00, 0x7f, 0, 0, 0},       {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf},
    {0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf},
    {0xf0, 0xf0, 3, 0x90, 0xbf}, {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
};

#define LEADS (sizeof(leads) / sizeof(leads[0]))

/* Length of the character there, 0 when it is cut, TEXT_NONE when it is none. */
static size_t character(const unsigned char *at, size_t left)
{
    size_t row = 0;
    while (row < LEADS && (*at < leads[row].from || *at > leads[row].to))
        row++;
    if (row == LEADS)
        return TEXT_NONE;
    for (size_t i = 1; i <= leads[row].follow; i++) {
        if (i == left)
            return 0;
        unsigned char from = i == 1 ? leads[row].second_from : 0x80;
        unsigned char to = i == 1 ? leads[row].second_to : 0xbf;
        if (at[i] < from || at[i] > to)
            return TEXT_NONE;
    }
    return 1u + leads[row].follow;
}

size_t text_whole(const char *data, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)data;
    size_t at = 0;
    while (at < length) {
        size_t step = bytes[at] < 0x80 ? 1 : character(bytes + at, length - at);
        if (step == TEXT_NONE)
            return TEXT_NONE;
        if (step == 0)
            return at;
        at += step;
    }
    return at;
}

char *text_readable(const char *data, size_t length)
{
    static const char replacement[] = "\xef\xbf\xbd";
    char *text = malloc(length * 3 + 1);
    size_t used = 0;
    for (size_t at = 0; text && at < length;) {
        size_t step = character((const unsigned char *)data + at, length - at);
        bool is_none = step == 0 || step == TEXT_NONE;
        memcpy(text + used, is_none ? replacement : data + at, is_none ? 3 : step);
        used += is_none ? 3 : step;
        at += is_none ? 1 : step;
    }
    if (text)
        text[used] = '\0';
    return text;
}

static const char *short_escape(unsigned char byte)
{
    switch (byte) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        return NULL;
    }
}

static const char hex[] = "0123456789abcdef";

size_t text_escape(char *target, const char *data, size_t length)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)data[i];
        const char code[6] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
        const char *written = short_escape(byte);
        bool is_control = byte < 0x20 || byte == 0x7f;
        size_t step = written ? 2 : is_control ? sizeof(code) : 1;
        if (target)
            memcpy(target + used, written ? written : is_control ? code : data + i, step);
        used += step;
    }
    return used;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

size_t text_base64(char *target, const char *data, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)data;
    size_t used = (length + 2) / 3 * 4;
    for (size_t i = 0; target && i < length; i += 3) {
        unsigned value = (unsigned)bytes[i] << 16;
        value |= i + 1 < length ? (unsigned)bytes[i + 1] << 8 : 0;
        value |= i + 2 < length ? bytes[i + 2] : 0u;
        *target++ = digits[value >> 18];
        *target++ = digits[value >> 12 & 63];
        /* 64 is what fills up the last four */
        *target++ = digits[i + 1 < length ? value >> 6 & 63 : 64];
        *target++ = digits[i + 2 < length ? value & 63 : 64];
    }
    return used;
}

bool text_from_base64(const char *text, size_t length, char **ret_data, size_t *ret_length)
{
    size_t padding = 0, used = 0;
    unsigned value = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
        padding++;
    char *data = length % 4 ? NULL : malloc(length / 4 * 3 + 1);
    for (size_t i = 0; data && i < length - padding; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit || *digit == '=') {
            free(data);
            return false;
        }
        value = (value << 6 | (unsigned)(digit - digits)) & 0xffffff;
        if (i % 4)
            data[used++] = (char)(value >> (6 - 2 * (i % 4)) & 0xff);
    }
    *ret_data = data;
    *ret_length = used;
    return data != NULL;
}
