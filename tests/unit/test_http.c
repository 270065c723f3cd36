/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, answers, bodies and streams, as a client sees them. */
#include "http_world.h"

#include <sys/mman.h>

#define CLOSE "Host: a\r\nConnection: close\r\n\r\n"

static const char *body_of(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    assert_non_null(end);
    return end + 4;
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    while ((text = strstr(text, what))) {
        count++;
        text += strlen(what);
    }
    return count;
}

/* ---- limits ---- */

static void every_limit_has_a_default_within_its_bounds(void **state)
{
    struct hutch_error err;
    struct http_limits limits = http_default_limits;
    size_t rows = 0;
    (void)state;
    for (const struct http_limit *row = http_limit_table; row->name; row++, rows++) {
        uint64_t value;
        memcpy(&value, (const char *)&http_default_limits + row->offset, sizeof(value));
        assert_int_equal(value, row->otherwise);
        assert_true(row->least <= value && value <= row->most);
        assert_true(strlen(row->doc) > 20);
        assert_fine(http_limit_set(&limits, row->name, row->most, &err), &err);
        memcpy(&value, (const char *)&limits + row->offset, sizeof(value));
        assert_int_equal(value, row->most);
        assert_int_equal(http_limit_set(&limits, row->name, row->most + 1, &err), -HUTCH_E_INVALID);
    }
    assert_int_equal(rows * sizeof(uint64_t), sizeof(struct http_limits));
    assert_refused(http_limit_set(&limits, "nothing", 1, &err), &err,
                   "there is no limit 'nothing', see hutch-serve --help");
}

/* ---- requests ---- */

static void an_answer_has_what_every_answer_has(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    ask(world, "GET /a HTTP/1.1\r\nX-Request-Id: my.id-1\r\n" CLOSE, answer, sizeof(answer));
    assert_memory_equal(answer, "HTTP/1.1 200 OK\r\nDate: ", 23);
    assert_non_null(strstr(answer, "\r\nX-Request-Id: my.id-1\r\n"));
    assert_non_null(strstr(answer, "\r\nX-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(answer, "\r\nCache-Control: no-store\r\n"));
    assert_non_null(strstr(answer, "\r\nContent-Length: 2\r\n"));
    assert_non_null(strstr(answer, "\r\nConnection: close\r\n"));
    assert_string_equal(body_of(answer), "/a");
    assert_int_equal(world->logged, 1);
    assert_int_equal(world->logged_status, 200);
}

static void an_id_that_could_do_harm_is_replaced(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    ask(world, "GET /a HTTP/1.1\r\nX-Request-Id: a\"b\r\n" CLOSE, answer, sizeof(answer));
    const char *id = strstr(answer, "\r\nX-Request-Id: ");
    assert_non_null(id);
    assert_int_equal(strspn(id + 16, "0123456789abcdef"), 16);
}

static void one_connection_has_many_requests(void **state)
{
    struct world *world = *state;
    char answer[4096];
    struct http_counts counts;
    world_start(world, NULL);
    int fd = client_open(world);
    for (int i = 0; i < 20; i++) {
        client_send(fd, "GET /again HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_false(client_read(world, fd, answer, sizeof(answer), "\r\n\r\n/again"));
    }
    (void)close(fd);
    http_server_counts(world->server, &counts);
    assert_int_equal(counts.requests, 20);
    assert_int_equal(counts.accepted, 1);
    wait_until(world, (http_server_counts(world->server, &counts), counts.connections == 0));
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct world *world = *state;
    char answer[16384];
    world_start(world, NULL);
    ask(world,
        "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ndef\r\n0\r\n\r\n"
        "POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nnever"
        "GET /2 HTTP/1.1\r\n" CLOSE,
        answer, sizeof(answer));
    const char *at = answer;
    static const char *const bodies[] = {"/1", "abc", "def", "/unread", "/2"};
    for (size_t i = 0; i < 5; i++) {
        at = body_of(at);
        assert_memory_equal(at, bodies[i], strlen(bodies[i]));
    }
    assert_int_equal(world->requests, 5);
}

/* While one is answered, what is sent ahead is not taken, and only so much of it is read. */
static void what_is_sent_ahead_waits(void **state)
{
    struct world *world = *state;
    char answer[4096], junk[60000];
    world->limits.pipelined_bytes = 1000;
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\n" CLOSE);
    wait_until(world, world->waiting);
    memset(junk, 'x', sizeof(junk));
    assert_true(send(fd, junk, sizeof(junk), MSG_NOSIGNAL | MSG_DONTWAIT) > 0);
    turn_for(world, 100);
    assert_int_equal(world->requests, 1);
    http_answer(world->waiting, 200, NULL, "done", 4);
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    assert_memory_equal(body_of(answer), "doneHTTP/1.1 200", 16);
    assert_int_equal(world->requests, 2);
    (void)close(fd);
}

static void head_gets_no_body(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    ask(world, "HEAD /a HTTP/1.1\r\n" CLOSE, answer, sizeof(answer));
    assert_non_null(strstr(answer, "\r\nContent-Length: 2\r\n"));
    assert_string_equal(body_of(answer), "");
    ask(world, "HEAD /stream HTTP/1.1\r\n" CLOSE, answer, sizeof(answer));
    assert_non_null(strstr(answer, "\r\nTransfer-Encoding: chunked\r\n"));
    assert_string_equal(body_of(answer), "");
}

static void a_value_cannot_make_a_header_field(void **state)
{
    struct world *world = *state;
    const struct http_header headers[] = {
        {"X-A", "b\r\nX-C: d"}, {"Content-Length", "999"}, {"Cache-Control", "max-age=1"}, {0}};
    char answer[4096];
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /wait HTTP/1.1\r\n" CLOSE);
    wait_until(world, world->waiting);
    http_answer(world->waiting, 404, headers, "x", 1);
    http_answer(world->waiting, 200, NULL, "twice", 5); /* is nothing */
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    assert_memory_equal(answer, "HTTP/1.1 404 Not Found\r\n", 24);
    assert_non_null(strstr(answer, "\r\nX-A: b__X-C: d\r\n"));
    assert_int_equal(count_of(answer, "Content-Length"), 1);
    assert_int_equal(count_of(answer, "Cache-Control"), 1);
    assert_string_equal(body_of(answer), "x");
    (void)close(fd);
}

static void keep_alive_of_1_0_is_kept(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_false(client_read(world, fd, answer, sizeof(answer), "\r\n\r\n/a"));
    assert_non_null(strstr(answer, "\r\nConnection: keep-alive\r\n"));
    client_send(fd, "GET /b HTTP/1.0\r\n\r\n");
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    assert_string_equal(body_of(answer), "/b");
    (void)close(fd);
}

/* ---- bodies ---- */

static void the_body_is_asked_for_when_it_is_wanted(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n" CLOSE);
    assert_false(client_read(world, fd, answer, sizeof(answer), "100 Continue\r\n\r\n"));
    client_send(fd, "hello");
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    assert_string_equal(body_of(answer), "hello");
    (void)close(fd);
    /* Nobody wants it: it is not asked for, and where the next request begins is not guessed. */
    fd = client_open(world);
    client_send(fd, "POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                    "Content-Length: 5\r\n\r\n");
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    assert_null(strstr(answer, "100 Continue"));
    assert_non_null(strstr(answer, "\r\nConnection: close\r\n"));
    (void)close(fd);
}

static void a_body_comes_through_a_pipe(void **state)
{
    struct world *world = *state;
    static char sent[300000], came[300000];
    char answer[4096], head[200];
    size_t sent_bytes = 0, filled = 0;
    for (size_t i = 0; i < sizeof(sent); i++)
        sent[i] = (char)(i * 7 % 251);
    world_start(world, NULL);
    int fd = client_open(world);
    (void)snprintf(head, sizeof(head), "PUT /pipe HTTP/1.1\r\nContent-Length: %zu\r\n" CLOSE,
                   sizeof(sent));
    client_send(fd, head);
    wait_until(world, world->body_fd >= 0);
    (void)fcntl(world->body_fd, F_SETFL, O_NONBLOCK);
    while (filled < sizeof(came)) {
        ssize_t count =
            send(fd, sent + sent_bytes, sizeof(sent) - sent_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        sent_bytes += count > 0 ? (size_t)count : 0;
        turn(world);
        count = read(world->body_fd, came + filled, sizeof(came) - filled);
        filled += count > 0 ? (size_t)count : 0;
    }
    wait_until(world, http_body_is_whole(world->waiting));
    assert_int_equal(read(world->body_fd, answer, 1), 0);
    assert_memory_equal(sent, came, sizeof(sent));
    http_answer(world->waiting, 201, NULL, "", 0);
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    assert_memory_equal(answer, "HTTP/1.1 201 ", 13);
    (void)close(fd);
}

static void a_body_that_breaks_off_is_not_whole(void **state)
{
    struct world *world = *state;
    char data[100];
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "PUT /pipe HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nhello");
    wait_until(world, world->body_fd >= 0);
    (void)close(fd);
    wait_until(world, http_is_gone(world->waiting));
    assert_int_equal(read(world->body_fd, data, sizeof(data)), 5);
    assert_int_equal(read(world->body_fd, data, sizeof(data)), 0);
    assert_false(http_body_is_whole(world->waiting));
    assert_int_equal(world->logged_status, 499);
}

static void who_stops_reading_a_body_can_still_answer(void **state)
{
    struct world *world = *state;
    static char data[1000000];
    char answer[4096];
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "PUT /pipe HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    wait_until(world, world->body_fd >= 0);
    (void)close(world->body_fd);
    world->body_fd = -1;
    ssize_t count = send(fd, data, sizeof(data), MSG_NOSIGNAL | MSG_DONTWAIT);
    assert_true(count > 0);
    turn_for(world, 50);
    http_answer(world->waiting, 422, NULL, "enough", 6);
    assert_false(client_read(world, fd, answer, sizeof(answer), "enough"));
    assert_non_null(strstr(answer, "\r\nConnection: close\r\n"));
    assert_false(http_body_is_whole(world->waiting));
    (void)close(fd);
}

/* ---- streams ---- */

static void a_stream_comes_in_chunks(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_false(client_read(world, fd, answer, sizeof(answer), "\r\n\r\n"));
    assert_non_null(strstr(answer, "\r\nTransfer-Encoding: chunked\r\n"));
    assert_int_equal(write(world->stream_fd, "hello", 5), 5);
    assert_false(client_read(world, fd, answer, sizeof(answer), "\r\nhello\r\n"));
    assert_string_equal(answer, "5\r\nhello\r\n");
    (void)close(world->stream_fd);
    world->stream_fd = -1;
    assert_false(client_read(world, fd, answer, sizeof(answer), "0\r\n\r\n"));
    client_send(fd, "GET /next HTTP/1.1\r\n" CLOSE); /* the connection goes on */
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    assert_string_equal(body_of(answer), "/next");
    (void)close(fd);
}

static void a_stream_of_known_length_ends_there(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /stream?5 HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\n" CLOSE);
    wait_until(world, world->stream_fd >= 0);
    assert_int_equal(write(world->stream_fd, "hello, and more", 15), 15);
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    assert_non_null(strstr(answer, "\r\nContent-Length: 5\r\n"));
    assert_memory_equal(body_of(answer), "helloHTTP/1.1 200 ", 18);
    (void)close(fd);
}

static void a_stream_that_ends_before_is_cut(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /stream?50 HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\n" CLOSE);
    wait_until(world, world->stream_fd >= 0);
    assert_int_equal(write(world->stream_fd, "hello", 5), 5);
    (void)close(world->stream_fd);
    world->stream_fd = -1;
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    assert_string_equal(body_of(answer), "hello");
    assert_int_equal(world->requests, 1);
    (void)close(fd);
}

static void a_stream_that_is_cut_has_no_end(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_until(world, world->stream_fd >= 0);
    assert_int_equal(write(world->stream_fd, "hello", 5), 5);
    http_cut(world->waiting);
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    assert_string_equal(body_of(answer), "5\r\nhello\r\n");
    assert_int_equal(write(world->stream_fd, "x", 1), -1);
    (void)close(fd);
}

static void a_stream_of_1_0_ends_with_the_connection(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    wait_until(world, world->stream_fd >= 0);
    assert_int_equal(write(world->stream_fd, "hello", 5), 5);
    (void)close(world->stream_fd);
    world->stream_fd = -1;
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    assert_null(strstr(answer, "chunked"));
    assert_non_null(strstr(answer, "\r\nConnection: close\r\n"));
    assert_string_equal(body_of(answer), "hello");
    (void)close(fd);
}

/* Not one of those that can be waited for. */
static void a_file_is_a_stream_too(void **state)
{
    struct world *world = *state;
    static char data[1000000], answer[1001000];
    world_start(world, NULL);
    int fd = client_open(world), file = memfd_create("stream", MFD_CLOEXEC);
    memset(data, 'x', sizeof(data));
    assert_int_equal(write(file, data, sizeof(data)), sizeof(data));
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    client_send(fd, "GET /wait HTTP/1.1\r\n" CLOSE);
    wait_until(world, world->waiting);
    http_answer_stream(world->waiting, 200, NULL, sizeof(data), file);
    assert_true(client_read(world, fd, answer, sizeof(answer), NULL));
    assert_int_equal(strlen(body_of(answer)), sizeof(data));
    (void)close(fd);
}

/* ---- life ---- */

static void a_client_that_goes_is_noticed(void **state)
{
    struct world *world = *state;
    uint64_t count;
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_until(world, world->waiting);
    int gone_fd = http_gone_fd(world->waiting);
    assert_true(gone_fd >= 0);
    assert_int_equal(read(gone_fd, &count, sizeof(count)), -1);
    (void)close(fd);
    wait_until(world, http_is_gone(world->waiting));
    assert_int_equal(read(gone_fd, &count, sizeof(count)), sizeof(count));
    http_answer(world->waiting, 200, NULL, "too late", 8);
    assert_string_equal(http_path(world->waiting), "/wait");
    assert_true(http_peer(world->waiting)->is_loopback);
    assert_memory_equal(http_peer(world->waiting)->name, "127.0.0.1:", 10);
}

/* Also one that has sent so much ahead that nothing more is read from it. */
static void a_client_that_is_not_read_is_noticed_too(void **state)
{
    struct world *world = *state;
    world->limits.pipelined_bytes = 0;
    world_start(world, NULL);
    int fd = client_open(world);
    client_send(fd, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\nGET");
    wait_until(world, world->waiting);
    turn_for(world, 20);
    (void)close(fd);
    wait_until(world, http_is_gone(world->waiting));
}

static void set_flag(void *argument)
{
    *(bool *)argument = true;
}

static void what_is_posted_is_called(void **state)
{
    struct world *world = *state;
    bool is_called[3] = {false};
    world_start(world, NULL);
    http_post(world->server, set_flag, &is_called[0]);
    http_post(world->server, set_flag, &is_called[1]);
    wait_until(world, is_called[0] && is_called[1]);
    http_post(world->server, set_flag, &is_called[2]);
    http_server_free(world->server);
    world->server = NULL;
    assert_true(is_called[2]);
}

static void on_drained(void *userdata)
{
    ((struct world *)userdata)->is_drained = true;
}

static void a_drain_waits_for_answers_and_for_nothing_else(void **state)
{
    struct world *world = *state;
    char answer[4096];
    world_start(world, NULL);
    int idle = client_open(world), busy = client_open(world);
    client_send(busy, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_until(world, world->waiting);
    http_server_drain(world->server, on_drained, world);
    assert_true(client_read(world, idle, answer, sizeof(answer), NULL));
    turn_for(world, 20);
    assert_false(world->is_drained);
    http_answer(world->waiting, 200, NULL, "done", 4);
    assert_true(client_read(world, busy, answer, sizeof(answer), NULL));
    assert_non_null(strstr(answer, "\r\nConnection: close\r\n"));
    wait_until(world, world->is_drained);
    (void)close(idle);
    (void)close(busy);
}

static void a_client_has_so_many_connections(void **state)
{
    struct world *world = *state;
    struct http_counts counts;
    char answer[4096];
    int fds[3];
    world->limits.connections_per_client = 2;
    world_start(world, NULL);
    for (int i = 0; i < 3; i++)
        fds[i] = client_open(world);
    assert_true(client_read(world, fds[2], answer, sizeof(answer), NULL));
    assert_memory_equal(answer, "HTTP/1.1 503 ", 13);
    http_server_counts(world->server, &counts);
    assert_int_equal(counts.refused, 1);
    (void)close(fds[0]);
    wait_until(world, (http_server_counts(world->server, &counts), counts.connections == 1));
    ask(world, "GET /a HTTP/1.1\r\n" CLOSE, answer, sizeof(answer));
    assert_memory_equal(answer, "HTTP/1.1 200 ", 13);
    (void)close(fds[1]);
    (void)close(fds[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_limit_has_a_default_within_its_bounds),
#define ONE(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
        ONE(an_answer_has_what_every_answer_has),
        ONE(an_id_that_could_do_harm_is_replaced),
        ONE(one_connection_has_many_requests),
        ONE(pipelined_requests_are_answered_in_order),
        ONE(what_is_sent_ahead_waits),
        ONE(head_gets_no_body),
        ONE(a_value_cannot_make_a_header_field),
        ONE(keep_alive_of_1_0_is_kept),
        ONE(the_body_is_asked_for_when_it_is_wanted),
        ONE(a_body_comes_through_a_pipe),
        ONE(a_body_that_breaks_off_is_not_whole),
        ONE(who_stops_reading_a_body_can_still_answer),
        ONE(a_stream_comes_in_chunks),
        ONE(a_stream_of_known_length_ends_there),
        ONE(a_stream_that_ends_before_is_cut),
        ONE(a_stream_that_is_cut_has_no_end),
        ONE(a_stream_of_1_0_ends_with_the_connection),
        ONE(a_file_is_a_stream_too),
        ONE(a_client_that_goes_is_noticed),
        ONE(a_client_that_is_not_read_is_noticed_too),
        ONE(what_is_posted_is_called),
        ONE(a_drain_waits_for_answers_and_for_nothing_else),
        ONE(a_client_has_so_many_connections),
#undef ONE
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
