/* SPDX-License-Identifier: Apache-2.0 */
/* What went out of a sandbox, as the daemon tells it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hutch/sandbox.h"
#include "remote/client.h"
#include "remote/result_in.h"
#include "remote/sandbox.h"
#include "util/own.h"

/* All of it lies in one piece, as hutch_egress_free() has it: the struct, its rows, their texts. */
struct pool {
    char *at;
    char *end;
};

static const char *keep(struct pool *pool, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if ((size_t)(pool->end - pool->at) <= length)
        return "";
    char *copy = pool->at;
    memcpy(copy, text ? text : "", length);
    copy[length] = '\0';
    pool->at += length + 1;
    return copy;
}

static size_t texts_of(const json_t *list)
{
    size_t bytes = 0, index;
    const json_t *row;
    json_array_foreach(list, index, row)
    {
        const char *name = remote_text(row, "name"), *why = remote_text(row, "why");
        bytes += (name ? strlen(name) : 0) + (why ? strlen(why) : 0) + 2;
    }
    return bytes;
}

/* "2026-11-17T02:40:00.123Z" */
static uint64_t time_us(const char *text)
{
    struct tm fields = {0};
    unsigned thousandths = 0;
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &fields) : NULL;
    if (!rest)
        return 0;
    (void)sscanf(rest, ".%3u", &thousandths);
    time_t seconds = timegm(&fields);
    return seconds > 0 ? (uint64_t)seconds * 1000000 + (uint64_t)thousandths * 1000 : 0;
}

static void fill_hosts(struct hutch_egress_host *hosts, const json_t *list, struct pool *pool)
{
    size_t index;
    const json_t *row;
    json_array_foreach(list, index, row)
    {
        hosts[index] =
            (struct hutch_egress_host){.name = keep(pool, remote_text(row, "name")),
                                       .port = (uint16_t)remote_number(row, "port", 0),
                                       .connections = remote_number(row, "connections", 0),
                                       .bytes_out = remote_number(row, "bytes_out", 0),
                                       .bytes_in = remote_number(row, "bytes_in", 0)};
    }
}

/* Their numbers do not travel. Their times do, and rise: who compares two looks needs no more. */
static void fill_denials(struct hutch_egress_denial *denials, const json_t *list, struct pool *pool)
{
    size_t index;
    const json_t *row;
    json_array_foreach(list, index, row)
    {
        uint64_t when = time_us(remote_text(row, "time"));
        uint64_t after = index ? denials[index - 1].number + 1 : 0;
        denials[index] =
            (struct hutch_egress_denial){.number = when > after ? when : after,
                                         .time_us = when,
                                         .name = keep(pool, remote_text(row, "name")),
                                         .port = (uint16_t)remote_number(row, "port", 0),
                                         .why = keep(pool, remote_text(row, "why")),
                                         .times = remote_number(row, "times", 1)};
    }
}

int remote_egress_in(const json_t *figures, const json_t *denials, struct hutch_egress **ret_egress,
                     struct hutch_error *err)
{
    const json_t *hosts = json_object_get(figures, "hosts");
    size_t host_count = json_array_size(hosts), denial_count = json_array_size(denials);
    size_t host_bytes = host_count * sizeof(struct hutch_egress_host);
    size_t denial_bytes = denial_count * sizeof(struct hutch_egress_denial);
    size_t total = sizeof(struct hutch_egress) + host_bytes + denial_bytes + texts_of(hosts) +
                   texts_of(denials) + 1;
    struct hutch_egress *egress = calloc(1, total);
    if (!egress)
        return hutch_fail_nomem(err);
    struct hutch_egress_host *host_rows = (struct hutch_egress_host *)(egress + 1);
    struct hutch_egress_denial *denial_rows =
        (struct hutch_egress_denial *)(host_rows + host_count);
    struct pool pool = {(char *)(denial_rows + denial_count), (char *)egress + total};
    fill_hosts(host_rows, hosts, &pool);
    fill_denials(denial_rows, denials, &pool);
    *egress =
        (struct hutch_egress){.connections = remote_number(figures, "connections", 0),
                              .connections_open = remote_number(figures, "connections_open", 0),
                              .bytes_out = remote_number(figures, "bytes_out", 0),
                              .bytes_in = remote_number(figures, "bytes_in", 0),
                              .denied = remote_number(figures, "denied", 0),
                              .gateways = remote_number(figures, "gateways", 0),
                              .hosts = host_rows,
                              .host_count = host_count,
                              .denials = denial_rows,
                              .denial_count = denial_count};
    *ret_egress = egress;
    return 0;
}

int hutch_sandbox_egress(struct hutch_sandbox *sandbox, struct hutch_egress **ret_egress,
                         struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    struct remote_call call = REMOTE_CALL(remote_path("/api/sandboxes/{}/egress", sandbox->name));
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    return remote_egress_in(answer, json_object_get(answer, "egress_denied"), ret_egress, err);
}
