/* SPDX-License-Identifier: Apache-2.0 */
/* WebSocket, with frames made by hand. */
#include "http_world.h"

#define HANDSHAKE(more)                                                         \
    "GET /websocket HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\n" \
    "Upgrade: websocket\r\n" more "\r\n"
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"

enum { CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSING = 8, PING = 9, PONG = 10, FIN = 0x80 };

/* A masked frame of less than 64 KiB. */
static void send_frame(int fd, int first, const void *data, size_t length)
{
    static const unsigned char mask[4] = {1, 2, 3, 4};
    unsigned char frame[66000];
    size_t at = 0;
    frame[at++] = (unsigned char)first;
    if (length < 126) {
        frame[at++] = (unsigned char)(0x80 | length);
    } else {
        frame[at++] = 0x80 | 126;
        frame[at++] = (unsigned char)(length >> 8);
        frame[at++] = (unsigned char)length;
    }
    memcpy(frame + at, mask, 4);
    at += 4;
    for (size_t i = 0; i < length; i++)
        frame[at++] = ((const unsigned char *)data)[i] ^ mask[i % 4];
    assert_int_equal(send(fd, frame, at, MSG_NOSIGNAL), (ssize_t)at);
}

struct frame {
    int first;
    size_t length;
    char data[66000];
};

static void read_exactly(struct world *world, int fd, void *data, size_t length)
{
    size_t filled = 0;
    for (uint64_t end = now_ms() + WAIT_MS; filled < length;) {
        ssize_t count = recv(fd, (char *)data + filled, length - filled, MSG_DONTWAIT);
        if (count == 0 || now_ms() > end)
            fail_msg("no frame came: %zu of %zu", filled, length);
        filled += count > 0 ? (size_t)count : 0;
        turn(world);
    }
}

static void read_frame(struct world *world, int fd, struct frame *frame)
{
    unsigned char head[4];
    read_exactly(world, fd, head, 2);
    frame->first = head[0];
    frame->length = head[1];
    assert_true(frame->length < 127); /* not masked, not huge */
    if (frame->length == 126) {
        read_exactly(world, fd, head + 2, 2);
        frame->length = (size_t)head[2] << 8 | head[3];
    }
    read_exactly(world, fd, frame->data, frame->length);
}

static int close_code(const struct frame *frame)
{
    assert_int_equal(frame->first, FIN | CLOSING);
    assert_true(frame->length >= 2);
    return (unsigned char)frame->data[0] << 8 | (unsigned char)frame->data[1];
}

static int websocket_open(struct world *world)
{
    char answer[4096];
    int fd = client_open(world);
    client_send(fd, HANDSHAKE(KEY VERSION));
    assert_false(client_read(world, fd, answer, sizeof(answer), "\r\n\r\n"));
    assert_memory_equal(answer, "HTTP/1.1 101 Switching Protocols\r\n", 34);
    return fd;
}

static void expect_end(struct world *world, int fd)
{
    char data[16];
    assert_true(client_read(world, fd, data, sizeof(data), NULL));
    (void)close(fd);
}

/* ---- the handshake ---- */

static void the_handshake_is_as_its_standard_has_it(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, HANDSHAKE(KEY VERSION "Sec-WebSocket-Protocol: other, hutch.v1\r\n"));
    assert_false(client_read(world, fd, answer, sizeof(answer), "\r\n\r\n"));
    assert_non_null(strstr(answer, "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    assert_non_null(strstr(answer, "\r\nSec-WebSocket-Protocol: hutch.v1\r\n"));
    assert_non_null(strstr(answer, "\r\nConnection: Upgrade\r\n"));
    assert_null(strstr(answer, "Content-Length"));
    (void)close(fd);
    wait_until(world, world->closed_code);
    assert_int_equal(world->closed_code, 1006);
}

static void what_is_no_handshake_is_refused(void **state)
{
    static const char *const requests[] = {
        HANDSHAKE(VERSION),
        HANDSHAKE(KEY),
        HANDSHAKE(KEY "Sec-WebSocket-Version: 8\r\n"),
        HANDSHAKE(VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=\r\n"),
        HANDSHAKE(VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=!\r\n"),
        HANDSHAKE(VERSION KEY KEY),
        "GET /websocket HTTP/1.1\r\nHost: a\r\n\r\n",
    };
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        ask(world, requests[i], answer, sizeof(answer));
        assert_memory_equal(answer, "HTTP/1.1 400 ", 13);
        if (world->waiting)
            http_release(world->waiting);
        world->waiting = NULL;
    }
    assert_int_equal(world->closed_code, 0);
}

/* ---- messages ---- */

static void messages_go_both_ways(void **state)
{
    struct world *world = *state;
    static struct frame frame;
    static char data[50000];
    world_start(world, NULL);
    int fd = websocket_open(world);
    send_frame(fd, FIN | TEXT, "hello", 5);
    read_frame(world, fd, &frame);
    assert_int_equal(frame.first, FIN | TEXT);
    assert_memory_equal(frame.data, "hello", 5);
    memset(data, 'x', sizeof(data));
    send_frame(fd, BINARY, data, 30000);
    send_frame(fd, FIN | PING, "are you", 7); /* between the pieces of a message */
    send_frame(fd, FIN | CONTINUATION, data + 30000, 20000);
    read_frame(world, fd, &frame);
    assert_int_equal(frame.first, FIN | PONG);
    assert_memory_equal(frame.data, "are you", 7);
    read_frame(world, fd, &frame);
    assert_int_equal(frame.first, FIN | BINARY);
    assert_int_equal(frame.length, sizeof(data));
    assert_memory_equal(frame.data, data, sizeof(data));
    assert_int_equal(world->messages, 2);
    send_frame(fd, FIN | CLOSING, "\x03\xe8", 2);
    read_frame(world, fd, &frame);
    assert_int_equal(close_code(&frame), 1000);
    expect_end(world, fd);
    assert_int_equal(world->closed_code, 1000);
}

static void the_server_says_goodbye(void **state)
{
    struct world *world = *state;
    static struct frame frame;
    world_start(world, NULL);
    int fd = websocket_open(world);
    send_frame(fd, FIN | TEXT, "bye", 3);
    read_frame(world, fd, &frame);
    assert_int_equal(close_code(&frame), 1000);
    assert_memory_equal(frame.data + 2, "bye", 3);
    assert_int_equal(world->closed_code, 0);
    http_websocket_send(world->waiting, true, "too late", 8);
    send_frame(fd, FIN | CLOSING, "\x03\xe8", 2);
    expect_end(world, fd);
    assert_int_equal(world->closed_code, 1000);
}

static void a_goodbye_that_is_not_returned_is_not_waited_for(void **state)
{
    struct world *world = *state;
    static struct frame frame;
    world->limits.linger_ms = 50;
    world_start(world, NULL);
    int fd = websocket_open(world);
    send_frame(fd, FIN | TEXT, "bye", 3);
    read_frame(world, fd, &frame);
    for (int i = 0; i < 10; i++) { /* whatever it still says */
        (void)send(fd, "\x81\x80\x31\x32\x33\x34", 6, MSG_NOSIGNAL);
        turn_for(world, 10);
    }
    expect_end(world, fd);
    assert_int_equal(world->closed_code, 1006);
    assert_int_equal(world->messages, 1);
}

/* What must not come: how the server says so. */
static void frames_out_of_order_end_it(void **state)
{
    static const struct {
        int code;
        const char *bytes;
        size_t length;
    } rows[] = {
        {1002, "\x81\x05hello", 7},                                     /* not masked */
        {1002, "\x83\x80\x31\x32\x33\x34", 6},                          /* no such kind */
        {1002, "\xc1\x80\x31\x32\x33\x34", 6},                          /* an extension's bit */
        {1002, "\x80\x80\x31\x32\x33\x34", 6},                          /* nothing to go on with */
        {1002, "\x01\x80\x31\x32\x33\x34\x81\x80\x31\x32\x33\x34", 12}, /* a message in a message */
        {1002, "\x09\x80\x31\x32\x33\x34", 6},                          /* a ping in pieces */
        {1002, "\x89\xfe\x00\x7e\x31\x32\x33\x34", 8},                  /* a ping that is long */
        {1002, "\x81\xfe\x00\x05\x31\x32\x33\x34", 8}, /* a length that is longer than needed */
        {1002, "\x88\x82\x00\x00\x00\x00\x03\xed", 8}, /* a code that is never sent (1005) */
        {1007, "\x81\x82\x00\x00\x00\x00\xc3\x28", 8}, /* not UTF-8 */
        {1009, "\x82\xff\x00\x00\x00\x00\x40\x00\x00\x00\x31\x32\x33\x34x", 15}, /* a gigabyte */
        {1009, "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x31\x32\x33\x34x", 15},
    };
    struct world *world = *state;
    static struct frame frame;
    world_start(world, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int fd = websocket_open(world);
        assert_int_equal(send(fd, rows[i].bytes, rows[i].length, MSG_NOSIGNAL), rows[i].length);
        read_frame(world, fd, &frame);
        if (close_code(&frame) != rows[i].code)
            fail_msg("row %zu: %d", i, close_code(&frame));
        (void)send(fd, "\x88\x82\x00\x00\x00\x00\x03\xea", 8, MSG_NOSIGNAL);
        expect_end(world, fd);
        wait_until(world, world->closed_code);
        world->closed_code = 0;
        http_release(world->waiting);
        world->waiting = NULL;
    }
    assert_int_equal(world->messages, 0);
}

static void messages_wait_while_they_are_held(void **state)
{
    struct world *world = *state;
    static char data[30000];
    world->holds = true;
    world_start(world, NULL);
    int fd = websocket_open(world);
    for (int i = 0; i < 5; i++)
        send_frame(fd, FIN | BINARY, "small", 5); /* all in one piece */
    for (int i = 0; i < 5; i++)
        send_frame(fd, FIN | BINARY, data, sizeof(data));
    turn_for(world, 50);
    assert_int_equal(world->messages, 1);
    for (size_t i = 2; i <= 10; i++) {
        http_websocket_hold(world->waiting, false);
        wait_until(world, world->messages == i);
        turn_for(world, 5);
        assert_int_equal(world->messages, i);
    }
    assert_int_equal(world->message_bytes, 25 + 5 * sizeof(data));
    (void)close(fd);
    http_websocket_hold(world->waiting, false);
    wait_until(world, world->closed_code);
}

static void there_is_room_again_when_it_was_taken(void **state)
{
    struct world *world = *state;
    static char data[65536];
    size_t sent = 0;
    world_start(world, NULL);
    int fd = websocket_open(world);
    while (http_websocket_pending(world->waiting) < (size_t)256 * 1024 && sent < 100000000) {
        http_websocket_send(world->waiting, false, data, sizeof(data));
        sent += sizeof(data);
    }
    assert_true(sent < 100000000);
    turn_for(world, 20);
    assert_int_equal(world->rooms, 0);
    for (uint64_t end = now_ms() + WAIT_MS; !world->rooms && now_ms() < end;) {
        (void)recv(fd, data, sizeof(data), MSG_DONTWAIT);
        turn(world);
    }
    assert_int_equal(world->rooms, 1);
    assert_true(http_websocket_pending(world->waiting) <= (size_t)64 * 1024);
    (void)close(fd);
    wait_until(world, world->closed_code);
}

/* Pongs are not kept without end for somebody who never reads them. */
static void a_goodbye_comes_behind_what_was_sent_before(void **state)
{
    enum { MESSAGES = 100, BYTES = 60000 };
    struct world *world = *state;
    static struct frame frame;
    static char data[BYTES];
    world_start(world, NULL);
    int fd = websocket_open(world);
    for (int i = 0; i < MESSAGES; i++) /* more than any socket takes */
        http_websocket_send(world->waiting, false, data, sizeof(data));
    http_websocket_close(world->waiting, 1000, "over");
    for (int i = 0; i < MESSAGES; i++) {
        read_frame(world, fd, &frame);
        assert_int_equal(frame.first, FIN | BINARY);
        assert_int_equal(frame.length, sizeof(data));
    }
    read_frame(world, fd, &frame);
    assert_int_equal(close_code(&frame), 1000);
    (void)close(fd);
    wait_until(world, world->closed_code);
}

static void who_only_pings_is_not_read_for_ever(void **state)
{
    struct world *world = *state;
    char ping[131] = "\x89\xfd\x31\x32\x33\x34";
    size_t sent = 0;
    world_start(world, NULL);
    int fd = websocket_open(world);
    for (int quiet = 0; quiet < 100 && sent < 200000000;) {
        ssize_t count = send(fd, ping, sizeof(ping), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0 && count < (ssize_t)sizeof(ping))
            break;
        quiet = count > 0 ? 0 : quiet + 1;
        sent += count > 0 ? (size_t)count : 0;
        if (count <= 0)
            turn(world);
    }
    assert_true(sent < 200000000);
    assert_true(http_websocket_pending(world->waiting) < 1000000);
    (void)close(fd);
    wait_until(world, world->closed_code);
}

static void who_is_quiet_is_asked_and_then_left(void **state)
{
    struct world *world = *state;
    static struct frame frame;
    world->limits.idle_ms = 60;
    world_start(world, NULL);
    int fd = websocket_open(world);
    for (int i = 0; i < 3; i++) {
        read_frame(world, fd, &frame);
        assert_int_equal(frame.first, FIN | PING);
        send_frame(fd, FIN | PONG, "", 0);
    }
    assert_int_equal(world->closed_code, 0);
    read_frame(world, fd, &frame);
    assert_int_equal(frame.first, FIN | PING);
    expect_end(world, fd);
    assert_int_equal(world->closed_code, 1006);
}

static void the_end_of_the_server_is_said(void **state)
{
    struct world *world = *state;
    unsigned char frame[4];
    world_start(world, NULL);
    int fd = websocket_open(world);
    http_server_free(world->server);
    world->server = NULL;
    assert_int_equal(world->closed_code, 1006);
    assert_true(http_is_gone(world->waiting));
    assert_int_equal(recv(fd, frame, sizeof(frame), MSG_WAITALL), sizeof(frame));
    assert_int_equal(frame[0], FIN | CLOSING);
    assert_int_equal(frame[2] << 8 | frame[3], 1001);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ONE(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
        ONE(the_handshake_is_as_its_standard_has_it),
        ONE(what_is_no_handshake_is_refused),
        ONE(messages_go_both_ways),
        ONE(the_server_says_goodbye),
        ONE(a_goodbye_that_is_not_returned_is_not_waited_for),
        ONE(frames_out_of_order_end_it),
        ONE(messages_wait_while_they_are_held),
        ONE(there_is_room_again_when_it_was_taken),
        ONE(a_goodbye_comes_behind_what_was_sent_before),
        ONE(who_only_pings_is_not_read_for_ever),
        ONE(who_is_quiet_is_asked_and_then_left),
        ONE(the_end_of_the_server_is_said),
#undef ONE
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
