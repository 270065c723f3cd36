/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of the daemon; those of HTTP are rows of the same kind in http/limits.c. --limit names
 * both, and --list-limits shows them. */
#include "server/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "server/nearest.h"
#include "server/util.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define MOST_STREAMS 4096
#define HOUR_MS (UINT64_C(3600) * 1000)

/* member, least, most, default (0: by the machine), what it is for */
#define OWN_LIMITS(X)                                                                             \
    X(body_bytes, "body-bytes", 1, 256 * MIB, 4 * MIB,                                            \
      "Bytes of a JSON body; more is answered with 413.")                                         \
    X(json_depth, "json-depth", 1, 512, 32, "Levels of a JSON body.")                             \
    X(requests, "requests", 1, MIB, 1024,                                                         \
      "Requests that are being answered, streams apart; the next is answered with 503.")          \
    X(streams, "streams", 0, MIB, 0,                                                              \
      "Streams and WebSockets; the next is answered with 503. By default by descriptors.")        \
    X(creating, "creating", 1, 65536, 0,                                                          \
      "Requests that make a sandbox at the same time; the next waits. By default by processors.") \
    X(running, "running", 1, 65536, 0,                                                            \
      "Runs at the same time; the next waits. By default by processors and memory.")              \
    X(queue, "queue", 0, MIB, 256,                                                                \
      "Requests of one tenant that wait for their turn; the next is answered with 429.")          \
    X(idempotency_keys, "idempotency-keys", 1, MIB, 10000,                                        \
      "Answers that are kept for their Idempotency-Key; beyond it the oldest goes.")              \
    X(drain_ms, "drain-ms", 0, 24 * HOUR_MS, 10000,                                               \
      "Milliseconds that answers may take when the daemon is told to end.")

struct row {
    const char *name;
    size_t offset;
    uint64_t least;
    uint64_t most;
};

static const struct row rows[] = {
#define X(member, name, least, most, usual, doc) \
    {name, offsetof(struct server_limits, member), least, most},
    OWN_LIMITS(X)
#undef X
};

static const struct serve_limit told[] = {
#define X(member, name, least, most, usual, doc) {name, doc, usual},
    OWN_LIMITS(X)
#undef X
};

bool serve_limit_at(size_t index, struct serve_limit *ret_limit)
{
    if (index < SERVER_COUNT(told)) {
        *ret_limit = told[index];
        return true;
    }
    const struct http_limit *row = http_limit_table;
    for (index -= SERVER_COUNT(told); index && row->name; index--)
        row++;
    if (row->name)
        *ret_limit = (struct serve_limit){row->name, row->doc, row->otherwise};
    return row->name != NULL;
}

static uint64_t *place_of(struct server_limits *limits, size_t offset)
{
    return (uint64_t *)(void *)((char *)limits + offset);
}

/* A stream has a socket, both ends of a pipe and an eventfd: with all of them there must be some
 * left for others. */
static uint64_t streams_by_descriptors(void)
{
    struct rlimit files = {.rlim_max = 1024};
    (void)getrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_max / 6 < MOST_STREAMS ? files.rlim_max / 6 : MOST_STREAMS;
}

/* A run takes a processor for a part of its life, and some memory. */
static void set_by_machine(struct server_limits *limits)
{
    struct sysinfo info = {0};
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t processors = online > 0 ? (uint64_t)online : 1;
    uint64_t by_memory = sysinfo(&info) == 0 ? info.totalram * info.mem_unit / (128 * MIB) : 16;
    uint64_t by_processors = processors * 32;
    limits->streams = streams_by_descriptors();
    limits->creating = processors * 4;
    limits->running = by_memory < by_processors ? by_memory : by_processors;
    if (limits->running < processors * 4)
        limits->running = processors * 4;
}

void limits_init(struct server_limits *limits)
{
    *limits = (struct server_limits){.http = http_default_limits};
    for (size_t i = 0; i < SERVER_COUNT(rows); i++)
        *place_of(limits, rows[i].offset) = told[i].usual;
    set_by_machine(limits);
}

static int read_number(const char *name, uint64_t least, uint64_t most, const char *value,
                       uint64_t *ret_number, struct hutch_error *err)
{
    if (server_number(value, most, ret_number) && *ret_number >= least)
        return 0;
    return server_fail(err, HUTCH_E_INVALID,
                       "limit %s must be a number from %" PRIu64 " to %" PRIu64 ", not '%.40s'",
                       name, least, most, value);
}

static int set_own(struct server_limits *limits, const struct row *row, const char *value,
                   struct hutch_error *err)
{
    return read_number(row->name, row->least, row->most, value, place_of(limits, row->offset), err);
}

static int set_http(struct server_limits *limits, const struct http_limit *row, const char *value,
                    struct hutch_error *err)
{
    uint64_t number = 0;
    int status = read_number(row->name, row->least, row->most, value, &number, err);
    return status ? status : http_limit_set(&limits->http, row->name, number, err);
}

int limits_set(struct server_limits *limits, const char *text, struct hutch_error *err)
{
    char name[NEAREST_BYTES] = "";
    size_t length = strcspn(text, "=");
    if (text[length] != '=' || length >= sizeof(name))
        return server_fail(err, HUTCH_E_INVALID,
                           "a limit is NAME=VALUE, not '%.80s'; --list-limits tells the names",
                           text);
    memcpy(name, text, length);
    struct nearest nearest = {.written = name};
    for (size_t i = 0; i < SERVER_COUNT(rows); i++) {
        if (!strcmp(rows[i].name, name))
            return set_own(limits, &rows[i], text + length + 1, err);
        nearest_offer(&nearest, rows[i].name, strlen(rows[i].name));
    }
    for (const struct http_limit *row = http_limit_table; row->name; row++) {
        if (!strcmp(row->name, name))
            return set_http(limits, row, text + length + 1, err);
        nearest_offer(&nearest, row->name, strlen(row->name));
    }
    return server_fail(
        err, HUTCH_E_INVALID, "there is no limit '%s'%s%s%s; --list-limits tells all", name,
        *nearest.name ? ", did you mean '" : "", nearest.name, *nearest.name ? "'?" : "");
}
