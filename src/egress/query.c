/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/query.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "egress/dns_wire.h"

#define DNS_PORT 53
#define MAX_TRIES 4
#define TCP_BYTES (2 + DNS_MAX_ANSWER)

static void query_ask(struct query *query);

static void close_query(struct query *query)
{
    loop_close(&query->watch);
    free(query->answer);
    query->answer = NULL;
}

static void finish(struct query *query)
{
    close_query(query);
    query->is_done = true;
    lookup_check(query->lookup);
}

static void next_try(struct query *query)
{
    close_query(query);
    query->is_tcp = false;
    if (++query->tries >= MAX_TRIES)
        finish(query);
    else
        query_ask(query);
}

/* An answer that is not to our question may be somebody's attempt; the real one may still come. */
static void read_answer(struct query *query, const uint8_t *message, size_t length)
{
    struct dns_answer answer;
    if (!dns_answer_parse(message, length, query->id, query->lookup->resolution->name, query->type,
                          &answer)) {
        if (query->is_tcp)
            next_try(query);
        return;
    }
    if (answer.is_cut && !query->is_tcp) {
        close_query(query);
        query->is_tcp = true;
        query_ask(query);
        return;
    }
    if (answer.code != DNS_OK && answer.code != DNS_NO_NAME) {
        next_try(query);
        return;
    }
    lookup_take(query->lookup, &answer);
    finish(query);
}

/* ---- TCP ---- */

static bool send_question(struct query *query)
{
    uint8_t framed[2 + DNS_MAX_QUESTION];
    size_t length = dns_ask(query->id, query->lookup->resolution->name, query->type, framed + 2);
    dns_put16(framed, (unsigned)length);
    query->has_sent = true;
    return send(query->watch.fd, framed, length + 2, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           (ssize_t)length + 2;
}

static void on_stream(struct query *query, uint32_t events)
{
    if (!query->has_sent && (events & EPOLLOUT)) {
        if (!send_question(query) ||
            loop_rewatch(query->lookup->resolver->loop, &query->watch, EPOLLIN) < 0)
            next_try(query);
        return;
    }
    ssize_t got = recv(query->watch.fd, query->answer + query->received,
                       TCP_BYTES - query->received, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        next_try(query);
        return;
    }
    query->received += (size_t)got;
    size_t length = query->received >= 2 ? dns_get16(query->answer) : 0;
    if (length > DNS_MAX_ANSWER)
        next_try(query);
    else if (length && query->received >= 2 + length)
        read_answer(query, query->answer + 2, length);
}

/* ---- UDP ---- */

static void on_datagram(struct query *query)
{
    uint8_t message[DNS_MAX_ANSWER];
    ssize_t got = recv(query->watch.fd, message, sizeof(message), MSG_DONTWAIT);
    if (got < 0 && errno != EAGAIN)
        next_try(query); /* nobody is there */
    else if (got >= 0)
        read_answer(query, message, (size_t)got);
}

static void on_event(struct watch *watch, uint32_t events)
{
    struct query *query = LOOP_OWNER(watch, struct query, watch);
    if (query->is_done || !query->lookup->resolution)
        return;
    if (query->is_tcp)
        on_stream(query, events);
    else
        on_datagram(query);
}

/* ---- asking ---- */

static bool open_query(struct query *query)
{
    const struct resolver *resolver = query->lookup->resolver;
    const struct address *server = &resolver->servers[query->tries % resolver->server_count];
    struct sockaddr_storage address;
    socklen_t length = address_socket(server, DNS_PORT, &address);
    query->watch.fd =
        socket(server->family,
               (query->is_tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (query->watch.fd < 0)
        return false;
    if (connect(query->watch.fd, (struct sockaddr *)&address, length) < 0 && errno != EINPROGRESS)
        return false;
    return loop_watch(resolver->loop, &query->watch,
                      query->is_tcp ? EPOLLOUT | EPOLLIN : EPOLLIN) == 0;
}

static void query_ask(struct query *query)
{
    uint8_t message[DNS_MAX_QUESTION];
    query->received = 0;
    query->has_sent = false;
    bool is_open =
        getrandom(&query->id, sizeof(query->id), 0) == sizeof(query->id) && open_query(query);
    if (is_open && query->is_tcp) {
        query->answer = malloc(TCP_BYTES);
        is_open = query->answer != NULL;
    } else if (is_open) {
        size_t length = dns_ask(query->id, query->lookup->resolution->name, query->type, message);
        is_open =
            send(query->watch.fd, message, length, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length;
    }
    if (!is_open)
        next_try(query);
}

void query_init(struct query *query, struct lookup *lookup, enum dns_type type)
{
    *query =
        (struct query){.watch = {.fd = -1, .on_event = on_event}, .lookup = lookup, .type = type};
}

void query_begin(struct query *query)
{
    query->tries = 0;
    query->is_tcp = false;
    query_ask(query);
}

void query_retry(struct query *query)
{
    if (!query->is_done)
        next_try(query);
}

void query_end(struct query *query)
{
    close_query(query);
    query->is_done = true;
}
