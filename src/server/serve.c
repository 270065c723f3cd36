/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's life. One loop has the sockets, the signals and the timers; when a signal tells it
 * to end, it takes nothing new, waits a bounded time for what it was asked, and goes. Sandboxes do
 * not notice: each has its keeper. */
#include "server/serve.h"

#include <event2/event.h>
#include <malloc.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "server/access_log.h"
#include "server/admission.h"
#include "server/authority.h"
#include "server/dispatch.h"
#include "server/drain.h"
#include "server/host.h"
#include "server/idempotency.h"
#include "server/limits.h"
#include "server/listen.h"
#include "server/notify.h"
#include "server/policy_watch.h"
#include "server/pool.h"
#include "server/util.h"
#include "server/workers.h"

/* Threads beside those that requests and streams take: for server_work(). */
#define SPARE_WORKERS 64
#define LAST_WORK_MS UINT64_C(2000)

/* ---- what it is started with ----------------------------------------------------------------- */

static int read_pool(const char *text, struct server_pool *pool, struct hutch_error *err)
{
    const char *equals = strrchr(text, '=');
    uint64_t count = 0;
    if (!equals || equals == text || !server_number(equals + 1, 1024, &count) || !count)
        return server_fail(err, HUTCH_E_INVALID,
                           "--pool takes TEMPLATE=N with N from 1 to 1024, not '%.80s'", text);
    pool->template = strndup(text, (size_t)(equals - text));
    pool->count = count;
    return pool->template ? 0 : server_fail_nomem(err);
}

static bool is_named(const struct server *server, const char *template)
{
    for (size_t i = 0; i < server->pool_count; i++)
        if (server->pools[i].template && !strcmp(server->pools[i].template, template))
            return true;
    return false;
}

static int read_pools(struct server *server, struct hutch_error *err)
{
    const char *const *texts = server->options->pools;
    size_t count = 0;
    while (texts && texts[count])
        count++;
    server->pools = calloc(count + 1, sizeof(*server->pools));
    if (!server->pools)
        return server_fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        struct server_pool pool = {0};
        int status = read_pool(texts[i], &pool, err);
        if (status < 0 || !pool.template)
            return status;
        bool is_twice = is_named(server, pool.template);
        server->pools[server->pool_count++] = pool;
        if (is_twice)
            return server_fail(err, HUTCH_E_INVALID, "--pool names '%.80s' twice", pool.template);
    }
    return 0;
}

static int read_limits(struct server *server, struct hutch_error *err)
{
    int status = 0;
    limits_init(&server->limits);
    for (const char *const *text = server->options->limits; !status && text && *text; text++)
        status = limits_set(&server->limits, *text, err);
    return status;
}

static int read_tls(struct server *server, struct hutch_error *err)
{
    const struct serve_options *options = server->options;
    if (!options->tls_cert != !options->tls_key)
        return server_fail(err, HUTCH_E_INVALID, "--tls-cert and --tls-key belong together");
    if (!options->tls_cert)
        return options->client_ca
                   ? server_fail(err, HUTCH_E_INVALID, "--client-ca needs --tls-cert and --tls-key")
                   : 0;
    return http_tls_new(options->tls_cert, options->tls_key, options->client_ca, &server->tls, err);
}

/* ---- its parts ------------------------------------------------------------------------------- */

static void on_log(void *userdata, const struct http_log_entry *entry)
{
    struct server *server = userdata;
    size_t digit = (size_t)(entry->status / 100);
    server->answers[digit < SERVER_COUNT(server->answers) ? digit : 0]++;
    server->answer_us_sum += entry->duration_us;
    if (server->access_log)
        access_log_write(server->access_log, entry);
}

static int make_admission(struct server *server, struct hutch_error *err)
{
    const struct admission_limits limits = {
        .places = {[ADMISSION_CREATING] = server->limits.creating,
                   [ADMISSION_RUNNING] = server->limits.running},
        .queue = server->limits.queue,
        .on_turn = dispatch_turn,
    };
    return admission_new(&limits, &server->admission, err);
}

static int make_http(struct server *server, struct hutch_error *err)
{
    const struct http_server_options options = {server->limits.http, dispatch, on_log, server};
    server->base = event_base_new();
    if (!server->base)
        return server_fail(err, HUTCH_E_SYSTEM, "make the event loop");
    return http_server_new(server->base, &options, &server->http, err);
}

static int make_workers(struct server *server, struct hutch_error *err)
{
    uint64_t most = server->limits.requests + server->limits.streams + SPARE_WORKERS;
    return workers_new(most, &server->workers, err);
}

static int make_idempotency(struct server *server, struct hutch_error *err)
{
    return idempotency_new(server->limits.idempotency_keys, &server->idempotency, err);
}

static int make_authority(struct server *server, struct hutch_error *err)
{
    return authority_new(server, &server->authority, err);
}

static int make_host(struct server *server, struct hutch_error *err)
{
    return host_new(&server->host, err);
}

static int make_pool(struct server *server, struct hutch_error *err)
{
    return warm_pool_new(server, &server->pool, err);
}

static int make_policy(struct server *server, struct hutch_error *err)
{
    return hutch_policy_open(server->options->policy, &server->policy, err);
}

static int make_log(struct server *server, struct hutch_error *err)
{
    const char *path = server->options->access_log;
    return path ? access_log_open(path, &server->access_log, err) : 0;
}

/* In this order: whoever listens can be asked. */
static int (*const steps[])(struct server *server, struct hutch_error *err) = {
    read_pools, read_limits,      read_tls,         make_policy,  make_log,
    make_host,  make_idempotency, make_authority,   make_workers, make_admission,
    make_http,  drain_new,        policy_watch_new, listen_all,   make_pool,
};

static int set_up(struct server *server, struct hutch_error *err)
{
    int status = 0;
    for (size_t i = 0; !status && i < SERVER_COUNT(steps); i++)
        status = steps[i](server, err);
    return status;
}

/* Whoever still works for a client learns that it is gone, and comes back to the loop. */
static void recall_calls(struct server *server)
{
    uint64_t until_us = server_clock_us() + LAST_WORK_MS * 1000;
    http_server_close(server->http);
    while (atomic_load(&server->requests) + atomic_load(&server->streams) &&
           server_clock_us() < until_us)
        (void)event_base_loop(server->base, EVLOOP_ONCE); /* the drain's timer wakes it */
}

static void tear_down(struct server *server)
{
    listen_end(server);
    policy_watch_free(server);
    if (server->http && atomic_load(&server->is_draining))
        recall_calls(server);
    warm_pool_end(server->pool);
}

/* When a worker is still at it, what it uses must stay; the process ends all the same. */
static void free_parts(struct server *server)
{
    if (server->workers && !workers_end(server->workers, LAST_WORK_MS))
        return;
    warm_pool_free(server->pool);
    drain_free(server);
    http_server_free(server->http);
    host_free(server->host);
    admission_free(server->admission);
    authority_free(server->authority);
    idempotency_free(server->idempotency);
    access_log_close(server->access_log);
    hutch_policy_free(server->policy);
    SSL_CTX_free(server->tls);
    if (server->base)
        event_base_free(server->base);
    for (size_t i = 0; i < server->pool_count; i++)
        free(server->pools[i].template);
    free(server->pools);
}

/* ---- its life -------------------------------------------------------------------------------- */

/* A thread's arenas would hold on to memory that no other can use; a thousand connections need more
 * descriptors than the usual limit. */
static void prepare_process(void)
{
    struct rlimit files;
    (void)mallopt(M_ARENA_MAX, 2);
    (void)mallopt(M_TRIM_THRESHOLD, 256 * 1024);
    (void)mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

int serve_main(const struct serve_options *options, struct hutch_error *err)
{
    static struct server server; /* as long as the process, for its threads */
    server.options = options;
    server.started_us = server_time_us();
    prepare_process();
    if (options->insecure_no_auth)
        server_say("insecure: whoever reaches the port may do everything (--insecure-no-auth)");
    int status = set_up(&server, err);
    if (!status) {
        notify_ready();
        (void)event_base_dispatch(server.base);
        notify_stopping();
    }
    tear_down(&server);
    free_parts(&server);
    return status;
}

void server_counts(const struct server *server, struct server_counts *ret_counts)
{
    struct admission_counts admission;
    admission_count(server->admission, &admission);
    *ret_counts = (struct server_counts){
        .requests = atomic_load(&server->requests),
        .streams = atomic_load(&server->streams),
        .creating = admission.busy[ADMISSION_CREATING],
        .running = admission.busy[ADMISSION_RUNNING],
        .queued = admission.queued,
        .turned_away = admission.turned_away,
        .workers = workers_count(server->workers),
        .answer_us_sum = server->answer_us_sum,
    };
    memcpy(ret_counts->answers, server->answers, sizeof(ret_counts->answers));
}
