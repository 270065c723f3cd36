/* SPDX-License-Identifier: Apache-2.0 */
/* What a client says is held until it is known what it is: TLS that names the host of the
 * connection, HTTP whose every request does, or, on ports that are not the web's, anything else. */
#include <string.h>

#include "egress/gateway.h"
#include "egress/hello.h"
#include "egress/http_edit.h"

#define TLS_FIRST_TYPE 20 /* of a record */
#define TLS_LAST_TYPE 24
#define TLS_MAJOR 3

static bool is_for_the_web(uint16_t port)
{
    return port == 80 || port == 443;
}

/* What is held and neither cleared nor dropped. */
static struct http_span unexamined(const struct flow *flow)
{
    const struct hold *hold = flow->hold;
    size_t from = hold->start + flow->cleared;
    return (struct http_span){hold->bytes + from, hold->end - from};
}

static bool is_full(const struct flow *flow)
{
    return unexamined(flow).length >= HOLD_BYTES;
}

/* ---- opaque ---- */

/* The early bytes are gone already. */
static void skip_early(struct connection *connection)
{
    connection->out.hold->start += connection->early;
    connection->early = 0;
}

static void become_opaque(struct connection *connection)
{
    struct flow *out = &connection->out;
    connection->talk = TALK_OPAQUE;
    loop_timer_unset(&connection->gateway->loop, &connection->deadline);
    out->open = FLOW_OPEN;
    skip_early(connection);
    out->cleared = out->hold->end - out->hold->start;
    if (!out->cleared) /* all of it went early; an empty hold would keep the end from going on */
        flow_give_back(out, &connection->gateway->connections.holds);
}

/* ---- TLS ---- */

/* From here on both sides are read and written in the clear, and what the client says is HTTP. */
static void intercept(struct connection *connection)
{
    const struct gateway *gateway = connection->gateway;
    struct flow *out = &connection->out;
    struct http_span hello = unexamined(out);
    connection->client.tls = connection->server.tls = gateway->tls;
    connection->client.session =
        gateway->tls->accept(gateway->tls_authority, connection->site->name);
    connection->server.session =
        gateway->tls->connect(gateway->tls_authority, connection->site->name);
    if (!connection->client.session || !connection->server.session ||
        !gateway->tls->feed(connection->client.session, hello.at, hello.length)) {
        connection_close(connection, true);
        return;
    }
    out->hold->end -= hello.length;
    connection->client.is_readable = true;
    connection->is_intercepted = true;
    connection->talk = TALK_HTTP;
    http_filter_init(&connection->http, connection->site->name, connection->port);
}

static void examine_hello(struct connection *connection)
{
    const struct gateway *gateway = connection->gateway;
    struct http_span data = unexamined(&connection->out);
    char name[EGRESS_NAME_BYTES];
    switch (hello_read((const uint8_t *)data.at, data.length, name)) {
    case HELLO_MORE:
        if (connection->out.has_ended || is_full(&connection->out))
            connection_refuse(connection, EGRESS_WHY_SNI, NULL);
        return;
    case HELLO_REFUSED:
        connection_refuse(connection, EGRESS_WHY_SNI, NULL);
        return;
    case HELLO_NAMED:
        break;
    }
    if (strcmp(name, connection->site->name) != 0)
        connection_refuse(connection, EGRESS_WHY_SNI, NULL);
    else if (gateway->tls && gateway->tls_authority &&
             gateway->tls->wants(gateway->order, name, connection->port))
        intercept(connection);
    else
        become_opaque(connection);
}

/* ---- HTTP ---- */

/* The head goes on as it came, or as it is written anew. What has gone on early is the beginning of
 * its first line, which is never written otherwise. */
static bool pass_head(struct connection *connection, struct http_head *head)
{
    struct flow *out = &connection->out;
    char *text;
    size_t length;
    if (!http_edit(connection->gateway->order, connection->site->name, connection->port,
                   connection->is_intercepted, head, &text, &length)) {
        connection_close(connection, true);
        return false;
    }
    loop_timer_unset(&connection->gateway->loop, &connection->deadline);
    if (!text) {
        size_t early = connection->early;
        skip_early(connection);
        out->cleared += head->bytes - early;
        return true;
    }
    out->extra = text;
    out->extra_start = connection->early;
    out->extra_end = length;
    connection->early = 0;
    out->hold->start += head->bytes;
    return true;
}

static bool take_step(struct connection *connection, enum http_step step, struct http_head *head,
                      size_t bytes)
{
    struct flow *out = &connection->out;
    switch (step) {
    case HTTP_WAIT:
        if (out->has_ended && unexamined(out).length)
            connection_refuse(connection, EGRESS_WHY_HOST, "it is not whole");
        return false;
    case HTTP_STOP:
        connection_refuse(connection, EGRESS_WHY_HOST, connection->http.problem);
        return false;
    case HTTP_PASS:
        out->cleared += bytes;
        return true;
    case HTTP_DROP:
        out->hold->start += bytes;
        return true;
    case HTTP_PASS_HEAD:
        break;
    }
    connection->awaits_answer = connection->http.state == HTTP_AT_UPGRADE;
    if (connection->awaits_answer)
        connection->in.open = 0;
    return pass_head(connection, head);
}

/* A head that is dropped or written anew must not overtake what was cleared before it. */
static void examine_http(struct connection *connection)
{
    struct flow *out = &connection->out;
    struct http_head head;
    bool goes_on = true;
    while (goes_on && !out->extra && unexamined(out).length) {
        size_t bytes;
        if (out->cleared && connection->http.state == HTTP_AT_HEAD)
            return;
        struct http_span data = unexamined(out);
        enum http_step step =
            http_filter_step(&connection->http, data.at, data.length, &head, &bytes);
        goes_on = take_step(connection, step, &head, bytes);
    }
    if (connection->is_closed || connection->is_lingering)
        return;
    out->open = http_filter_open(&connection->http);
    if (out->hold && out->hold->start == out->hold->end)
        flow_give_back(out, &connection->gateway->connections.holds);
}

/* ---- not known yet ---- */

static void become_http(struct connection *connection)
{
    if (connection->forgotten) {
        connection_refuse(connection, EGRESS_WHY_HOST, NULL);
        return;
    }
    connection->talk = TALK_HTTP;
    http_filter_init(&connection->http, connection->site->name, connection->port);
    examine_http(connection);
}

/* A first line that is longer than what can be kept goes on, piece by piece; a request's is not so
 * long. */
static void forget_early(struct connection *connection)
{
    if (!is_full(&connection->out) || connection->early <= HTTP_LOOK_KEPT)
        return;
    size_t bytes = connection->early - HTTP_LOOK_KEPT;
    connection->out.hold->start += bytes;
    connection->forgotten += bytes;
    connection->early = HTTP_LOOK_KEPT;
    loop_turn(&connection->gateway->loop, &connection->turn); /* there is room to read again */
}

/* On ports where anything is allowed, a first line that is not whole may be all that the client
 * says before it wants an answer. It may go on, for no server acts on a part of a request's first
 * line; the line is kept, in case it becomes one. */
static void pass_early(struct connection *connection)
{
    struct http_span data = unexamined(&connection->out);
    if (connection->out.cleared || connection->server.watch.fd < 0 ||
        !connection->server.is_writable || data.length == connection->early)
        return;
    ssize_t put = side_write(&connection->server, data.at + connection->early,
                             data.length - connection->early);
    if (put <= 0)
        return;
    connection->early += (size_t)put;
    connection->is_proven = true;
    figures_bytes(connection->gateway->table, connection->figures, (uint64_t)put, 0);
    forget_early(connection);
}

static void examine_unlike(struct connection *connection)
{
    if (is_for_the_web(connection->port))
        connection_refuse(connection, EGRESS_WHY_PROTOCOL, NULL);
    else
        become_opaque(connection);
}

/* Some servers take no offence at another record before the handshake, so every kind of it counts.
 */
static bool begins_record(struct http_span data)
{
    uint8_t type = (uint8_t)data.at[0];
    return type >= TLS_FIRST_TYPE && type <= TLS_LAST_TYPE &&
           (data.length == 1 || data.at[1] == TLS_MAJOR);
}

static void examine_unknown(struct connection *connection)
{
    struct flow *out = &connection->out;
    struct http_span data = unexamined(out);
    bool is_web = is_for_the_web(connection->port);
    size_t leading = 0;
    if (!data.length)
        return;
    if (!connection->early && begins_record(data)) {
        if (data.length > 1)
            examine_hello(connection);
        if (data.length > 1 || !out->has_ended)
            return;
    }
    enum http_look look = connection->forgotten ? http_look_on(data.at, data.length)
                                                : http_look_at(data.at, data.length, &leading);
    bool is_undecided = (look == HTTP_MAY_BE || (look == HTTP_HARDLY_IS && !is_web)) &&
                        connection->forgotten < HTTP_LONGEST_LINE;
    if (!is_web && leading && !connection->early) {
        out->cleared += leading; /* blanks alone say nothing to anybody */
        if (leading < data.length)
            examine_unknown(connection);
    } else if (look == HTTP_LOOKS_LIKE) {
        become_http(connection);
    } else if (!is_undecided || out->has_ended || (is_web && is_full(out))) {
        examine_unlike(connection);
    } else if (!is_web) {
        pass_early(connection);
    }
}

/* ---- both directions ---- */

void examine_out(struct connection *connection)
{
    struct flow *out = &connection->out;
    switch (connection->talk) {
    case TALK_UNKNOWN:
        examine_unknown(connection);
        break;
    case TALK_HTTP:
        examine_http(connection);
        break;
    case TALK_OPAQUE:
        out->cleared = out->hold->end - out->hold->start;
        break;
    }
}

void examine_in(struct connection *connection)
{
    struct flow *in = &connection->in;
    struct http_span data = unexamined(in);
    if (connection->awaits_answer) {
        enum http_answer answer = http_answer_read(data.at, data.length);
        if (answer == HTTP_ANSWER_MORE && !in->has_ended && !is_full(in))
            return;
        connection->awaits_answer = false;
        in->open = FLOW_OPEN;
        if (answer == HTTP_ANSWER_SWITCHED) {
            connection->talk = TALK_OPAQUE;
            connection->out.open = FLOW_OPEN;
        } else {
            http_filter_go_on(&connection->http);
        }
        if (connection->out.hold)
            examine_out(connection);
        if (connection->is_closed || connection->is_lingering)
            return;
    }
    in->cleared = in->hold->end - in->hold->start;
}
