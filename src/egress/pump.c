/* SPDX-License-Identifier: Apache-2.0 */
/* What moves the bytes of a connection. */
#include <sys/socket.h>

#include "egress/gateway.h"

#define ROUNDS_OF_A_TURN 8 /* then somebody else is next */
#define SPLICE_BYTES ((size_t)524288)

static bool is_over(const struct connection *connection)
{
    return connection->is_closed || connection->is_lingering;
}

/* What is left of a budget, for bytes that wait to be read. */
static size_t afford(struct connection *connection, const struct flow *flow, size_t bytes)
{
    struct budget *budget = &connection->gateway->budget;
    if (flow->has_ended || !flow->from->is_readable)
        return 0;
    bytes = budget_ask(budget, bytes, &connection->waiter);
    if (!bytes && budget_is_over(budget))
        connection_refuse(connection, EGRESS_WHY_BYTES, NULL);
    return bytes;
}

static size_t move_by_pipe(struct connection *connection, struct flow *flow)
{
    size_t max = flow->open < SPLICE_BYTES ? (size_t)flow->open : SPLICE_BYTES;
    max = afford(connection, flow, max);
    size_t moved = max ? flow_splice(flow, max) : 0;
    budget_spend(&connection->gateway->budget, moved);
    if (moved && flow->open != FLOW_OPEN) {
        http_filter_passed(&connection->http, moved);
        flow->open = http_filter_open(&connection->http);
    }
    return moved;
}

static size_t move_by_buffer(struct connection *connection, struct flow *flow)
{
    size_t max = flow->in_pipe || flow->extra ? 0 : afford(connection, flow, HOLD_BYTES);
    size_t moved = max ? flow_read(flow, &connection->gateway->connections.holds, max) : 0;
    budget_spend(&connection->gateway->budget, moved);
    return moved;
}

static size_t pass_on(struct connection *connection, struct flow *flow)
{
    struct gateway *gateway = connection->gateway;
    size_t passed = flow_write(flow, &gateway->connections.holds);
    if (!passed)
        return 0;
    bool is_out = flow == &connection->out;
    connection->is_proven = true;
    figures_bytes(gateway->table, connection->figures, is_out ? passed : 0, is_out ? 0 : passed);
    return passed;
}

static size_t pump(struct connection *connection, struct flow *flow,
                   void (*examine)(struct connection *connection))
{
    size_t moved = pass_on(connection, flow);
    moved +=
        flow_can_splice(flow) ? move_by_pipe(connection, flow) : move_by_buffer(connection, flow);
    if (is_over(connection))
        return 0;
    if (flow->hold)
        examine(connection);
    if (is_over(connection))
        return 0;
    moved += pass_on(connection, flow);
    flow_end(flow);
    return moved;
}

/* What a client that was refused still says. */
static void drop_rest(struct connection *connection)
{
    char dropped[4096];
    for (int i = 0; i < ROUNDS_OF_A_TURN && connection->client.is_readable; i++) {
        ssize_t got = side_read(&connection->client, dropped, sizeof(dropped));
        if (got == 0 || connection->client.has_failed) {
            connection_close(connection, false);
            return;
        }
    }
    if (connection->client.is_readable)
        loop_turn(&connection->gateway->loop, &connection->turn);
}

void connection_pump(struct connection *connection)
{
    size_t moved = 1;
    if (connection->is_lingering) {
        drop_rest(connection);
        return;
    }
    for (int i = 0; i < ROUNDS_OF_A_TURN && moved; i++) {
        moved = pump(connection, &connection->out, examine_out);
        if (!is_over(connection))
            moved += pump(connection, &connection->in, examine_in);
        if (is_over(connection))
            return;
    }
    if (connection->server.has_failed && connection->server.session &&
        connection->server.tls->has_bad_certificate(connection->server.session))
        connection_refuse(connection, EGRESS_WHY_CERTIFICATE,
                          "the server's certificate is not good");
    else if (connection->client.has_failed || connection->server.has_failed)
        connection_close(connection, true);
    else if (connection->out.is_shut && connection->in.is_shut)
        connection_close(connection, false);
    else if (moved)
        loop_turn(&connection->gateway->loop, &connection->turn);
}
