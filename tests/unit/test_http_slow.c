/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that are slow, or stop: what they cost is bounded in time and in memory, and nobody else
 * notices them. */
#include "http_world.h"

#include <malloc.h>

#define CLOSE "Host: a\r\nConnection: close\r\n\r\n"

static void set_short_times(struct world *world)
{
    world->limits.head_ms = world->limits.body_stall_ms = world->limits.write_stall_ms =
        world->limits.idle_ms = 150;
    world->limits.linger_ms = 100;
}

/* To its end; how long that took. */
static uint64_t read_to_end(struct world *world, int fd, char *answer, size_t size)
{
    uint64_t start = now_ms();
    assert_true(client_read(world, fd, answer, size, NULL));
    (void)close(fd);
    return now_ms() - start;
}

static void a_head_that_does_not_come_is_not_waited_for(void **state)
{
    struct world *world = *state;
    char answer[4096];
    set_short_times(world);
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET / HTT");
    uint64_t start = now_ms();
    for (int i = 0; i < 8; i++) { /* a letter now and then is no reason to wait longer */
        turn_for(world, 15);
        (void)send(fd, "P", 1, MSG_NOSIGNAL);
    }
    (void)read_to_end(world, fd, answer, sizeof(answer));
    assert_true(now_ms() - start < 1000);
    assert_memory_equal(answer, "HTTP/1.1 408 ", 13);
    assert_int_equal(world->requests, 0);
}

static void who_says_nothing_is_closed(void **state)
{
    struct world *world = *state;
    char answer[4096];
    set_short_times(world);
    world_start(world, NULL);
    int fd = client_open(world);
    uint64_t took = read_to_end(world, fd, answer, sizeof(answer));
    assert_true(took >= 100 && took < 1000);
    assert_string_equal(answer, "");
    fd = client_open(world);
    client_send(fd, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    took = read_to_end(world, fd, answer, sizeof(answer));
    assert_true(took >= 100 && took < 1000);
    assert_memory_equal(answer, "HTTP/1.1 200 ", 13);
}

static void a_body_that_stops_is_not_waited_for(void **state)
{
    struct world *world = *state;
    char answer[4096];
    set_short_times(world);
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhello");
    (void)read_to_end(world, fd, answer, sizeof(answer));
    assert_memory_equal(answer, "HTTP/1.1 408 ", 13);
    assert_int_equal(world->body_bytes, SIZE_MAX);
}

/* It has as long as it needs while it comes, and while nobody takes it. */
static void a_body_that_is_slow_is_waited_for(void **state)
{
    struct world *world = *state;
    char answer[4096];
    set_short_times(world);
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "POST /echo HTTP/1.1\r\nContent-Length: 6\r\n" CLOSE);
    for (int i = 0; i < 6; i++) {
        turn_for(world, 60);
        client_send(fd, "x");
    }
    (void)read_to_end(world, fd, answer, sizeof(answer));
    assert_memory_equal(answer, "HTTP/1.1 200 ", 13);
}

static void who_takes_long_to_answer_is_waited_for(void **state)
{
    struct world *world = *state;
    char answer[4096];
    set_short_times(world);
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /wait HTTP/1.1\r\n" CLOSE);
    turn_for(world, 500);
    assert_false(http_is_gone(world->waiting));
    http_answer(world->waiting, 200, NULL, "at last", 7);
    (void)read_to_end(world, fd, answer, sizeof(answer));
    assert_non_null(strstr(answer, "at last"));
}

/* Writes until nothing is taken any more; how much was. */
static size_t fill(struct world *world)
{
    static char data[65536];
    size_t total = 0;
    for (int quiet = 0; quiet < 50;) {
        ssize_t count = write(world->stream_fd, data, sizeof(data));
        quiet = count > 0 ? 0 : quiet + 1;
        total += count > 0 ? (size_t)count : 0;
        turn(world);
    }
    return total;
}

static size_t allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void a_reader_who_stops_costs_a_piece(void **state)
{
    struct world *world = *state;
    world->limits.write_stall_ms = 60000;
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_until(world, world->stream_fd >= 0);
    size_t before = allocated();
    assert_true(fill(world) > 100000); /* in the kernel: the pipe, and the socket's buffers */
    assert_true(allocated() - before < (size_t)64 * 1024);
    assert_false(http_is_gone(world->waiting));
    (void)close(fd);
    wait_until(world, http_is_gone(world->waiting));
    assert_int_equal(write(world->stream_fd, "x", 1), -1);
    assert_int_equal(errno, EPIPE);
}

static void a_reader_who_stops_for_long_is_closed(void **state)
{
    struct world *world = *state;
    set_short_times(world);
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_until(world, world->stream_fd >= 0);
    (void)fill(world);
    wait_until(world, http_is_gone(world->waiting));
    (void)close(fd);
}

static void all_of_a_stream_comes_to_a_slow_reader(void **state)
{
    struct world *world = *state;
    static char data[65536];
    const size_t whole = 4000000;
    size_t written = 0, came = 0;
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /stream?4000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_until(world, world->stream_fd >= 0);
    for (uint64_t end = now_ms() + 20000; came < whole && now_ms() < end;) {
        size_t most = whole - written < sizeof(data) ? whole - written : sizeof(data);
        ssize_t count = most ? write(world->stream_fd, data, most) : 0;
        written += count > 0 ? (size_t)count : 0;
        turn(world);
        count = recv(fd, data, 20000, MSG_DONTWAIT);
        came += count > 0 ? (size_t)count : 0;
    }
    assert_true(came >= whole);
    (void)close(fd);
}

/* An upload into a pipe that nobody reads: what was read stays within a piece. */
static void a_body_that_nobody_takes_costs_a_piece(void **state)
{
    struct world *world = *state;
    static char data[65536];
    size_t sent = 0;
    set_short_times(world);
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "PUT /pipe HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n");
    wait_until(world, world->body_fd >= 0);
    size_t before = allocated();
    for (int quiet = 0; quiet < 200;) {
        ssize_t count = send(fd, data, sizeof(data), MSG_NOSIGNAL | MSG_DONTWAIT);
        quiet = count > 0 ? 0 : quiet + 1;
        sent += count > 0 ? (size_t)count : 0;
        turn(world);
    }
    assert_true(sent > 100000 && sent < 100000000);
    assert_true(allocated() - before < (size_t)64 * 1024);
    turn_for(world, 400); /* that it stands still is not the client's fault */
    assert_false(http_is_gone(world->waiting));
    (void)close(fd);
    (void)fcntl(world->body_fd, F_SETFL, O_NONBLOCK);
    wait_until(world, read(world->body_fd, data, sizeof(data)) == 0);
    assert_true(http_is_gone(world->waiting));
    assert_false(http_body_is_whole(world->waiting));
}

/* ---- many ---- */

#define MANY 300

static void many_slow_clients_are_nothing_to_another(void **state)
{
    struct world *world = *state;
    char answer[4096];
    int fds[MANY];
    world_start(world, NULL);
    for (int i = 0; i < MANY; i++) {
        fds[i] = client_open(world);
        client_send(fds[i], i % 2 ? "GET / HTTP/1.1\r\nX"
                                  : "POST /echo HTTP/1.1\r\nHost: a\r\n"
                                    "Content-Length: 9\r\n\r\n");
        turn(world);
    }
    struct http_counts counts;
    wait_until(world, (http_server_counts(world->server, &counts), counts.connections == MANY));
    uint64_t start = now_ms();
    for (int i = 0; i < 10; i++) {
        ask(world, "GET /a HTTP/1.1\r\n" CLOSE, answer, sizeof(answer));
        assert_memory_equal(answer, "HTTP/1.1 200 ", 13);
    }
    assert_true(now_ms() - start < 1000);
    for (int i = 0; i < MANY; i++)
        (void)close(fds[i]);
    wait_until(world, (http_server_counts(world->server, &counts), counts.connections == 0));
}

static void an_idle_connection_costs_little(void **state)
{
    struct world *world = *state;
    char answer[4096];
    int fds[MANY];
    world_start(world, NULL);
    ask(world, "GET /a HTTP/1.1\r\n" CLOSE, answer, sizeof(answer));
    size_t before = allocated();
    for (int i = 0; i < MANY; i++) {
        fds[i] = client_open(world);
        client_send(fds[i], "GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_false(client_read(world, fds[i], answer, sizeof(answer), "\r\n\r\n/a"));
    }
    assert_true((allocated() - before) / MANY < 4096);
    for (int i = 0; i < MANY; i++)
        (void)close(fds[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ONE(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
        ONE(a_head_that_does_not_come_is_not_waited_for),
        ONE(who_says_nothing_is_closed),
        ONE(a_body_that_stops_is_not_waited_for),
        ONE(a_body_that_is_slow_is_waited_for),
        ONE(who_takes_long_to_answer_is_waited_for),
        ONE(a_reader_who_stops_costs_a_piece),
        ONE(a_reader_who_stops_for_long_is_closed),
        ONE(all_of_a_stream_comes_to_a_slow_reader),
        ONE(a_body_that_nobody_takes_costs_a_piece),
        ONE(many_slow_clients_are_nothing_to_another),
        ONE(an_idle_connection_costs_little),
#undef ONE
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
