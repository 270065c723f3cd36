/* SPDX-License-Identifier: Apache-2.0 */
/* ClientHellos of every kind. */
#ifndef HUTCH_TESTS_GATEWAY_HELLO_BYTES_H
#define HUTCH_TESTS_GATEWAY_HELLO_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hello_wish {
    const char *name;
    const char *second_name; /* in an extension of its own */
    bool hides;              /* with the extension of ECH */
    size_t record_bytes;     /* of the message, in one record */
};

static inline uint8_t *hello_put16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
    return at + 2;
}

static inline uint8_t *hello_put_name(uint8_t *at, const char *name)
{
    size_t length = strlen(name);
    at = hello_put16(at, 0);
    at = hello_put16(at, length + 5);
    at = hello_put16(at, length + 3);
    *at++ = 0;
    at = hello_put16(at, length);
    memcpy(at, name, length);
    return at + length;
}

static inline size_t hello_message(const struct hello_wish *wish, uint8_t *message)
{
    uint8_t *at = message + 4;
    at = hello_put16(at, 0x0303);
    memset(at, 7, 32);
    at += 32;
    *at++ = 0;
    at = hello_put16(at, 2);
    at = hello_put16(at, 0x1301);
    *at++ = 1;
    *at++ = 0;
    uint8_t *extensions = at;
    at += 2;
    at = hello_put16(at, 0x0a0a);
    at = hello_put16(at, 0);
    if (wish->name)
        at = hello_put_name(at, wish->name);
    if (wish->second_name)
        at = hello_put_name(at, wish->second_name);
    if (wish->hides) {
        at = hello_put16(at, 0xfe0d);
        at = hello_put16(at, 1);
        *at++ = 1;
    }
    (void)hello_put16(extensions, (size_t)(at - extensions - 2));
    message[0] = 1;
    message[1] = 0;
    (void)hello_put16(message + 2, (size_t)(at - message - 4));
    return (size_t)(at - message);
}

/* Returns how many bytes it has, with the records. */
static inline size_t hello_write(const struct hello_wish *wish, uint8_t *ret_bytes)
{
    uint8_t message[1024];
    size_t length = hello_message(wish, message), written = 0;
    for (size_t i = 0; i < length; i += wish->record_bytes) {
        size_t part = length - i < wish->record_bytes ? length - i : wish->record_bytes;
        ret_bytes[written] = 22;
        (void)hello_put16(ret_bytes + written + 1, 0x0301);
        (void)hello_put16(ret_bytes + written + 3, part);
        memcpy(ret_bytes + written + 5, message + i, part);
        written += 5 + part;
    }
    return written;
}

#endif
