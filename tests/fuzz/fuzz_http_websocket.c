/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever frames a client sends, in whatever pieces: the same messages come to the handler, none
 * of them is longer than it may be, and its end is told once. */
#include "fuzz_http.h"

static void on_message(struct http_exchange *exchange, bool is_text, const char *data,
                       size_t length)
{
    struct run *run = http_userdata(exchange);
    REQUIRE(!run->ends, "a message behind the end");
    REQUIRE(length <= http_default_limits.message_bytes, "%zu", length);
    run->count++;
    see(run, &is_text, sizeof(is_text));
    see(run, data, length);
    if (length && data[0] == 'h') /* held up, and let go on at once: by whoever is slower */
        http_websocket_hold(exchange, true);
    http_websocket_send(exchange, is_text, data, length < 100 ? length : 100);
    http_websocket_hold(exchange, false);
    if (length && data[0] == 'q')
        http_websocket_close(exchange, 1000, "enough");
}

static void on_close(struct http_exchange *exchange, int code)
{
    struct run *run = http_userdata(exchange);
    REQUIRE(code >= 1000 && code < 5000, "%d", code);
    run->ends++;
}

static void on_request(void *userdata, struct http_exchange *exchange)
{
    static const struct http_websocket_fns fns = {on_message, on_close, NULL};
    http_set_userdata(exchange, userdata);
    REQUIRE(http_websocket(exchange, NULL, &fns) == 0, "the handshake");
}

static void run_once(struct run *run, const uint8_t *data, size_t size, size_t piece)
{
    static const char handshake[] =
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    run_start(run, on_request);
    run_send(run, handshake, sizeof(handshake) - 1, sizeof(handshake));
    run_send(run, data, size, piece);
    run_end(run);
    REQUIRE(run->ends == 1, "%zu ends", run->ends);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct run whole, pieces;
    if (size > 8192)
        return 0;
    run_once(&whole, data, size, size ? size : 1);
    run_once(&pieces, data, size, 1 + size % 5);
    REQUIRE(whole.count == pieces.count, "%zu messages, in pieces %zu", whole.count, pieces.count);
    REQUIRE(whole.seen == pieces.seen, "pieces are read otherwise");
    return 0;
}
