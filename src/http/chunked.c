/* SPDX-License-Identifier: Apache-2.0 */
#include "http/chunked.h"

#include <ctype.h>

#define MOST_DIGITS 15 /* of a size in hexadecimal: no overflow, and more than anybody has */
#define MOST_EXTENSION_BYTES 1024

static unsigned hex_value(char c)
{
    return (unsigned)(isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10);
}

static enum chunked_state read_size(struct chunked *chunked, char c)
{
    if (isxdigit((unsigned char)c) && chunked->digits < MOST_DIGITS) {
        chunked->digits++;
        chunked->left = chunked->left * 16 + hex_value(c);
        return CHUNKED_SIZE;
    }
    if (!chunked->digits)
        return CHUNKED_WRONG;
    return c == ';' ? CHUNKED_EXTENSION : c == '\r' ? CHUNKED_SIZE_LF : CHUNKED_WRONG;
}

/* Nobody here knows any: they are gone over, as the standard asks, while they are few. */
static enum chunked_state read_extension(struct chunked *chunked, char c)
{
    if (c == '\r')
        return CHUNKED_SIZE_LF;
    if (c < ' ' || c == 0x7f || ++chunked->extension_bytes > MOST_EXTENSION_BYTES)
        return CHUNKED_WRONG;
    return CHUNKED_EXTENSION;
}

static enum chunked_state expect(char c, char wanted, enum chunked_state next)
{
    return c == wanted ? next : CHUNKED_WRONG;
}

static enum chunked_state next_state(struct chunked *chunked, char c)
{
    switch (chunked->state) {
    case CHUNKED_SIZE:
        return read_size(chunked, c);
    case CHUNKED_EXTENSION:
        return read_extension(chunked, c);
    case CHUNKED_SIZE_LF:
        return expect(c, '\n', chunked->left ? CHUNKED_DATA : CHUNKED_LAST_CR);
    case CHUNKED_DATA_CR:
        return expect(c, '\r', CHUNKED_DATA_LF);
    case CHUNKED_DATA_LF:
        chunked->digits = 0;
        return expect(c, '\n', CHUNKED_SIZE);
    case CHUNKED_LAST_CR: /* a trailer would begin here: nobody here reads one, so none is taken */
        return expect(c, '\r', CHUNKED_LAST_LF);
    case CHUNKED_LAST_LF:
        return expect(c, '\n', CHUNKED_END);
    case CHUNKED_DATA:
    case CHUNKED_END:
    case CHUNKED_WRONG:
        break;
    }
    return chunked->state;
}

size_t chunked_skip(struct chunked *chunked, const char *data, size_t length)
{
    size_t at = 0;
    while (at < length && chunked->state != CHUNKED_DATA && chunked->state < CHUNKED_END)
        chunked->state = next_state(chunked, data[at++]);
    return at;
}

void chunked_take(struct chunked *chunked, size_t length)
{
    chunked->left -= length;
    if (!chunked->left)
        chunked->state = CHUNKED_DATA_CR;
}
