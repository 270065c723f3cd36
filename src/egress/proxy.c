/* SPDX-License-Identifier: Apache-2.0 */
/* The way through a proxy: SOCKS 5 (RFC 1928, 1929) or CONNECT of HTTP. It gets the name, and
 * resolves it itself. No byte after its answer is read here: it is the server's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/gateway.h"

enum step { SOCKS_METHOD = 1, SOCKS_LOGIN, SOCKS_REPLY, SOCKS_BOUND, HTTP_REPLY };

#define SOCKS_VERSION 5
#define SOCKS_NO_LOGIN 0
#define SOCKS_WITH_LOGIN 2
#define SOCKS_CONNECT 1
#define SOCKS_NAME 3
#define SOCKS_FOUR 1
#define SOCKS_SIX 4
#define LOGIN_MAX 255

/* A proxy's socket is new, and what is said is short: it fits at once. */
static bool say(struct dial *dial, const void *data, size_t length)
{
    return send(dial->attempts[0].fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length;
}

static const char *login_of(const struct dial *dial)
{
    return dial->gateway->order ? dial->gateway->order->proxy.login : NULL;
}

/* ---- SOCKS ---- */

static bool socks_ask(struct dial *dial)
{
    uint8_t message[4 + 1 + EGRESS_NAME_BYTES + 2] = {SOCKS_VERSION, SOCKS_CONNECT, 0, SOCKS_NAME};
    size_t length = strlen(dial->name);
    message[4] = (uint8_t)length;
    memcpy(message + 5, dial->name, length);
    message[5 + length] = (uint8_t)(dial->port >> 8);
    message[6 + length] = (uint8_t)dial->port;
    dial->proxy_step = SOCKS_REPLY;
    return say(dial, message, 7 + length);
}

static bool socks_log_in(struct dial *dial)
{
    uint8_t message[3 + 2 * LOGIN_MAX] = {1};
    const char *user = login_of(dial), *colon = user ? strchr(user, ':') : NULL;
    if (!colon)
        return false;
    size_t user_length = (size_t)(colon - user), password_length = strlen(colon + 1);
    if (user_length > LOGIN_MAX || password_length > LOGIN_MAX)
        return false;
    message[1] = (uint8_t)user_length;
    memcpy(message + 2, user, user_length);
    message[2 + user_length] = (uint8_t)password_length;
    memcpy(message + 3 + user_length, colon + 1, password_length);
    dial->proxy_step = SOCKS_LOGIN;
    bool is_said = say(dial, message, 3 + user_length + password_length);
    explicit_bzero(message, sizeof(message));
    return is_said;
}

/* How many bytes the present answer has; of the last one, only its beginning says so. */
static size_t socks_wants(const struct dial *dial)
{
    const uint8_t *bytes = (const uint8_t *)dial->proxy_bytes;
    if (dial->proxy_step == SOCKS_REPLY)
        return 5;
    if (dial->proxy_step != SOCKS_BOUND)
        return 2;
    return 4 + 2 + (bytes[3] == SOCKS_FOUR ? 4 : bytes[3] == SOCKS_SIX ? 16 : (size_t)bytes[4] + 1);
}

/* 1: connected; 0: goes on; -1: no. */
static int socks_step(struct dial *dial)
{
    const uint8_t *bytes = (const uint8_t *)dial->proxy_bytes;
    switch ((enum step)dial->proxy_step) {
    case SOCKS_METHOD:
        dial->proxy_length = 0;
        if (bytes[0] != SOCKS_VERSION)
            return -1;
        return (bytes[1] == SOCKS_NO_LOGIN     ? socks_ask(dial)
                : bytes[1] == SOCKS_WITH_LOGIN ? socks_log_in(dial)
                                               : false)
                   ? 0
                   : -1;
    case SOCKS_LOGIN:
        dial->proxy_length = 0;
        return bytes[1] == 0 && socks_ask(dial) ? 0 : -1;
    case SOCKS_REPLY:
        dial->proxy_step = SOCKS_BOUND;
        return bytes[0] == SOCKS_VERSION && bytes[1] == 0 ? 0 : -1;
    case SOCKS_BOUND:
        return 1;
    case HTTP_REPLY:
        break;
    }
    return -1;
}

static int socks_read(struct dial *dial)
{
    for (;;) {
        ssize_t got = recv(dial->attempts[0].fd, dial->proxy_bytes + dial->proxy_length,
                           socks_wants(dial) - dial->proxy_length, MSG_DONTWAIT);
        if (got <= 0)
            return got < 0 && errno == EAGAIN ? 0 : -1;
        dial->proxy_length += (size_t)got;
        if (dial->proxy_length < socks_wants(dial))
            continue;
        int status = socks_step(dial);
        if (status)
            return status;
    }
}

static bool socks_begin(struct dial *dial)
{
    const uint8_t plain[] = {SOCKS_VERSION, 1, SOCKS_NO_LOGIN};
    const uint8_t both[] = {SOCKS_VERSION, 2, SOCKS_NO_LOGIN, SOCKS_WITH_LOGIN};
    dial->proxy_step = SOCKS_METHOD;
    return login_of(dial) ? say(dial, both, sizeof(both)) : say(dial, plain, sizeof(plain));
}

/* ---- HTTP ---- */

static void base64(const char *text, char *ret_text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < length ? (uint8_t)text[i + k] : 0U);
        for (size_t k = 0; k < 4; k++)
            *ret_text++ = (char)(i + k > length ? '=' : digits[bits >> (18 - 6 * k) & 63]);
    }
    *ret_text = '\0';
}

static bool http_begin(struct dial *dial)
{
    char coded[4 * (2 * LOGIN_MAX + 1) / 3 + 8] = "";
    const char *login = login_of(dial);
    if (login && strlen(login) > (size_t)2 * LOGIN_MAX + 1)
        return false;
    if (login)
        base64(login, coded);
    int length = snprintf(dial->proxy_bytes, PROXY_BYTES,
                          "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n%s%s%s\r\n", dial->name,
                          dial->port, dial->name, dial->port,
                          login ? "Proxy-Authorization: Basic " : "", coded, login ? "\r\n" : "");
    explicit_bzero(coded, sizeof(coded));
    dial->proxy_step = HTTP_REPLY;
    return length < PROXY_BYTES && say(dial, dial->proxy_bytes, (size_t)length);
}

/* Looked at before it is taken, so that nothing of the server's is. */
static int http_read(struct dial *dial)
{
    char *bytes = dial->proxy_bytes;
    int fd = dial->attempts[0].fd;
    ssize_t got = recv(fd, bytes, PROXY_BYTES, MSG_DONTWAIT | MSG_PEEK);
    if (got <= 0)
        return got < 0 && errno == EAGAIN ? 0 : -1;
    const char *end = memmem(bytes, (size_t)got, "\r\n\r\n", 4);
    if (!end)
        return got < PROXY_BYTES ? 0 : -1;
    size_t length = (size_t)(end + 4 - bytes);
    if (recv(fd, bytes, length, MSG_DONTWAIT) != (ssize_t)length)
        return -1;
    bool is_good = !memcmp(bytes, "HTTP/1.1 2", 10) || !memcmp(bytes, "HTTP/1.0 2", 10);
    return length > 12 && is_good ? 1 : -1;
}

/* ---- both ---- */

static void on_proxy(struct watch *watch, uint32_t events)
{
    struct dial *dial = LOOP_OWNER(watch, struct dial, attempts[0]);
    (void)events;
    int status = dial->proxy_step == HTTP_REPLY ? http_read(dial) : socks_read(dial);
    if (status > 0)
        dial_succeed(dial, HUTCH_TAKE_FD(watch->fd));
    else if (status < 0)
        dial_fail(dial, EGRESS_WHY_CONNECT);
}

void proxy_begin(struct dial *dial, int fd)
{
    bool is_http = dial->gateway->order->proxy.kind == PROXY_HTTP;
    dial->attempts[0] = (struct watch){.fd = fd, .on_event = on_proxy};
    dial->next = dial->count; /* the proxy is reached: another address of it would not help */
    dial->proxy_length = 0;
    dial->proxy_bytes = malloc(PROXY_BYTES);
    if (!dial->proxy_bytes ||
        loop_rewatch(&dial->gateway->loop, &dial->attempts[0], EPOLLIN | EPOLLET) < 0 ||
        !(is_http ? http_begin(dial) : socks_begin(dial)))
        dial_fail(dial, EGRESS_WHY_CONNECT);
}
