/* SPDX-License-Identifier: Apache-2.0 */
#include "image/registry_transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/own.h"

enum {
    MOST_FAILURES = 5,
    /* A server that lets through a byte at a time makes no progress. */
    LEAST_PROGRESS = 4096,
};

void transfer_init(const struct registry *registry, struct transfer *transfer,
                   const struct registry_get *get)
{
    *transfer = (struct transfer){.get = get, .exchange = HTTP_EXCHANGE_INIT};
    transfer->endpoint = registry->endpoint;
    transfer->received = get->from;
    transfer->farthest = get->from;
    transfer->progress_from = get->from;
}

static struct endpoint *endpoint_of(const struct registry *registry,
                                    const struct transfer *transfer)
{
    return &registry->endpoints[transfer->endpoint];
}

/* The server sends everything from its start. */
static int restart(struct transfer *transfer, struct hutch_error *err)
{
    if (transfer->received == 0)
        return 0;
    if (!transfer->get->restart)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0, "the server begins again from the start");
    int r = transfer->get->restart(transfer->get->context, err);
    if (r == 0)
        transfer->received = 0;
    return r;
}

/* "bytes 100-199/200": exactly the rest that was asked for? */
static bool is_rest(const struct http_exchange *exchange, uint64_t from, uint64_t size)
{
    const char *told = http_header(exchange, "Content-Range", 0);
    char expected[96];
    (void)snprintf(expected, sizeof(expected), "bytes %" PRIu64 "-%" PRIu64 "/", from, size - 1);
    size_t length = strlen(expected);
    return told && !strncmp(told, expected, length) &&
           (!strcmp(told + length, "*") || strtoull(told + length, NULL, 10) == size);
}

/* Once an answer, before its first byte: does it begin where the sink ends? */
static int check_start(struct transfer *transfer, struct http_exchange *exchange,
                       struct hutch_error *err)
{
    long status = 0;
    (void)curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    transfer->has_begun = true;
    if (status == 206 && *transfer->range) {
        if (is_rest(exchange, transfer->received, transfer->get->blob->size))
            return 0;
        transfer->trusts_none = true;
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the server sends another part than asked for");
    }
    if (status != 200)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the server answers with status %ld", status);
    return restart(transfer, err);
}

static int take_piece(struct http_exchange *exchange, const void *data, size_t length,
                      struct hutch_error *err)
{
    struct transfer *transfer = exchange->context;
    int r = transfer->has_begun ? 0 : check_start(transfer, exchange, err);
    if (r < 0)
        return r;
    if (length > transfer->get->blob->size - transfer->received) {
        transfer->trusts_none = true;
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the server sends more than the %" PRIu64 " bytes that it has",
                          transfer->get->blob->size);
    }
    r = transfer->get->sink(transfer->get->context, data, length, err);
    if (r < 0) {
        exchange->is_sink_failure = true;
        return r;
    }
    transfer->received += length;
    if (transfer->received > transfer->farthest)
        transfer->farthest = transfer->received;
    return 0;
}

static int describe(const struct registry *registry, const struct transfer *transfer,
                    struct hutch_error *err)
{
    return hutch_wrap(err, "blob %.19s of '%s' after %" PRIu64 " of %" PRIu64 " bytes: ",
                      transfer->get->blob->digest, endpoint_of(registry, transfer)->name,
                      transfer->received, transfer->get->blob->size);
}

/* Another server, or the end: *err has the reason. */
static int give_up(const struct registry *registry, struct transfer *transfer,
                   struct hutch_error *err)
{
    if (transfer->endpoint + 1 >= registry->endpoint_count)
        return describe(registry, transfer, err);
    transfer->endpoint++;
    transfer->failures = 0;
    transfer->refusals = 0;
    transfer->was_wrong = false;
    transfer->trusts_none = true; /* whatever came from the other one */
    transfer->not_before_ms = 0;
    transfer->state = TRANSFER_WAITING;
    return 0;
}

static int fail_for_now(const struct registry *registry, struct transfer *transfer,
                        struct hutch_error *err)
{
    if (transfer->farthest - transfer->progress_from >= LEAST_PROGRESS) {
        transfer->failures = 0;
        transfer->progress_from = transfer->farthest;
    }
    int64_t wait = endpoint_patience_ms(&transfer->exchange, transfer->failures);
    if (++transfer->failures > MOST_FAILURES || wait < 0)
        return give_up(registry, transfer, err);
    transfer->not_before_ms = endpoint_now_ms() + wait;
    transfer->state = TRANSFER_WAITING;
    return 0;
}

static int begin_exchange(struct registry *registry, struct transfer *transfer,
                          struct hutch_error *err)
{
    struct endpoint *endpoint = endpoint_of(registry, transfer);
    hutch_autofree char *path = NULL;
    hutch_autofree char *url = NULL;
    int r = registry_path(registry, "blobs", transfer->get->blob->digest, &path, err);
    if (r < 0)
        return r;
    if (asprintf(&url, "%s%s", endpoint->base, path) < 0) {
        url = NULL;
        return hutch_fail_nomem(err);
    }
    *transfer->range = '\0';
    if (transfer->received > 0)
        (void)snprintf(transfer->range, sizeof(transfer->range), "Range: bytes=%" PRIu64 "-",
                       transfer->received);
    transfer->headers[0] = *transfer->range ? transfer->range : NULL;
    transfer->exchange.headers = transfer->headers;
    transfer->exchange.policy = &endpoint->policy;
    transfer->exchange.sink = take_piece;
    transfer->exchange.context = transfer;
    transfer->exchange.is_sink_failure = false;
    transfer->exchange.authorization = endpoint->authorization;
    transfer->generation = endpoint->generation;
    transfer->has_begun = false;
    transfer->state = TRANSFER_RUNNING;
    return http_begin(registry->http, &transfer->exchange, url, err);
}

int transfer_start(struct registry *registry, struct transfer *transfer, struct hutch_error *err)
{
    int r = 0;
    if (transfer->trusts_none) {
        r = restart(transfer, err);
        transfer->trusts_none = false;
    }
    if (r < 0)
        return describe(registry, transfer, err);
    if (transfer->received == transfer->get->blob->size) {
        transfer->state = TRANSFER_FINISHED;
        return 0;
    }
    r = endpoint_prepare(endpoint_of(registry, transfer), registry->http, registry->scope, err);
    if (r == 0)
        r = begin_exchange(registry, transfer, err);
    return r < 0 ? give_up(registry, transfer, err) : 0;
}

/* The connection has ended early, or what came over it was not right. */
static int end_failed(struct registry *registry, struct transfer *transfer, struct hutch_error *err)
{
    if (transfer->exchange.is_sink_failure)
        return describe(registry, transfer, err); /* ours: no other server would help */
    /* once it may be an accident */
    if (transfer->trusts_none && !transfer->was_wrong) {
        transfer->was_wrong = true;
        return fail_for_now(registry, transfer, err);
    }
    if (transfer->exchange.failure.code)
        return give_up(registry, transfer, err);
    switch ((int)transfer->exchange.result) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_SSL_CONNECT_ERROR:
        /* it was there a moment ago */
        return fail_for_now(registry, transfer, err);
    default:
        return http_is_passing(&transfer->exchange) ? fail_for_now(registry, transfer, err)
                                                    : give_up(registry, transfer, err);
    }
}

static int end_unauthorized(struct registry *registry, struct transfer *transfer,
                            struct hutch_error *err)
{
    struct endpoint *endpoint = endpoint_of(registry, transfer);
    int r = 0;
    if (++transfer->refusals > ENDPOINT_MOST_REFUSALS)
        r = endpoint_refused(endpoint, &transfer->exchange, "a blob", err);
    if (r == 0)
        r = endpoint_authorize(endpoint, registry->http, registry->scope, &transfer->exchange,
                               transfer->generation, err);
    if (r < 0)
        return give_up(registry, transfer, err);
    transfer->not_before_ms = 0;
    transfer->state = TRANSFER_WAITING;
    return 0;
}

static int end_answered(struct registry *registry, struct transfer *transfer,
                        struct hutch_error *err)
{
    const struct http_exchange *exchange = &transfer->exchange;
    if (exchange->status == 401 && http_is_home(exchange))
        return end_unauthorized(registry, transfer, err);
    if (exchange->status == 200 || exchange->status == 206) {
        transfer->refusals = 0;
        (void)hutch_fail(err, HUTCH_E_INVALID, 0, "the server sends less than there is");
        return fail_for_now(registry, transfer, err);
    }
    (void)endpoint_refused(endpoint_of(registry, transfer), exchange, "a blob", err);
    if (exchange->status == 416) {
        transfer->trusts_none = true;
        return fail_for_now(registry, transfer, err);
    }
    return http_is_passing(exchange) ? fail_for_now(registry, transfer, err)
                                     : give_up(registry, transfer, err);
}

/* Who takes the bytes may be done with them as soon as there are all of them, so nothing that comes
 * after the last one may begin anew: whatever it is, their digest tells what they are worth. */
int transfer_end(struct registry *registry, struct transfer *transfer, struct hutch_error *err)
{
    if (transfer->received == transfer->get->blob->size) {
        transfer->state = TRANSFER_FINISHED;
        return 0;
    }
    int r = http_end(registry->http, &transfer->exchange, err);
    if (r > 0)
        return 0; /* sent elsewhere, and on its way */
    if (r < 0)
        return end_failed(registry, transfer, err);
    return end_answered(registry, transfer, err);
}
