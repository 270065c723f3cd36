/* SPDX-License-Identifier: Apache-2.0 */
/* What can be read in two ways is refused, and nothing behind it on the same connection is ever
 * taken for a request. */
#include "http_world.h"

#define HOST "Host: a\r\n"
#define GET "GET / HTTP/1.1\r\n"
#define POST "POST /echo HTTP/1.1\r\n" HOST
#define SECOND "GET /second HTTP/1.1\r\nHost: a\r\n\r\n"

struct row {
    int status;
    const char *bytes;
    size_t length;
};
#define ROW(status, bytes)               \
    {                                    \
        status, bytes, sizeof(bytes) - 1 \
    }

/* None of these comes to the handler. */
static const struct row heads[] = {
    /* lines */
    ROW(400, "\r\n" GET HOST "\r\n"),
    ROW(400, "\n" GET HOST "\r\n"),
    ROW(400, " " GET HOST "\r\n"),
    ROW(400, "GET / HTTP/1.1\nHost: a\r\n\r\n"),
    ROW(400, "GET / HTTP/1.1\r\nHost: a\n\r\n"),
    ROW(400, "GET / HTTP/1.1\r\nHost: a\r\n\n"),
    ROW(400, "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n"),
    ROW(400, "GET / HTTP/1.1\rHost: a\r\n\r\n"),
    ROW(400, "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n"),
    ROW(400, GET "Host: a\r\n b\r\n\r\n"),
    ROW(400, GET "Host: a\r\n\tb\r\n\r\n"),
    ROW(400, GET " Host: a\r\n\r\n"),
    ROW(400, GET HOST "X: a\r\n\r\r\n\r\n"),
    /* letters */
    ROW(400, GET HOST "X: a\0b\r\n\r\n"),
    ROW(400, "GET /\0 HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, GET HOST "X\0: a\r\n\r\n"),
    ROW(400, GET HOST "X: a\x01\r\n\r\n"),
    ROW(400, GET HOST "X: a\x7f\r\n\r\n"),
    ROW(400, GET HOST "X: a\x0b\r\n\r\n"),
    ROW(400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    ROW(400, "\x80\x01"),
    /* the request line */
    ROW(400, "GET /\r\n" HOST "\r\n"),
    ROW(400, "GET  / HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET /  HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET / HTTP/1.1 \r\n" HOST "\r\n"),
    ROW(400, "GET\t/ HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET / x HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET / http/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET / HTTP/1\r\n" HOST "\r\n"),
    ROW(400, "GET / HTTP/11\r\n" HOST "\r\n"),
    ROW(400, "GET / HTTP/1.10\r\n" HOST "\r\n"),
    ROW(400, "GET / XTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "G(T / HTTP/1.1\r\n" HOST "\r\n"),
    ROW(505, "GET / HTTP/2.0\r\n" HOST "\r\n"),
    ROW(505, "GET / HTTP/1.2\r\n" HOST "\r\n"),
    ROW(505, "GET / HTTP/0.9\r\n" HOST "\r\n"),
    ROW(505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ROW(501, "BREW / HTTP/1.1\r\n" HOST "\r\n"),
    ROW(501, "get / HTTP/1.1\r\n" HOST "\r\n"),
    ROW(501, "CONNECT a:80 HTTP/1.1\r\n" HOST "\r\n"),
    ROW(501, "TRACE / HTTP/1.1\r\n" HOST "\r\n"),
    /* the target */
    ROW(400, "GET a HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET a:80 HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET * HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET ?a HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET http://b/ HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET http://a@b/ HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET http://a:80/ HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET http://a HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET https://a/ HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET file:///etc/passwd HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET http:/a/ HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET /#a HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET /?a#b HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET /% HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET /%4 HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET /%zz HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET /?a=%g1 HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET /%00 HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET /a\\b HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET /<a> HTTP/1.1\r\n" HOST "\r\n"),
    ROW(400, "GET /\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n"),
    /* Host */
    ROW(400, GET "\r\n"),
    ROW(400, GET "X: a\r\n\r\n"),
    ROW(400, GET HOST HOST "\r\n"),
    ROW(400, GET "Host: a\r\nhOST: b\r\n\r\n"),
    ROW(400, GET "Host:\r\n\r\n"),
    ROW(400, GET "Host: a b\r\n\r\n"),
    ROW(400, GET "Host: a, b\r\n\r\n"),
    ROW(400, GET "Host: a/b\r\n\r\n"),
    ROW(400, GET "Host: a@b\r\n\r\n"),
    ROW(400, GET "Host: a:\r\n\r\n"),
    ROW(400, GET "Host: a:b\r\n\r\n"),
    ROW(400, GET "Host: a:123456\r\n\r\n"),
    ROW(400, GET "Host: [::1\r\n\r\n"),
    ROW(400, GET "Host: []\r\n\r\n"),
    ROW(400, GET "Host: \xc3\xa4\r\n\r\n"),
    /* names */
    ROW(400, GET "Host : a\r\n\r\n"),
    ROW(400, GET "Host\t: a\r\n\r\n"),
    ROW(400, GET HOST ": a\r\n\r\n"),
    ROW(400, GET HOST "X\r\n\r\n"),
    ROW(400, GET HOST "X y: a\r\n\r\n"),
    ROW(400, GET HOST "X(y): a\r\n\r\n"),
    ROW(400, GET HOST "X\xc3\xa4: a\r\n\r\n"),
    ROW(400, GET HOST "Content-Length\x0b: 5\r\n\r\n"),
    /* once only */
    ROW(400, GET HOST "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n"),
    ROW(400, GET HOST "Authorization: Bearer a\r\nauthorization: Bearer a\r\n\r\n"),
    ROW(400, POST "Content-Type: a/b\r\nContent-Type: c/d\r\nContent-Length: 1\r\n\r\na"),
    ROW(400, POST "Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 1\r\n\r\na"),
    ROW(400, GET HOST "Origin: http://a\r\nOrigin: http://b\r\n\r\n"),
    ROW(400, GET HOST "Range: bytes=0-1\r\nRange: bytes=2-3\r\n\r\n"),
    /* where the body ends */
    ROW(400, POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW(400, POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    ROW(400, POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
    ROW(400, POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
    ROW(400, POST "Content-Length: 5, 5\r\n\r\nhello"),
    ROW(400, POST "Content-Length: 5,6\r\n\r\nhello"),
    ROW(400, POST "Content-Length: +5\r\n\r\nhello"),
    ROW(400, POST "Content-Length: -1\r\n\r\nhello"),
    ROW(400, POST "Content-Length: 0x5\r\n\r\nhello"),
    ROW(400, POST "Content-Length: 5 \t 5\r\n\r\nhello"),
    ROW(400, POST "Content-Length: 5.0\r\n\r\nhello"),
    ROW(400, POST "Content-Length: 05\r\n\r\nhello"),
    ROW(400, POST "Content-Length:\r\n\r\nhello"),
    ROW(400, POST "Content-Length: five\r\n\r\nhello"),
    ROW(413, POST "Content-Length: 18446744073709551621\r\n\r\nhello"),
    ROW(413, POST "Content-Length: 99999999999999999999999999\r\n\r\nhello"),
    ROW(400, POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW(400, POST "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW(400, POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    ROW(400, POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    ROW(400, POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
    ROW(400, POST "Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n"),
    ROW(400, POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
    ROW(400, POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    ROW(400, POST "Transfer-Encoding: chunke\x0b"
                  "d\r\n\r\n0\r\n\r\n"),
    ROW(400, POST "Transfer-Encoding:\r\n\r\n0\r\n\r\n"),
    ROW(400, POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
    ROW(400, POST "Transfer-Encoding\r\n : chunked\r\n\r\n0\r\n\r\n"),
    ROW(501, POST "Transfer-Encoding: gzip\r\n\r\n"),
    ROW(501, POST "Transfer-Encoding: identity\r\n\r\n"),
    ROW(400, "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW(415, POST "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\na"),
    /* what is asked of the connection */
    ROW(417, POST "Expect: 200-ok\r\nContent-Length: 1\r\n\r\na"),
    ROW(417, POST "Expect: 100-continue, x\r\nContent-Length: 1\r\n\r\na"),
    ROW(400, GET HOST "Connection: close, keep-alive\r\n\r\n"),
    ROW(400, GET HOST "Connection: close\r\nConnection: keep-alive\r\n\r\n"),
    ROW(400, GET HOST "Connection: host\r\n\r\n"),
    ROW(400, GET HOST "Connection: keep-alive, Authorization\r\n\r\n"),
    ROW(400, POST "Connection: Content-Length\r\nContent-Length: 1\r\n\r\na"),
    ROW(400, GET HOST "Upgrade: websocket\r\n\r\n"),
    ROW(400, GET HOST "Upgrade: websocket\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"),
    ROW(400, POST "Upgrade: websocket\r\nConnection: upgrade\r\n\r\n"),
    ROW(400, GET HOST "Upgrade: websocket\r\nConnection: upgrade\r\nContent-Length: 1\r\n\r\na"),
    ROW(400, "GET / HTTP/1.0\r\n" HOST "Upgrade: websocket\r\nConnection: upgrade\r\n\r\n"),
};

/* Sent with another request behind it: what comes is one answer with that status, and the end. */
static void check_refused(struct world *world, const struct row *row)
{
    char bytes[1024], answer[4096], status[32];
    int fd = client_open(world);
    memcpy(bytes, row->bytes, row->length);
    memcpy(bytes + row->length, SECOND, sizeof(SECOND));
    size_t length = row->length + sizeof(SECOND) - 1;
    assert_int_equal(send(fd, bytes, length, MSG_NOSIGNAL), (ssize_t)length);
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    (void)close(fd);
    (void)snprintf(status, sizeof(status), "HTTP/1.1 %d ", row->status);
    if (strncmp(answer, status, strlen(status)) != 0 ||
        !strstr(answer, "\r\nConnection: close\r\n") || strstr(answer + 1, "\nHTTP/1.1 "))
        fail_msg("%d expected for\n%s\ncame\n%s", row->status, row->bytes, answer);
}

static void heads_that_can_be_read_in_two_ways_are_refused(void **state)
{
    struct world *world = *state;
    struct http_counts counts;
    world_start(world, NULL);
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        check_refused(world, &heads[i]);
        if (world->requests)
            fail_msg("the handler saw %s:\n%s", world->last_path, heads[i].bytes);
    }
    http_server_counts(world->server, &counts);
    assert_int_equal(counts.bad_requests, sizeof(heads) / sizeof(heads[0]));
}

#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

/* These come to the handler, and their bodies never do. */
static const struct row bodies[] = {
    ROW(400, CHUNKED "5\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "5\r\nhello\n0\r\n\r\n"),
    ROW(400, CHUNKED "5\r\nhello0\r\n\r\n"),
    ROW(400, CHUNKED "5\r\nhelloX\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "5\rXhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "\r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "-5\r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "+5\r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "0x5\r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED " 5\r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "5 \r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "5,5\r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "g\r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "ffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "10000000000000005\r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "0000000000000000000005\r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "5;a\nb\r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "5;a\0b\r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "5;a\rb\r\nhello\r\n0\r\n\r\n"),
    ROW(400, CHUNKED "5\r\nhello\r\n0\r\nHost: b\r\n\r\n"),
    ROW(400, CHUNKED "5\r\nhello\r\n0\r\nX: a\r\n\r\n"),
    ROW(400, CHUNKED "5\r\nhello\r\n0\r\n\n"),
    ROW(413, POST "Content-Length: 1001\r\n\r\n"),
    ROW(413, POST "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n"),
    ROW(413, CHUNKED "fff\r\n"
                     "01234567890123456789"),
};

static void chunks_that_are_not_in_order_are_refused(void **state)
{
    struct world *world = *state;
    world_start(world, NULL);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        world->body_bytes = 0;
        check_refused(world, &bodies[i]);
        assert_string_equal(world->last_path, "/echo");
        assert_int_equal(world->requests, i + 1);
        assert_int_equal(world->body_bytes, SIZE_MAX);
    }
}

static void too_much_is_refused_before_it_is_kept(void **state)
{
    struct world *world = *state;
    char *bytes = malloc(100000), answer[4096];
    assert_non_null(bytes);
    world_start(world, NULL);
    memset(bytes, 'a', 100000);
    static const struct {
        const char *start;
        const char *status;
    } rows[] = {
        {"GET /", "HTTP/1.1 414 "},
        {GET HOST "X: ", "HTTP/1.1 431 "},
        {"A", "HTTP/1.1 414 "},
        {CHUNKED "1;", "HTTP/1.1 400 "},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int fd = client_open(world);
        memcpy(bytes, rows[i].start, strlen(rows[i].start));
        assert_int_equal(send(fd, bytes, 100000, MSG_NOSIGNAL), 100000);
        assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
        assert_memory_equal(answer, rows[i].status, strlen(rows[i].status));
        (void)close(fd);
        memset(bytes, 'a', 100000);
    }
    size_t length = (size_t)snprintf(bytes, 100000, GET HOST);
    for (int i = 0; i < 200; i++)
        length += (size_t)snprintf(bytes + length, 100000 - length, "X-%d: a\r\n", i);
    (void)snprintf(bytes + length, 100000 - length, "\r\n");
    ask(world, bytes, answer, sizeof(answer));
    assert_memory_equal(answer, "HTTP/1.1 431 ", 13);
    free(bytes);
}

/* Strict is not deaf: what everybody sends comes through. */
static const struct {
    const char *request;
    const char *path;
} plain[] = {
    {"GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "/a"},
    {"GET /a HTTP/1.0\r\n\r\n", "/a"},
    {"GET /a?b=%20c&d[]=e HTTP/1.1\r\nhost:a:80  \r\nCONNECTION:\tClose\r\n\r\n", "/a"},
    {"GET http://A/b?c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "/b"},
    {"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "*"},
    {"GET /a HTTP/1.1\r\nHost: [::1]:8888\r\nConnection: close\r\nX:\r\nY: \xc3\xa4\r\n\r\n", "/a"},
    {"GET /a HTTP/1.1\r\nHost: a\r\nConnection: close, upgrade\r\nUpgrade: h2c\r\n\r\n", "/a"},
    {"GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept: a/b\r\nAccept: c/d\r\n\r\n", "/a"},
    {"POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "/echo"},
    {"POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: Chunked\r\n\r\n"
     "5;a=\"b\"\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\n",
     "/echo"},
};

static void what_is_plain_comes_through(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        ask(world, plain[i].request, answer, sizeof(answer));
        if (strncmp(answer, "HTTP/1.1 200 ", 13) != 0)
            fail_msg("%s\n%s", plain[i].request, answer);
        assert_string_equal(world->last_path, plain[i].path);
    }
    assert_non_null(strstr(answer, "\r\n\r\nhello0123456789"));
}

/* The same, byte after byte. */
static void pieces_are_read_as_the_whole_is(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        int fd = client_open(world);
        for (const char *c = plain[i].request; *c; c++) {
            assert_int_equal(send(fd, c, 1, MSG_NOSIGNAL), 1);
            (void)event_base_loop(world->base, EVLOOP_NONBLOCK);
        }
        assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
        assert_memory_equal(answer, "HTTP/1.1 200 ", 13);
        (void)close(fd);
    }
    assert_int_equal(world->requests, sizeof(plain) / sizeof(plain[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ONE(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
        ONE(heads_that_can_be_read_in_two_ways_are_refused),
        ONE(chunks_that_are_not_in_order_are_refused),
        ONE(too_much_is_refused_before_it_is_kept),
        ONE(what_is_plain_comes_through),
        ONE(pieces_are_read_as_the_whole_is),
#undef ONE
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
