/* SPDX-License-Identifier: Apache-2.0 */
/* The page: one table of everything on it, written in Prometheus's text format 0.0.4. */
#include "server/metrics.h"

#include <dirent.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "hutch/host.h"
#include "hutch/sandbox.h"
#include "server/host.h"
#include "server/pool.h"
#include "server/server.h"
#include "server/util.h"

static const char *const states[] = {"starting", "running",      "paused", "stopped",
                                     "dead",     "unresponsive", "other"};

/* Everything that a page is made of. */
struct scrape {
    struct api_call *call;
    struct server *server;
    struct server_counts counts;
    struct http_counts http;
    uint64_t sandboxes[SERVER_COUNT(states)];
    uint64_t resident_bytes;
    uint64_t open_files;
    uint64_t most_files;
    uint64_t threads;
    double cpu_seconds;
    sem_t is_counted;
};

/* ---- finding out ----------------------------------------------------------------------------- */

/* What the loop counts is the loop's own. */
static void count_in_loop(void *argument)
{
    struct scrape *scrape = argument;
    server_counts(scrape->server, &scrape->counts);
    http_server_counts(scrape->server->http, &scrape->http);
    (void)sem_post(&scrape->is_counted);
}

static void ask_loop(struct scrape *scrape)
{
    (void)sem_init(&scrape->is_counted, 0, 0);
    http_post(scrape->server->http, count_in_loop, scrape);
    while (sem_wait(&scrape->is_counted) < 0)
        ;
    (void)sem_destroy(&scrape->is_counted);
}

static int count_sandbox(void *userdata, struct hutch_sandbox *sandbox)
{
    struct scrape *scrape = userdata;
    struct hutch_sandbox_info info;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    size_t at = 0;
    if (!api_may_see(scrape->call, sandbox))
        return 0;
    const char *state = hutch_sandbox_info(sandbox, &info, &ignored) == 0 ? info.state : "";
    while (at + 1 < SERVER_COUNT(states) && strcmp(states[at], state) != 0)
        at++;
    scrape->sandboxes[at]++;
    return 0;
}

static uint64_t number_behind(const char *text, const char *key)
{
    const char *at = text ? strstr(text, key) : NULL;
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void look_at_self(struct scrape *scrape)
{
    size_t length;
    struct rlimit files = {0};
    struct rusage used = {0};
    server_autofree char *status = server_read_file(AT_FDCWD, "/proc/self/status", 16384, &length);
    DIR *open_files = opendir("/proc/self/fd");
    scrape->resident_bytes = number_behind(status, "\nVmRSS:") * 1024;
    scrape->threads = number_behind(status, "\nThreads:");
    while (open_files && readdir(open_files))
        scrape->open_files++;
    if (open_files)
        (void)closedir(open_files);
    scrape->open_files -= scrape->open_files > 3 ? 3 : scrape->open_files; /* ".", "..", its own */
    (void)getrlimit(RLIMIT_NOFILE, &files);
    scrape->most_files = files.rlim_cur;
    (void)getrusage(RUSAGE_SELF, &used);
    scrape->cpu_seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                          (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* ---- what is on it --------------------------------------------------------------------------- */

struct row {
    const char *name;
    const char *type;
    const char *help;
    bool is_own; /* a tenant's page has it too */
    /* NULL: the number at this place of the scrape. */
    void (*write)(const struct row *row, const struct scrape *scrape, FILE *file);
    size_t offset;
};

static void write_build(const struct row *row, const struct scrape *scrape, FILE *file)
{
    (void)scrape;
    (void)fprintf(file, "%s{version=\"%s\"} 1\n", row->name, hutch_version());
}

static void write_requests(const struct row *row, const struct scrape *scrape, FILE *file)
{
    metrics_write_requests(host_metrics(scrape->server->host), row->name, file);
}

static void write_durations(const struct row *row, const struct scrape *scrape, FILE *file)
{
    metrics_write_durations(host_metrics(scrape->server->host), row->name, file);
}

static void write_sandboxes(const struct row *row, const struct scrape *scrape, FILE *file)
{
    for (size_t i = 0; i < SERVER_COUNT(states); i++)
        (void)fprintf(file, "%s{state=\"%s\"} %llu\n", row->name, states[i],
                      (unsigned long long)scrape->sandboxes[i]);
}

/* One of a pool's numbers, which the row says by its place. */
static void write_pool(const struct row *row, const struct scrape *scrape, FILE *file)
{
    struct warm_pool_count count;
    for (size_t i = 0; warm_pool_count(scrape->server->pool, i, &count); i++) {
        uint64_t number;
        memcpy(&number, (const char *)&count + row->offset, sizeof(number));
        (void)fprintf(file, "%s{template=\"%s\"} %llu\n", row->name, count.template,
                      (unsigned long long)number);
    }
}

static void write_cpu(const struct row *row, const struct scrape *scrape, FILE *file)
{
    (void)fprintf(file, "%s %.6f\n", row->name, scrape->cpu_seconds);
}

static void write_start(const struct row *row, const struct scrape *scrape, FILE *file)
{
    (void)fprintf(file, "%s %.3f\n", row->name, (double)scrape->server->started_us / 1e6);
}

static void write_draining(const struct row *row, const struct scrape *scrape, FILE *file)
{
    (void)fprintf(file, "%s %d\n", row->name, atomic_load(&scrape->server->is_draining) ? 1 : 0);
}

#define AT(member) NULL, offsetof(struct scrape, member)
#define OF_POOL(member) write_pool, offsetof(struct warm_pool_count, member)

static const struct row rows[] = {
    {"hutch_build_info", "gauge", "The version that runs.", true, write_build, 0},
    {"hutch_sandboxes", "gauge", "Sandboxes that are there, by state.", true, write_sandboxes, 0},
    {"hutch_draining", "gauge", "It takes no new connections, and ends.", false, write_draining, 0},
    {"hutch_http_requests_total", "counter", "Requests that were answered, by route and status.",
     false, write_requests, 0},
    {"hutch_http_request_duration_seconds", "histogram",
     "From a request's head to its answer, without those that became streams.", false,
     write_durations, 0},
    {"hutch_http_requests_in_flight", "gauge", "Requests that are being answered.", false,
     AT(counts.requests)},
    {"hutch_http_streams", "gauge", "Answers that go on.", false, AT(counts.streams)},
    {"hutch_http_connections", "gauge", "Connections that are open.", false, AT(http.connections)},
    {"hutch_http_connections_accepted_total", "counter", "Connections that were accepted.", false,
     AT(http.accepted)},
    {"hutch_http_connections_refused_total", "counter", "Connections over a limit.", false,
     AT(http.refused)},
    {"hutch_http_bad_requests_total", "counter", "Requests that could not be read.", false,
     AT(http.bad_requests)},
    {"hutch_creating", "gauge", "Requests that are making something.", false, AT(counts.creating)},
    {"hutch_running", "gauge", "Requests that are running something.", false, AT(counts.running)},
    {"hutch_queue_length", "gauge", "Requests that wait for their turn.", false, AT(counts.queued)},
    {"hutch_turned_away_total", "counter", "Requests for which the queue had no room: 429.", false,
     AT(counts.turned_away)},
    {"hutch_pool_wanted", "gauge", "Sandboxes that a warm pool is to have ready.", false,
     OF_POOL(wanted)},
    {"hutch_pool_ready", "gauge", "Sandboxes that it has ready.", false, OF_POOL(ready)},
    {"hutch_pool_handed_out_total", "counter", "Sandboxes that came out of it.", false,
     OF_POOL(handed_out)},
    {"hutch_pool_failures_total", "counter", "Sandboxes for it that could not be made.", false,
     OF_POOL(failures)},
    {"hutch_workers", "gauge", "Threads that answer requests.", false, AT(counts.workers)},
    {"process_resident_memory_bytes", "gauge", "Memory of the daemon.", false, AT(resident_bytes)},
    {"process_open_fds", "gauge", "Descriptors that the daemon has open.", false, AT(open_files)},
    {"process_max_fds", "gauge", "Descriptors that it may have.", false, AT(most_files)},
    {"process_threads", "gauge", "Threads of the daemon.", false, AT(threads)},
    {"process_cpu_seconds_total", "counter", "Processor time of the daemon.", false, write_cpu, 0},
    {"process_start_time_seconds", "gauge", "When it was started, since 1970.", false, write_start,
     0},
};

static void write_row(const struct row *row, const struct scrape *scrape, FILE *file)
{
    (void)fprintf(file, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help, row->name, row->type);
    if (row->write) {
        row->write(row, scrape, file);
        return;
    }
    const char *place = (const char *)scrape + row->offset;
    uint64_t number;
    memcpy(&number, place, sizeof(number));
    (void)fprintf(file, "%s %llu\n", row->name, (unsigned long long)number);
}

void metrics_page(struct api_call *call)
{
    struct scrape scrape = {.call = call, .server = api_server(call)};
    struct hutch_error err = HUTCH_ERROR_INIT;
    server_autofree char *text = NULL;
    size_t length = 0;
    bool is_tenant = api_who(call)->tenant != NULL;
    FILE *file = NULL;
    if (hutch_sandbox_list(count_sandbox, &scrape, &err) < 0) {
        api_fail(call, &err);
        return;
    }
    if (!is_tenant) {
        ask_loop(&scrape);
        look_at_self(&scrape);
    }
    file = open_memstream(&text, &length);
    for (size_t i = 0; file && i < SERVER_COUNT(rows); i++)
        if (!is_tenant || rows[i].is_own)
            write_row(&rows[i], &scrape, file);
    if (!file || fclose(file) != 0)
        api_problem(call, 503, "no_memory", "out of memory");
    else
        api_reply_bytes(call, 200, "text/plain; version=0.0.4; charset=utf-8", text, length);
}
