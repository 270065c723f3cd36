/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/hello.h"

#include <string.h>

#include "util/own.h"

#define RECORD_HEADER 5
#define RECORD_MAX 16384
#define HANDSHAKE 22
#define CLIENT_HELLO 1
#define MESSAGE_HEADER 4
#define EXTENSION_SERVER_NAME 0
#define HOST_NAME 0

/* A name that is not for us to read: ECH, and what was its draft. */
static const uint16_t hiding_extensions[] = {0xfe0d, 0xffce};

struct span {
    const uint8_t *at;
    size_t length;
};

static bool take(struct span *from, size_t count, struct span *ret_span)
{
    if (from->length < count)
        return false;
    *ret_span = (struct span){from->at, count};
    from->at += count;
    from->length -= count;
    return true;
}

static bool take_number(struct span *from, size_t bytes, size_t *ret_value)
{
    struct span digits;
    if (!take(from, bytes, &digits))
        return false;
    *ret_value = 0;
    for (size_t i = 0; i < bytes; i++)
        *ret_value = *ret_value << 8 | digits.at[i];
    return true;
}

/* What follows its own length. */
static bool take_vector(struct span *from, size_t length_bytes, struct span *ret_span)
{
    size_t length;
    return take_number(from, length_bytes, &length) && take(from, length, ret_span);
}

/* ---- records ---- */

/* Puts together what the records carry, until the message is whole. */
static enum hello_verdict gather(struct span data, uint8_t message[HELLO_MAX_BYTES],
                                 struct span *ret_body)
{
    size_t gathered = 0, whole = MESSAGE_HEADER;
    while (gathered < whole) {
        struct span record = data, fragment;
        size_t type, version, length;
        if (!take_number(&record, 1, &type))
            return HELLO_MORE;
        if (type != HANDSHAKE)
            return HELLO_REFUSED;
        if (!take_number(&record, 2, &version) || !take_number(&record, 2, &length))
            return HELLO_MORE;
        if (version >> 8 != 3 || !length || length > RECORD_MAX)
            return HELLO_REFUSED;
        bool is_whole = take(&record, length, &fragment);
        if (!is_whole)
            fragment = record;
        if (fragment.length > HELLO_MAX_BYTES - gathered)
            return HELLO_REFUSED;
        memcpy(message + gathered, fragment.at, fragment.length);
        gathered += fragment.length;
        if (gathered && message[0] != CLIENT_HELLO)
            return HELLO_REFUSED;
        if (gathered >= MESSAGE_HEADER)
            whole =
                MESSAGE_HEADER + ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
        if (whole > HELLO_MAX_BYTES)
            return HELLO_REFUSED;
        if (!is_whole && gathered < whole)
            return HELLO_MORE;
        data = record;
    }
    *ret_body = (struct span){message + MESSAGE_HEADER, whole - MESSAGE_HEADER};
    return HELLO_NAMED;
}

/* ---- the message ---- */

static bool read_server_name(struct span extension, char ret_name[EGRESS_NAME_BYTES])
{
    struct span list, name;
    size_t type;
    return take_vector(&extension, 2, &list) && !extension.length && take_number(&list, 1, &type) &&
           type == HOST_NAME && take_vector(&list, 2, &name) && !list.length &&
           egress_name((const char *)name.at, name.length, ret_name);
}

static bool read_extensions(struct span extensions, char ret_name[EGRESS_NAME_BYTES])
{
    size_t names = 0;
    while (extensions.length) {
        struct span extension;
        size_t type;
        if (!take_number(&extensions, 2, &type) || !take_vector(&extensions, 2, &extension))
            return false;
        for (size_t i = 0; i < HUTCH_COUNT(hiding_extensions); i++)
            if (type == hiding_extensions[i])
                return false;
        if (type == EXTENSION_SERVER_NAME && (names++ || !read_server_name(extension, ret_name)))
            return false;
    }
    return names == 1;
}

enum hello_verdict hello_read(const uint8_t *data, size_t length, char ret_name[EGRESS_NAME_BYTES])
{
    uint8_t message[HELLO_MAX_BYTES];
    char name[EGRESS_NAME_BYTES];
    struct span body, part, extensions;
    enum hello_verdict verdict = gather((struct span){data, length}, message, &body);
    if (verdict != HELLO_NAMED)
        return verdict;
    if (!take(&body, 2 + 32, &part) ||   /* version, random */
        !take_vector(&body, 1, &part) || /* session */
        !take_vector(&body, 2, &part) || /* ciphers */
        !take_vector(&body, 1, &part) || /* compression */
        !take_vector(&body, 2, &extensions) || body.length || !read_extensions(extensions, name))
        return HELLO_REFUSED;
    memcpy(ret_name, name, strlen(name) + 1);
    return HELLO_NAMED;
}
