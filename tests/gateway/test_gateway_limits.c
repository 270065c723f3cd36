/* SPDX-License-Identifier: Apache-2.0 */
/* Limits, proxies, and what a sandbox that behaves badly does to its own others. */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "egress/dns.h"
#include "suite.h"
#include "util/own.h"

#define FLOOD 1500

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool echoes(struct world *world, const char *name)
{
    char data[4];
    hutch_autofd int fd = inside_connect(world, name, PORT_ECHO);
    return fd >= 0 && write(fd, "ping", 4) == 4 && read_some(fd, data, 4) == 4;
}

/* ---- limits ---- */

static void no_more_connections_than_the_limit(void **state)
{
    struct world *world = *state;
    const struct wanted wanted = {.rules = {"web.example:7000"}, .max_connections = 2};
    char byte;
    gateway_start_with(world, &wanted);
    hutch_autofd int first = inside_connect(world, "web.example", PORT_ECHO);
    hutch_autofd int second = inside_connect(world, "web.example", PORT_ECHO);
    hutch_autofd int third = inside_connect(world, "web.example", PORT_ECHO);
    assert_int_equal(read_some(third, &byte, 1), -ECONNRESET);
    assert_true(was_denied(world, "web.example", PORT_ECHO, EGRESS_WHY_CONNECTIONS));
    hutch_fd_close(&first);
    for (int i = 0; i < 100 && world->table->connections_open > 1; i++)
        (void)usleep(10000);
    assert_true(echoes(world, "web.example"));
}

/* The end of the one and the beginning of the next reach a gateway that was away together. */
static void who_comes_when_another_has_ended_has_its_place(void **state)
{
    struct world *world = *state;
    const struct wanted wanted = {.rules = {"web.example:7005"}, .max_connections = 1};
    struct address address;
    char data[64];
    gateway_start_with(world, &wanted);
    assert_int_equal(inside_ask(world, "web.example", DNS_A, &address), DNS_OK);
    hutch_autofd int fd = inside_connect_address(world, &address, PORT_PART);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(read_some(fd, data, sizeof(data)), 8); /* to its end */
        assert_int_equal(kill(world->gateway, SIGSTOP), 0);
        hutch_fd_close(&fd);
        fd = inside_connect_address(world, &address, PORT_PART);
        assert_int_equal(kill(world->gateway, SIGCONT), 0);
    }
    assert_int_equal(read_some(fd, data, sizeof(data)), 8);
}

static void no_more_bytes_than_the_limit(void **state)
{
    struct world *world = *state;
    const struct wanted wanted = {.rules = {"web.example:7000,7002"}, .max_bytes = 1000000};
    static char data[65536];
    size_t total = 0;
    ssize_t got;
    gateway_start_with(world, &wanted);
    hutch_autofd int fd = inside_connect(world, "web.example", PORT_SOURCE);
    while ((got = read_some(fd, data, sizeof(data))) > 0)
        total += (size_t)got;
    assert_true(total <= 1000000);
    assert_true(was_denied(world, "web.example", PORT_SOURCE, EGRESS_WHY_BYTES));
    assert_false(echoes(world, "web.example"));
    assert_true(world->table->bytes_in + world->table->bytes_out <= 1000000);
    /* Neither another gateway nor the same order again begins anew; a larger limit goes on. */
    gateway_stop(world);
    gateway_start_with(world, &wanted);
    assert_false(echoes(world, "web.example"));
    const struct wanted more = {.rules = {"web.example:7000,7002"}, .max_bytes = 2000000};
    assert_int_equal(gateway_order(world, &more, NULL), EGRESS_READY);
    assert_true(echoes(world, "web.example"));
}

static void no_faster_than_the_limit(void **state)
{
    struct world *world = *state;
    const struct wanted wanted = {.rules = {"web.example:7000,7002"}, .max_rate = 4000000};
    static char data[65536];
    size_t total = 0;
    gateway_start_with(world, &wanted);
    hutch_autofd int fd = inside_connect(world, "web.example", PORT_SOURCE);
    double began = now_s();
    while (total < 4000000) {
        ssize_t got = read_some(fd, data, sizeof(data));
        assert_true(got > 0);
        total += (size_t)got;
    }
    double took = now_s() - began;
    assert_true(took > 0.8 && took < 3);
    assert_true(echoes(world, "web.example"));
}

/* ---- proxies ---- */

static void expect_proxied(struct world *world, const char *name)
{
    char data[32] = "";
    hutch_autofd int fd = inside_connect(world, name, PORT_ECHO);
    assert_true(fd >= 0);
    assert_int_equal(read_some(fd, data, 12), 12);
    assert_string_equal(data, "220 proxied\n");
    assert_int_equal(write(fd, "through", 7), 7);
    assert_int_equal(read_some(fd, data, 7), 7);
}

static void a_socks_proxy_gets_the_name(void **state)
{
    struct world *world = *state;
    const struct wanted wanted = {.rules = {"unknown.example:7000"},
                                  .proxy = "socks5://127.0.0.1:1080",
                                  .login = "user:password"};
    gateway_start_with(world, &wanted);
    expect_proxied(world, "unknown.example");
    assert_true(saw(world, "unknown.example\x1b\x58"));
    assert_true(saw(world, "\x04user\x08password"));
    assert_int_equal(world->seen->questions, 0);
}

static void an_http_proxy_gets_the_name(void **state)
{
    struct world *world = *state;
    const struct wanted wanted = {.rules = {"unknown.example:7000"},
                                  .proxy = "http://web.example:3128",
                                  .login = "user:password"};
    gateway_start_with(world, &wanted);
    expect_proxied(world, "unknown.example");
    assert_true(saw(world, "CONNECT unknown.example:7000 HTTP/1.1\r\n"));
    assert_true(saw(world, "Proxy-Authorization: Basic dXNlcjpwYXNzd29yZA==\r\n"));
    assert_string_equal(world->seen->last_question, "web.example");
}

static void a_proxy_that_refuses_is_no_way_out(void **state)
{
    struct world *world = *state;
    const struct wanted wanted = {.rules = {"web.example:7000"},
                                  .proxy = "socks5://127.0.0.1:7000"};
    gateway_start_with(world, &wanted);
    assert_false(echoes(world, "web.example"));
    assert_true(was_denied(world, "web.example", PORT_ECHO, EGRESS_WHY_CONNECT));
}

/* ---- floods ---- */

static void connections_that_say_nothing_stop_nobody(void **state)
{
    struct world *world = *state;
    const struct wanted wanted = {.rules = {"web.example", "web.example:7000"}};
    static int fds[FLOOD];
    struct address address;
    gateway_start_with(world, &wanted);
    assert_int_equal(inside_ask(world, "web.example", DNS_A, &address), DNS_OK);
    hutch_autofd int before = inside_connect(world, "web.example", PORT_ECHO);
    char data[4];
    assert_int_equal(write(before, "ping", 4), 4);
    assert_int_equal(read_some(before, data, 4), 4);
    for (size_t i = 0; i < FLOOD; i++)
        fds[i] = inside_connect_address(world, &address, PORT_WEB);
    double began = now_s();
    assert_true(echoes(world, "web.example"));
    assert_true(now_s() - began < 1);
    assert_int_equal(write(before, "pong", 4), 4);
    assert_int_equal(read_some(before, data, 4), 4);
    assert_true(world->table->connections_open <= 1024);
    for (size_t i = 0; i < FLOOD; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

static void who_reads_nothing_stops_nobody(void **state)
{
    struct world *world = *state;
    const struct wanted wanted = {.rules = {"web.example:7000,7002,7004"}};
    static char data[65536];
    int slow[20];
    gateway_start_with(world, &wanted);
    for (size_t i = 0; i < HUTCH_COUNT(slow); i++) {
        slow[i] = inside_connect(world, "web.example", i % 2 ? PORT_SOURCE : PORT_SILENT);
        (void)fcntl(slow[i], F_SETFL, O_NONBLOCK);
        while (i % 2 == 0 && write(slow[i], data, sizeof(data)) > 0)
            ;
    }
    double began = now_s();
    for (int i = 0; i < 20; i++)
        assert_true(echoes(world, "web.example"));
    assert_true(now_s() - began < 2);
    for (size_t i = 0; i < HUTCH_COUNT(slow); i++)
        (void)close(slow[i]);
}

static void questions_without_end_stop_nobody(void **state)
{
    struct world *world = *state;
    const struct wanted wanted = {.rules = {"web.example:7000", "*.wild.example:7000"}};
    struct address none;
    gateway_start_with(world, &wanted);
    for (int i = 0; i < 3000; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "x%d.wild.example", i);
        int code = inside_ask(world, name, DNS_A, &none);
        assert_true(i < 900 ? code == DNS_OK : code == DNS_OK || code == DNS_FAILURE);
    }
    assert_int_equal(inside_ask(world, "y.wild.example", DNS_A, &none), DNS_FAILURE);
    assert_true(echoes(world, "web.example"));
    assert_int_equal(world->seen->last_question[0], 'w');
}

int main(void)
{
    const struct rlimit files = {8192, 8192};
    const struct CMUnitTest tests[] = {
        GATEWAY_TEST(no_more_connections_than_the_limit),
        GATEWAY_TEST(who_comes_when_another_has_ended_has_its_place),
        GATEWAY_TEST(no_more_bytes_than_the_limit),
        GATEWAY_TEST(no_faster_than_the_limit),
        GATEWAY_TEST(a_socks_proxy_gets_the_name),
        GATEWAY_TEST(an_http_proxy_gets_the_name),
        GATEWAY_TEST(a_proxy_that_refuses_is_no_way_out),
        GATEWAY_TEST(connections_that_say_nothing_stop_nobody),
        GATEWAY_TEST(who_reads_nothing_stops_nobody),
        GATEWAY_TEST(questions_without_end_stop_nobody),
    };
    (void)setrlimit(RLIMIT_NOFILE, &files);
    return gateway_run_tests(tests);
}
