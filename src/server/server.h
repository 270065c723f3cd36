/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon. One thread has the loop and everything of HTTP; handlers run in workers' threads. It
 * holds no sandbox: each has a keeper of its own, and what the daemon knows it can find again. */
#ifndef HUTCH_SERVER_SERVER_H
#define HUTCH_SERVER_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/http.h"
#include "hutch/policy.h"
#include "server/serve.h"

/* ---- limits: server/limits.c has the one table of their names ---- */

struct server_limits {
    struct http_limits http;
    uint64_t body_bytes; /* of a JSON body: 413 */
    uint64_t json_depth;
    uint64_t requests;         /* that are being answered, of everybody: 503 */
    uint64_t streams;          /* answers that go on, of everybody: 503 */
    uint64_t creating;         /* that make something at the same time */
    uint64_t running;          /* runs at the same time */
    uint64_t queue;            /* of one tenant, that wait for their turn: 429 */
    uint64_t idempotency_keys; /* that are remembered */
    uint64_t drain_ms;         /* how long SIGTERM waits for answers */
};

/* --pool */
struct server_pool {
    char *template; /* its name */
    uint64_t count;
};

/* For /metrics. */
struct server_counts {
    uint64_t requests; /* that are being answered now */
    uint64_t streams;
    uint64_t creating;
    uint64_t running;
    uint64_t queued;
    uint64_t turned_away;   /* 429, since the start */
    uint64_t workers;       /* threads */
    uint64_t answers[6];    /* by the status's first digit, since the start */
    uint64_t answer_us_sum; /* time until those were answered */
};

struct server {
    const struct serve_options *options;
    struct event_base *base;
    struct http_server *http;
    struct ssl_ctx_st *tls;
    struct server_limits limits;
    struct hutch_policy *policy;
    struct server_pool *pools; /* pool_count of them */
    size_t pool_count;
    struct pool *pool; /* server/pool.h */
    struct workers *workers;
    struct admission *admission;
    struct authority *authority;
    struct idempotency *idempotency;
    struct access_log *access_log;
    struct host *host;   /* server/host.h */
    uint64_t started_us; /* since 1970 */
    char *socket_path;   /* NULL: none of our own */
    uint64_t socket_inode;
    struct drain *drain;
    struct policy_watch *policy_watch;
    atomic_bool is_draining;
    atomic_uint_fast64_t requests;
    atomic_uint_fast64_t streams;
    uint64_t answers[6]; /* the loop's own */
    uint64_t answer_us_sum;
};

/* Only in the loop's thread. */
void server_counts(const struct server *server, struct server_counts *ret_counts);

/* Any thread: has fn called in a worker's. Fails when there is no thread to be had. */
HUTCH_MUST_CHECK int server_work(struct server *server, void (*fn)(void *argument), void *argument,
                                 struct hutch_error *err);

#endif
