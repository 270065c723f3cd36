/* SPDX-License-Identifier: Apache-2.0 */
/* Requests by route and status, and how long they took. Every cell is an atomic of its own: the
 * loop and the workers count without waiting for each other. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/metrics.h"
#include "server/util.h"

/* The last one stands for all others. */
static const int statuses[] = {101, 200, 201, 204, 206, 304, 400, 401, 403, 404, 405, 408, 409, 412,
                               413, 414, 415, 416, 417, 422, 426, 429, 431, 500, 501, 503, 0};
/* Upper bounds; what took longer is in the sum alone. */
static const struct {
    uint64_t us;
    const char *seconds;
} buckets[] = {{500, "0.0005"},  {1000, "0.001"},  {2500, "0.0025"}, {5000, "0.005"},
               {10000, "0.01"},  {25000, "0.025"}, {50000, "0.05"},  {100000, "0.1"},
               {250000, "0.25"}, {500000, "0.5"},  {1000000, "1"},   {2500000, "2.5"},
               {10000000, "10"}};

#define STATUSES SERVER_COUNT(statuses)
#define BUCKETS SERVER_COUNT(buckets)

struct cell {
    atomic_uint_fast64_t by_status[STATUSES];
    atomic_uint_fast64_t by_duration[BUCKETS]; /* each without those before it */
    atomic_uint_fast64_t count;                /* of those that were timed */
    atomic_uint_fast64_t sum_us;
};

#define TABLES_MAX 16

struct metrics {
    size_t rows[TABLES_MAX]; /* of each table of routes */
    size_t count;            /* of all; one more cell is for requests without a route */
    struct cell cells[];
};

static size_t rows_of(const struct api_route *table)
{
    size_t count = 0;
    while (table[count].method)
        count++;
    return count;
}

struct metrics *metrics_new(void)
{
    size_t rows[TABLES_MAX] = {0}, count = 0;
    for (size_t i = 0; i < TABLES_MAX && api_tables[i]; i++)
        count += rows[i] = rows_of(api_tables[i]);
    struct metrics *metrics = calloc(1, sizeof(*metrics) + (count + 1) * sizeof(struct cell));
    if (!metrics)
        return NULL;
    memcpy(metrics->rows, rows, sizeof(rows));
    metrics->count = count;
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    free(metrics);
}

/* Tables are few: finding the row's own costs less than keeping its number somewhere. */
static size_t index_of(const struct metrics *metrics, const struct api_route *route)
{
    size_t before = 0;
    for (size_t i = 0; route && i < TABLES_MAX && api_tables[i]; i++) {
        if (route >= api_tables[i] && route < api_tables[i] + metrics->rows[i])
            return before + (size_t)(route - api_tables[i]);
        before += metrics->rows[i];
    }
    return metrics->count;
}

static void add(atomic_uint_fast64_t *cell, uint64_t number)
{
    (void)atomic_fetch_add_explicit(cell, number, memory_order_relaxed);
}

void metrics_answered(struct metrics *metrics, const struct api_route *route, int status,
                      uint64_t duration_us, bool is_stream)
{
    struct cell *cell = &metrics->cells[index_of(metrics, route)];
    size_t at = 0, bucket = 0;
    while (at + 1 < STATUSES && statuses[at] != status)
        at++;
    add(&cell->by_status[at], 1);
    if (is_stream)
        return;
    while (bucket < BUCKETS && duration_us > buckets[bucket].us)
        bucket++;
    if (bucket < BUCKETS)
        add(&cell->by_duration[bucket], 1);
    add(&cell->count, 1);
    add(&cell->sum_us, duration_us);
}

/* ---- the page -------------------------------------------------------------------------------- */

static uint64_t get(const atomic_uint_fast64_t *cell)
{
    return atomic_load_explicit(cell, memory_order_relaxed);
}

typedef void write_cell(const struct cell *cell, const char *name, const char *labels, FILE *file);

static void write_statuses(const struct cell *cell, const char *name, const char *labels,
                           FILE *file)
{
    for (size_t i = 0; i < STATUSES; i++) {
        char status[16] = "other";
        uint64_t count = get(&cell->by_status[i]);
        if (statuses[i])
            (void)snprintf(status, sizeof(status), "%d", statuses[i]);
        if (count)
            (void)fprintf(file, "%s{%s,status=\"%s\"} %llu\n", name, labels, status,
                          (unsigned long long)count);
    }
}

static void write_histogram(const struct cell *cell, const char *name, const char *labels,
                            FILE *file)
{
    uint64_t up_to = 0;
    uint64_t all = get(&cell->count);
    if (!all)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        up_to += get(&cell->by_duration[i]);
        /* counted while this is written: the whole is never less than its parts */
        if (up_to > all)
            all = up_to;
        (void)fprintf(file, "%s_bucket{%s,le=\"%s\"} %llu\n", name, labels, buckets[i].seconds,
                      (unsigned long long)up_to);
    }
    (void)fprintf(file, "%s_bucket{%s,le=\"+Inf\"} %llu\n", name, labels, (unsigned long long)all);
    (void)fprintf(file, "%s_sum{%s} %.6f\n", name, labels, (double)get(&cell->sum_us) / 1e6);
    (void)fprintf(file, "%s_count{%s} %llu\n", name, labels, (unsigned long long)all);
}

static void write_cells(const struct metrics *metrics, write_cell *write, const char *name,
                        FILE *file)
{
    const struct cell *cell = metrics->cells;
    for (size_t i = 0; api_tables[i]; i++)
        for (const struct api_route *route = api_tables[i]; route->method; route++, cell++) {
            char labels[256];
            (void)snprintf(labels, sizeof(labels), "method=\"%s\",route=\"%s\"", route->method,
                           route->path);
            write(cell, name, labels, file);
        }
    write(cell, name, "method=\"\",route=\"\"", file);
}

void metrics_write_requests(const struct metrics *metrics, const char *name, FILE *file)
{
    write_cells(metrics, write_statuses, name, file);
}

void metrics_write_durations(const struct metrics *metrics, const char *name, FILE *file)
{
    write_cells(metrics, write_histogram, name, file);
}
