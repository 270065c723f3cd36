/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/plain.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"

struct range {
    uint32_t first;
    uint32_t last;
};

/* Invisible, or with an effect on what stands around them. */
static const struct range unfit[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f}, {0x00ad, 0x00ad},    {0x061c, 0x061c}, {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff},    {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
    {0xd800, 0xdfff}, {0xe000, 0xf8ff}, {0xf0000, 0x10ffff},
};

/* Two columns wide: East Asian scripts and pictures, as terminals draw them. */
static const struct range wide[] = {
    {0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

static const struct range combining[] = {
    {0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
};

static bool is_in(const struct range *ranges, size_t count, uint32_t point)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

/* Bytes of the character that starts here; 0 and no point when it is none. */
static size_t decode(const char *text, uint32_t *ret_point)
{
    const unsigned char *at = (const unsigned char *)text;
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    size_t length = cli_utf8_length(text);
    if (!length)
        return 0;
    uint32_t point = at[0] & lead_bits[length];
    for (size_t i = 1; i < length; i++)
        point = point << 6 | (at[i] & 0x3f);
    *ret_point = point;
    return length;
}

/* One character, or '?' for what is none; returns the bytes of text that it stands for. */
static size_t plain_character(const char *text, char out[5])
{
    uint32_t point = 0;
    size_t length = decode(text, &point);
    if (!length || is_in(unfit, CLI_COUNT(unfit), point)) {
        memcpy(out, "?", 2);
        return length ? length : 1;
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return length;
}

char *cli_plain(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    char *end = copy;
    while (copy && *text) {
        char character[5];
        text += plain_character(text, character);
        size_t length = strlen(character);
        memcpy(end, character, length);
        end += length;
    }
    if (copy)
        *end = '\0';
    return copy;
}

void cli_plain_write(FILE *file, const char *text)
{
    while (*text) {
        char character[5];
        text += plain_character(text, character);
        (void)fputs(character, file);
    }
}

static size_t columns_of(uint32_t point)
{
    if (is_in(combining, CLI_COUNT(combining), point))
        return 0;
    return is_in(wide, CLI_COUNT(wide), point) ? 2 : 1;
}

size_t cli_plain_fit(const char *plain, size_t columns)
{
    size_t used = 0, bytes = 0, length;
    uint32_t point = 0;
    while (plain[bytes] && (length = decode(plain + bytes, &point)) > 0) {
        used += columns_of(point);
        if (used > columns)
            break;
        bytes += length;
    }
    return bytes;
}

size_t cli_plain_columns(const char *plain)
{
    size_t used = 0, length;
    uint32_t point = 0;
    for (; *plain && (length = decode(plain, &point)) > 0; plain += length)
        used += columns_of(point);
    return used;
}
