/* SPDX-License-Identifier: Apache-2.0 */
/* How a WebSocket begins (RFC 6455, 4.2). */
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <string.h>

#include "http/websocket.h"

/* 16 bytes in base64. */
static bool key_is_valid(const char *key)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return key && strlen(key) == 24 && strspn(key, letters) == 22 && !strcmp(key + 22, "==");
}

static void make_accept(const char *key, char *ret_accept)
{
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    unsigned char digest[SHA_DIGEST_LENGTH];
    char text[24 + sizeof(magic)];
    memcpy(text, key, 24);
    memcpy(text + 24, magic, sizeof(magic));
    (void)SHA1((const unsigned char *)text, sizeof(text) - 1, digest);
    (void)EVP_EncodeBlock((unsigned char *)ret_accept, digest, sizeof(digest));
}

static bool is_offered(const struct head *head, const char *protocol)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (!strcmp(head->fields[i].name, "sec-websocket-protocol") &&
            list_has(head->fields[i].value, protocol))
            return true;
    return false;
}

const char *handshake_what_is_wrong(const struct head *head)
{
    const char *version = head_field(head, "sec-websocket-version");
    if (!head->wants_websocket)
        return "This is a WebSocket: ask for it with 'Upgrade: websocket'.";
    if (!version || strcmp(version, "13") != 0)
        return "The version of WebSocket spoken here is 13.";
    if (!key_is_valid(head_field(head, "sec-websocket-key")))
        return "Sec-WebSocket-Key is not 16 bytes in base64.";
    return NULL;
}

bool handshake_send(struct http_exchange *exchange, const char *protocol)
{
    char accept[32];
    bool is_chosen = protocol && is_offered(&exchange->head, protocol);
    const struct http_header headers[] = {
        {"Upgrade", "websocket"},
        {"Sec-WebSocket-Accept", accept},
        {is_chosen ? "Sec-WebSocket-Protocol" : NULL, protocol},
        {0},
    };
    make_accept(head_field(&exchange->head, "sec-websocket-key"), accept);
    answer_begin(exchange, 101);
    exchange->keep_alive = false;
    if (!answer_head_make(exchange, 101, headers, HTTP_LENGTH_UNKNOWN, false))
        return false;
    const struct buffer *head = &exchange->connection->server->head;
    const struct iovec part = {head->memory, head->length};
    connection_send(exchange->connection, &part, 1);
    return true;
}
