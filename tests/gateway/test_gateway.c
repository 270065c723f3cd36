/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway does what it is for: names, servers, figures, orders. */
#include "world.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "egress/dns.h"
#include "suite.h"
#include "util/own.h"

static const struct wanted usual = {.rules = {"web.example", "web.example:7000,7001,7002,7003",
                                              "*.wild.example:7000", "alias.example:7000",
                                              "cut.example:7000", "filed.example:7000"}};

static void expect(int fd, const char *text)
{
    char data[256] = "";
    assert_int_equal(read_some(fd, data, strlen(text)), strlen(text));
    assert_string_equal(data, text);
}

static void expect_echo(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    expect(fd, text);
}

static void expect_echo_of(struct world *world, const char *name)
{
    hutch_autofd int fd = inside_connect(world, name, PORT_ECHO);
    assert_true(fd >= 0);
    expect_echo(fd, "ping");
}

static void names_that_are_allowed_have_addresses_of_their_own(void **state)
{
    struct world *world = *state;
    struct address web, again, wild, other, none;
    gateway_start_with(world, &usual);
    assert_int_equal(inside_ask(world, "web.example", DNS_A, &web), DNS_OK);
    assert_int_equal(inside_ask(world, "a.wild.example", DNS_A, &wild), DNS_OK);
    assert_int_equal(inside_ask(world, "b.wild.example", DNS_A, &other), DNS_OK);
    assert_int_equal(web.bytes[0], 198);
    assert_int_equal(web.bytes[1] & ~1, 18);
    assert_memory_not_equal(&web, &wild, sizeof(web));
    assert_memory_not_equal(&other, &wild, sizeof(web));
    assert_int_equal(inside_ask(world, "a.wild.example", DNS_A, &again), DNS_OK);
    assert_memory_equal(&again, &wild, sizeof(wild));
    assert_int_equal(inside_ask(world, "web.example", 65, &none), DNS_OK); /* HTTPS */
    assert_int_equal(none.family, 0);
    gateway_stop(world);
    gateway_start_with(world, &usual);
    assert_int_equal(inside_ask(world, "a.wild.example", DNS_A, &again), DNS_OK);
    assert_memory_equal(&again, &wild, sizeof(wild));
}

static void nobody_outside_hears_of_names_that_are_denied(void **state)
{
    struct world *world = *state;
    struct address none;
    gateway_start_with(world, &usual);
    for (int i = 0; i < 500; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "x%d.exfiltrated.example", i);
        assert_int_equal(inside_ask(world, name, DNS_A, &none), DNS_NO_NAME);
    }
    assert_int_equal(inside_ask(world, "wild.example", DNS_A, &none), DNS_NO_NAME);
    assert_int_equal(inside_ask(world, "notweb.example", DNS_A, &none), DNS_NO_NAME);
    assert_int_equal(inside_ask(world, "web.example.evil.example", DNS_A, &none), DNS_NO_NAME);
    assert_int_equal(world->seen->questions, 0);
    assert_int_equal(world->table->denied, 503);
    assert_true(was_denied(world, "wild.example", 0, EGRESS_WHY_NAME));
}

static void bytes_pass_both_ways_whoever_speaks_first(void **state)
{
    struct world *world = *state;
    gateway_start_with(world, &usual);
    expect_echo_of(world, "web.example");
    hutch_autofd int fd = inside_connect(world, "web.example", PORT_GREET);
    assert_true(fd >= 0);
    expect(fd, "220 hello\n");
    expect_echo(fd, "HELO inside\r\n");
    expect_echo(fd, "no line");
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    char rest;
    assert_int_equal(read_some(fd, &rest, 1), 0);
    assert_int_equal(world->table->connections, 2);
    assert_true(was_counted(&world->table->bytes_out, 4 + 13 + 7));
    assert_true(was_counted(&world->table->bytes_in, 4 + 10 + 13 + 7));
    assert_string_equal(world->table->hosts[0].name, "web.example");
}

static void names_are_resolved_outside_in_every_way_there_is(void **state)
{
    struct world *world = *state;
    gateway_start_with(world, &usual);
    expect_echo_of(world, "a.wild.example");
    expect_echo_of(world, "alias.example");
    expect_echo_of(world, "cut.example");
    unsigned questions = world->seen->questions;
    expect_echo_of(world, "filed.example");
    assert_int_equal(world->seen->questions, questions);
}

static void much_passes_whole(void **state)
{
    struct world *world = *state;
    static unsigned char data[65536];
    uint64_t sum = 0;
    gateway_start_with(world, &usual);
    hutch_autofd int in = inside_connect(world, "web.example", PORT_SOURCE);
    assert_true(in >= 0);
    for (size_t got = 0; got < BULK_BYTES; got += sizeof(data)) {
        assert_int_equal(read_some(in, data, sizeof(data)), sizeof(data));
        for (size_t i = 0; i < sizeof(data); i++)
            sum += data[i] != (unsigned char)(i * 31 + i / 256);
    }
    assert_int_equal(sum, 0);
    assert_int_equal(read_some(in, data, 1), 0);
    hutch_autofd int out = inside_connect(world, "web.example", PORT_SINK);
    for (size_t put = 0; put < BULK_BYTES; put += sizeof(data))
        assert_int_equal(write(out, data, sizeof(data)), sizeof(data));
    assert_int_equal(shutdown(out, SHUT_WR), 0);
    assert_int_equal(read_some(out, &sum, sizeof(sum)), sizeof(sum));
    assert_int_equal(sum, BULK_BYTES);
    assert_true(was_counted(&world->table->bytes_in, BULK_BYTES + sizeof(sum)));
    assert_true(was_counted(&world->table->bytes_out, BULK_BYTES));
}

static void a_new_order_holds_at_once(void **state)
{
    struct world *world = *state;
    const struct wanted other = {.rules = {"other.example:7000"}};
    const struct wanted none = {.rules = {NULL}};
    struct address address;
    char byte;
    gateway_start_with(world, &usual);
    hutch_autofd int fd = inside_connect(world, "web.example", PORT_ECHO);
    expect_echo(fd, "ping");
    assert_int_equal(gateway_order(world, &other, NULL), EGRESS_READY);
    assert_int_equal(read_some(fd, &byte, 1), -ECONNRESET);
    assert_int_equal(inside_ask(world, "web.example", DNS_A, &address), DNS_NO_NAME);
    expect_echo_of(world, "other.example");
    hutch_autofd int open = inside_connect(world, "other.example", PORT_ECHO);
    expect_echo(open, "ping");
    assert_int_equal(gateway_order(world, &other, NULL), EGRESS_READY);
    expect_echo(open, "still there");
    assert_int_equal(gateway_order(world, &none, NULL), EGRESS_READY);
    assert_int_equal(read_some(open, &byte, 1), -ECONNRESET);
    assert_int_equal(inside_ask(world, "other.example", DNS_A, &address), DNS_NO_NAME);
}

static void an_order_that_is_none_allows_nothing(void **state)
{
    struct world *world = *state;
    struct address address;
    char text[512];
    gateway_start_with(world, &usual);
    const struct wanted wrong = {.rules = {"web.example", "127.0.0.1"}};
    assert_int_equal(gateway_order(world, &wrong, text), EGRESS_FAILED);
    assert_non_null(strstr(text, "'127.0.0.1' names no host"));
    assert_int_equal(inside_ask(world, "web.example", DNS_A, &address), DNS_NO_NAME);
    const struct wanted no_proxy = {.rules = {"web.example"}, .proxy = "ftp://web.example:21"};
    assert_int_equal(gateway_order(world, &no_proxy, text), EGRESS_FAILED);
    assert_int_equal(gateway_order(world, &usual, text), EGRESS_READY);
    expect_echo_of(world, "web.example");
}

static void a_gateway_that_dies_leaves_nothing_open_and_the_next_goes_on(void **state)
{
    struct world *world = *state;
    char byte;
    struct address address;
    gateway_start_with(world, &usual);
    hutch_autofd int fd = inside_connect(world, "web.example", PORT_ECHO);
    expect_echo(fd, "ping");
    assert_int_equal(inside_ask(world, "web.example", DNS_A, &address), DNS_OK);
    assert_int_equal(kill(world->gateway, SIGKILL), 0);
    (void)waitpid(world->gateway, NULL, 0);
    world->gateway = 0;
    assert_true(read_some(fd, &byte, 1) <= 0);
    assert_int_equal(inside_connect_address(world, &address, PORT_ECHO), -ECONNREFUSED);
    gateway_start_with(world, &usual);
    expect_echo_of(world, "web.example");
    hutch_autofd int direct = inside_connect_address(world, &address, PORT_ECHO);
    expect_echo(direct, "at the same address");
    assert_int_equal(world->table->connections, 3);
    assert_int_equal(world->table->gateways, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GATEWAY_TEST(names_that_are_allowed_have_addresses_of_their_own),
        GATEWAY_TEST(nobody_outside_hears_of_names_that_are_denied),
        GATEWAY_TEST(bytes_pass_both_ways_whoever_speaks_first),
        GATEWAY_TEST(names_are_resolved_outside_in_every_way_there_is),
        GATEWAY_TEST(much_passes_whole),
        GATEWAY_TEST(a_new_order_holds_at_once),
        GATEWAY_TEST(an_order_that_is_none_allows_nothing),
        GATEWAY_TEST(a_gateway_that_dies_leaves_nothing_open_and_the_next_goes_on),
    };
    return gateway_run_tests(tests);
}
