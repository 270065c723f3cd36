/* SPDX-License-Identifier: Apache-2.0 */
/* What must not go out does not, whatever is said; the servers outside are the witnesses. */
#include "world.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "egress/dns.h"
#include "egress/http.h"
#include "hello_bytes.h"
#include "suite.h"
#include "util/own.h"

static const struct wanted usual = {.rules = {"web.example", "web.example:7000,7001,7004,8080",
                                              "private.example", "loopback.example:7000",
                                              "metadata.example", "closed.example:7000",
                                              "nowhere.example", "web.example:7002,7003"}};

/* ---- HTTP ---- */

static const char chunks[] = "PUT / HTTP/1.1\r\nHost: web.example\r\nTransfer-Encoding: "
                             "chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n";
static const char both_lengths[] = "PUT /x HTTP/1.1\r\nHost: web.example\r\nContent-Length: "
                                   "1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
static const char fine[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/* In one piece or byte by byte. */
static int say(struct world *world, uint16_t port, const char *text, bool in_pieces)
{
    const struct timespec moment = {0, 200000};
    int fd = inside_connect(world, "web.example", port);
    assert_true(fd >= 0);
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i += in_pieces ? 1 : length) {
        if (send(fd, text + i, in_pieces ? 1 : length, MSG_NOSIGNAL) < 0)
            break;
        if (in_pieces)
            (void)nanosleep(&moment, NULL);
    }
    return fd;
}

/* What comes back until the end or a pause. */
static void hear(int fd, char ret_answer[1024])
{
    size_t filled = 0;
    /* the first byte may take its time on a busy machine; what follows comes with it */
    for (struct pollfd readable = {fd, POLLIN, 0};
         filled < 1023 && poll(&readable, 1, filled ? 300 : 3000) > 0;) {
        ssize_t got = read(fd, ret_answer + filled, 1023 - filled);
        if (got <= 0)
            break;
        filled += (size_t)got;
    }
    ret_answer[filled] = '\0';
}

static void talk(struct world *world, uint16_t port, const char *text, bool in_pieces,
                 char ret_answer[1024])
{
    hutch_autofd int fd = say(world, port, text, in_pieces);
    hear(fd, ret_answer);
}

static void requests_for_the_name_pass(void **state)
{
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nHost: web.example\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: WEB.example.\r\nA: b\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: web.example\r\n\r\n",
        "GET http://web.example/x HTTP/1.1\r\nHost: web.example\r\n\r\n",
        "\r\nPOST / HTTP/1.0\r\nHost: web.example\r\nContent-Length: 3\r\n\r\nabc",
        chunks,
    };
    struct world *world = *state;
    char answer[1024];
    gateway_start_with(world, &usual);
    for (size_t i = 0; i < HUTCH_COUNT(requests) * 4; i++) {
        talk(world, i & 2 ? PORT_WEB_TOO : PORT_WEB, requests[i / 4], i & 1, answer);
        if (strncmp(answer, fine, strlen(fine)) != 0)
            fail_msg("%s: %s", requests[i / 4], answer);
    }
    assert_int_equal(world->table->denied, 0);
}

static void requests_that_follow_are_read_too(void **state)
{
    struct world *world = *state;
    char answer[1024], twice[128];
    gateway_start_with(world, &usual);
    (void)snprintf(twice, sizeof(twice), "%s%s", fine, fine);
    talk(world, PORT_WEB,
         "POST /1 HTTP/1.1\r\nHost: web.example\r\nContent-Length: 2\r\n\r\nhi"
         "GET /2 HTTP/1.1\r\nHost: web.example\r\n\r\n",
         false, answer);
    assert_string_equal(answer, twice);
    talk(
        world, PORT_WEB,
        "GET /3 HTTP/1.1\r\nHost: web.example\r\n\r\nGET /4 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        false, answer);
    assert_true(saw(world, "/3"));
    assert_true(was_denied(world, "web.example", PORT_WEB, EGRESS_WHY_HOST));
    assert_null(memmem(world->seen->bytes, SEEN_BYTES, "/4", 2));
    assert_null(memmem(world->seen->bytes, SEEN_BYTES, "evil", 4));
}

static void requests_that_name_another_or_are_ambiguous_are_refused(void **state)
{
    static const char *const requests[] = {
        "GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: web.example.evil.example\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: web.example:81\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: web.example@evil.example\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: web.example\r\nHost: evil.example\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: web.example, evil.example\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost : web.example\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: evil.example\r\nX: y\r\n Host: web.example\r\n\r\n",
        "GET /x HTTP/1.1\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost:\r\n\r\n",
        "GET /x HTTP/1.1\r\nX-Host: web.example\r\n\r\n",
        "GET http://evil.example/x HTTP/1.1\r\nHost: web.example\r\n\r\n",
        "GET http:///x HTTP/1.1\r\nHost: web.example\r\n\r\n",
        "GET x HTTP/1.1\r\nHost: web.example\r\n\r\n",
        "CONNECT evil.example:80 HTTP/1.1\r\nHost: web.example\r\n\r\n",
        "CONNECT web.example:80 HTTP/1.1\r\nHost: web.example\r\n\r\n",
        "GET  /x HTTP/1.1\r\nHost: web.example\r\n\r\n",
        "GET /x y HTTP/1.1\r\nHost: web.example\r\n\r\n",
        "GET /x HTTP/1.1\nHost: web.example\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: web.example\n\r\n",
        "GET /x HTTP/1.1\r\nHost: web.example\r\nX: a\rb\r\n\r\n",
        "GET /x HTTP/2.0\r\nHost: web.example\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: web.example\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "POST /x HTTP/1.1\r\nHost: web.example\r\nContent-Length: 1, 1\r\n\r\nx",
        "POST /x HTTP/1.1\r\nHost: web.example\r\nContent-Length: +1\r\n\r\nx",
        both_lengths,
        "POST /x HTTP/1.1\r\nHost: web.example\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: web.example\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "POST /x HTTP/1.0\r\nHost: web.example\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: web.example\r\nUpgrade: HTTP/2.0\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: web.example\r\nUpgrade: x\r\nContent-Length: 1\r\n\r\nx",
    };
    struct world *world = *state;
    char answer[1024];
    gateway_start_with(world, &usual);
    for (size_t i = 0; i < HUTCH_COUNT(requests) * 2; i++) {
        talk(world, PORT_WEB, requests[i / 2], i & 1, answer);
        if (strncmp(answer, "HTTP/1.1 403 ", 13) != 0 || !strstr(answer, "hutch: "))
            fail_msg("%s: %s", requests[i / 2], answer);
    }
    /* On a port that is not the web's, they are as much requests as on one that is. */
    for (size_t i = 0; i < HUTCH_COUNT(requests); i++) {
        talk(world, PORT_WEB_TOO, requests[i], false, answer);
        if (!strncmp(answer, "HTTP/1.1 200", 12))
            fail_msg("%s: %s", requests[i], answer);
        talk(world, PORT_WEB_TOO, requests[i], true, answer);
        if (!strncmp(answer, "HTTP/1.1 200", 12))
            fail_msg("in pieces, %s: %s", requests[i], answer);
    }
    assert_null(memmem(world->seen->bytes, SEEN_BYTES, "\r\n", 2));
    assert_true(was_denied(world, "web.example", PORT_WEB, EGRESS_WHY_HOST));
}

#define FOR_EVIL "Host: evil.example\r\n\r\n"
#define THEN_EVIL "Host: web.example\r\n\r\nGET / HTTP/1.1\r\n" FOR_EVIL
#define LONG_METHOD "XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX"

/* Where other protocols pass, none of them is a request to this server but not to that one. */
static void requests_to_lenient_servers_are_refused(void **state)
{
    static const char *const requests[] = {
        LONG_METHOD " / HTTP/1.1\r\n" THEN_EVIL,
        "GET\x1f/\x1fHTTP/1.1\r\n" FOR_EVIL,
        "\x1cGET / HTTP/1.1\r\n" FOR_EVIL,
        "GET\x85/\x85HTTP/1.1\r\n" FOR_EVIL,
        "\xa0GET / HTTP/1.1\r\n" FOR_EVIL,
        "\xa0\r\nGET / HTTP/1.1\r\n" FOR_EVIL,
        "\x01GET / HTTP/1.1\r\n" THEN_EVIL,
        "GET /\r\n" FOR_EVIL,
        "GET x\r\n" FOR_EVIL,
        "GET x://evil.example/\r\n",
        "POST / FOO/1.1\r\n" FOR_EVIL,
    };
    static const char *const ended[] = {
        "GET http://evil.example/ HTTP/1.1",
        "GET http://evil.example/ HTTP/1.1\r",
        "GET http://evil.example/",
        "GET x\r\nHost: evil.example",
    };
    struct world *world = *state;
    char answer[1024];
    gateway_start_with(world, &usual);
    for (size_t i = 0; i < HUTCH_COUNT(requests) * 2; i++)
        talk(world, PORT_WEB_TOO, requests[i / 2], i & 1, answer);
    for (size_t i = 0; i < HUTCH_COUNT(ended) * 2; i++) {
        hutch_autofd int fd = say(world, PORT_WEB_TOO, ended[i / 2], i & 1);
        (void)shutdown(fd, SHUT_WR);
        hear(fd, answer);
    }
    assert_null(memmem(world->seen->bytes, SEEN_BYTES, "evil", 4));
    assert_true(was_denied(world, "web.example", PORT_WEB_TOO, EGRESS_WHY_HOST));
    assert_int_equal(world->table->denied, 2 * (HUTCH_COUNT(requests) + HUTCH_COUNT(ended)));
}

static void what_is_no_request_passes_where_it_may(void **state)
{
    static const char *const texts[] = {
        "SSH-2.0-x\r\n",
        "*1\r\n$4\r\nPING\r\n",
        "GET key\r\n",
        "GET user:1\r\nGET user:2\r\n",
        "get /key\r\n",
        "EHLO inside\r\n",
        "OPTIONS rtsp://web.example/ RTSP/1.0\r\nCSeq: 1\r\n\r\n",
        "0032git-upload-pack /x.git",
        "\x01\x02\x03",
        "\x80\x81 HTTP",
    };
    struct world *world = *state;
    char answer[1024];
    gateway_start_with(world, &usual);
    for (size_t i = 0; i < HUTCH_COUNT(texts) * 2; i++) {
        talk(world, PORT_ECHO, texts[i / 2], i & 1, answer);
        assert_string_equal(answer, texts[i / 2]);
    }
    assert_int_equal(world->table->denied, 0);
}

/* A first line of so many bytes that say nothing, then a request: how many have arrived, or 0 when
 * it was refused. */
static uint64_t say_late(struct world *world, uint64_t bytes)
{
    static const char zeros[65536], request[] = " / HTTP/1.1\r\n" FOR_EVIL;
    uint64_t count = 0;
    hutch_autofd int fd = inside_connect(world, "web.example", PORT_SINK);
    assert_true(fd >= 0);
    for (uint64_t i = 0; i < bytes; i += sizeof(zeros))
        assert_int_equal(send(fd, zeros, sizeof(zeros), MSG_NOSIGNAL), sizeof(zeros));
    assert_int_equal(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
    (void)shutdown(fd, SHUT_WR);
    return read_some(fd, &count, sizeof(count)) == sizeof(count) ? count - (sizeof(request) - 1)
                                                                 : 0;
}

static void a_line_is_looked_at_as_long_as_a_server_would_read_it(void **state)
{
    struct world *world = *state;
    gateway_start_with(world, &usual);
    assert_int_equal(say_late(world, 65536), 0);
    assert_int_equal(say_late(world, HTTP_LONGEST_LINE / 2), 0);
    assert_int_equal(world->table->denied, 2);
    const uint64_t too_long = 2 * (uint64_t)HTTP_LONGEST_LINE;
    assert_int_equal(say_late(world, too_long), too_long);
    assert_int_equal(world->table->denied, 2);
}

/* Nothing in it says what it is, and it is far longer than what is kept. */
static void a_line_without_end_passes(void **state)
{
    static const char zeros[65536];
    struct world *world = *state;
    uint64_t count = 0;
    gateway_start_with(world, &usual);
    hutch_autofd int fd = inside_connect(world, "web.example", PORT_SINK);
    assert_true(fd >= 0);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(send(fd, zeros, sizeof(zeros), MSG_NOSIGNAL), sizeof(zeros));
    (void)shutdown(fd, SHUT_WR);
    assert_int_equal(read_some(fd, &count, sizeof(count)), sizeof(count));
    assert_int_equal(count, 64 * sizeof(zeros));
}

static void an_upgrade_is_opaque_only_after_the_server_agreed(void **state)
{
    struct world *world = *state;
    char answer[1024];
    gateway_start_with(world, &usual);
    talk(world, PORT_WEB,
         "GET / HTTP/1.1\r\nHost: web.example\r\nUpgrade: websocket\r\n\r\nframes of anything",
         false, answer);
    assert_non_null(strstr(answer, "101 Switching"));
    assert_true(saw(world, "frames of anything"));
    talk(world, PORT_WEB,
         "GET /2 HTTP/1.1\r\nHost: web.example\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n\r\n",
         false, answer);
    assert_string_equal(answer, fine);
    assert_null(memmem(world->seen->bytes, SEEN_BYTES, "h2c", 3));
    assert_null(memmem(world->seen->bytes, SEEN_BYTES, "AAA", 3));
}

static void what_is_neither_is_refused_where_the_web_is(void **state)
{
    struct world *world = *state;
    char answer[1024];
    gateway_start_with(world, &usual);
    talk(world, PORT_WEB, "SSH-2.0-x\r\n", false, answer);
    assert_string_equal(answer, "");
    talk(world, PORT_TLS, "\x01\x02\x03", false, answer);
    assert_string_equal(answer, "");
    assert_true(was_denied(world, "web.example", PORT_WEB, EGRESS_WHY_PROTOCOL));
    assert_true(was_denied(world, "web.example", PORT_TLS, EGRESS_WHY_PROTOCOL));
    assert_int_equal(world->seen->length, 0);
}

/* ---- TLS ---- */

static ssize_t say_hello(struct world *world, uint16_t port, const struct hello_wish *wish,
                         size_t piece)
{
    uint8_t hello[4096];
    char answer[8];
    size_t length = hello_write(wish, hello);
    hutch_autofd int fd = inside_connect(world, "web.example", port);
    assert_true(fd >= 0);
    for (size_t i = 0; i < length; i += piece) {
        size_t part = length - i < piece ? length - i : piece;
        if (send(fd, hello + i, part, MSG_NOSIGNAL) < 0)
            break;
    }
    return read_some(fd, answer, 4);
}

static void tls_must_name_the_host(void **state)
{
    struct world *world = *state;
    const struct hello_wish good = {.name = "web.example", .record_bytes = 16384};
    const struct hello_wish split = {.name = "Web.Example", .record_bytes = 7};
    const struct hello_wish bad[] = {
        {.name = "evil.example", .record_bytes = 16384},
        {.name = "web.example.evil.example", .record_bytes = 16384},
        {.name = "evil.example", .record_bytes = 3},
        {.name = NULL, .record_bytes = 16384},
        {.name = "web.example", .record_bytes = 16384, .hides = true},
        {.name = "web.example", .second_name = "evil.example", .record_bytes = 16384},
        {.name = "93.184.216.34", .record_bytes = 16384},
    };
    gateway_start_with(world, &usual);
    assert_int_equal(say_hello(world, PORT_TLS, &good, 4096), 4);
    assert_int_equal(say_hello(world, PORT_TLS, &split, 1), 4);
    size_t length = world->seen->length;
    assert_true(length > 100);
    for (size_t i = 0; i < HUTCH_COUNT(bad); i++) {
        assert_true(say_hello(world, PORT_TLS, &bad[i], 4096) <= 0);
        assert_true(say_hello(world, PORT_TLS, &bad[i], 1) <= 0);
        assert_true(say_hello(world, PORT_WEB_TOO, &bad[i], 4096) <= 0);
    }
    assert_int_equal(world->seen->length, length);
    assert_true(was_denied(world, "web.example", PORT_TLS, EGRESS_WHY_SNI));
    assert_true(was_denied(world, "web.example", PORT_WEB_TOO, EGRESS_WHY_SNI));
}

/* ---- addresses ---- */

static void expect_reset(struct world *world, const char *name, uint16_t port)
{
    char byte;
    hutch_autofd int fd = inside_connect(world, name, port);
    assert_true(fd >= 0);
    assert_int_equal(read_some(fd, &byte, 1), -ECONNRESET);
}

/* Servers that are slow to accept still count those of the test before. */
static unsigned settled_connections(const struct world *world)
{
    unsigned before, now = __atomic_load_n(&world->seen->connections, __ATOMIC_SEQ_CST);
    do {
        before = now;
        (void)usleep(300000);
        now = __atomic_load_n(&world->seen->connections, __ATOMIC_SEQ_CST);
    } while (now != before);
    return now;
}

static void addresses_that_are_nobodys_business_are_not_dialled(void **state)
{
    struct world *world = *state;
    gateway_start_with(world, &usual);
    unsigned before = settled_connections(world);
    expect_reset(world, "private.example", PORT_WEB);
    expect_reset(world, "loopback.example", PORT_ECHO);
    expect_reset(world, "metadata.example", PORT_WEB);
    expect_reset(world, "closed.example", PORT_ECHO);
    expect_reset(world, "nowhere.example", PORT_WEB);
    assert_true(was_denied(world, "private.example", PORT_WEB, EGRESS_WHY_RANGE));
    assert_true(was_denied(world, "loopback.example", PORT_ECHO, EGRESS_WHY_RANGE));
    assert_true(was_denied(world, "metadata.example", PORT_WEB, EGRESS_WHY_RANGE));
    assert_true(was_denied(world, "closed.example", PORT_ECHO, EGRESS_WHY_CONNECT));
    assert_true(was_denied(world, "nowhere.example", PORT_WEB, EGRESS_WHY_RESOLVE));
    assert_int_equal(settled_connections(world), before);
    struct address unknown = {.family = AF_INET, .bytes = {198, 19, 200, 200}};
    assert_int_equal(inside_connect_address(world, &unknown, 80), -ECONNREFUSED);
}

static void a_range_that_was_opened_is_dialled(void **state)
{
    struct world *world = *state;
    const struct wanted opened = {.rules = {"private.example:7000", "loopback.example:7000"},
                                  .opened = {"10.9.0.0/16"}};
    char data[4];
    gateway_start_with(world, &opened);
    hutch_autofd int fd = inside_connect(world, "private.example", PORT_ECHO);
    assert_int_equal(write(fd, "ping", 4), 4);
    assert_int_equal(read_some(fd, data, 4), 4);
    expect_reset(world, "loopback.example", PORT_ECHO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GATEWAY_TEST(requests_for_the_name_pass),
        GATEWAY_TEST(requests_that_follow_are_read_too),
        GATEWAY_TEST(requests_that_name_another_or_are_ambiguous_are_refused),
        GATEWAY_TEST(requests_to_lenient_servers_are_refused),
        GATEWAY_TEST(what_is_no_request_passes_where_it_may),
        GATEWAY_TEST(a_line_without_end_passes),
        GATEWAY_TEST(a_line_is_looked_at_as_long_as_a_server_would_read_it),
        GATEWAY_TEST(an_upgrade_is_opaque_only_after_the_server_agreed),
        GATEWAY_TEST(what_is_neither_is_refused_where_the_web_is),
        GATEWAY_TEST(tls_must_name_the_host),
        GATEWAY_TEST(addresses_that_are_nobodys_business_are_not_dialled),
        GATEWAY_TEST(a_range_that_was_opened_is_dialled),
    };
    return gateway_run_tests(tests);
}
