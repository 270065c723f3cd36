/* SPDX-License-Identifier: Apache-2.0 */
#include "server/host.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "server/events_hub.h"
#include "server/openapi.h"
#include "server/program.h"
#include "server/util.h"

#define EXAMINED_FOR_US (UINT64_C(10) * 1000 * 1000)

struct host {
    struct metrics *metrics;
    struct events_hub *events;
    pthread_mutex_t lock; /* of the rest */
    json_t *faults;
    uint64_t examined_us; /* 0: never */
    char *openapi;
};

int host_new(struct host **ret_host, struct hutch_error *err)
{
    struct host *host = calloc(1, sizeof(*host));
    if (!host)
        return server_fail_nomem(err);
    (void)pthread_mutex_init(&host->lock, NULL);
    host->metrics = metrics_new();
    host->events = events_hub_new();
    if (!host->metrics || !host->events) {
        host_free(host);
        return server_fail_nomem(err);
    }
    *ret_host = host;
    return 0;
}

void host_free(struct host *host)
{
    if (!host)
        return;
    events_hub_free(host->events);
    metrics_free(host->metrics);
    json_decref(host->faults);
    free(host->openapi);
    (void)pthread_mutex_destroy(&host->lock);
    free(host);
}

void host_drain(struct host *host)
{
    events_hub_end(host->events);
}

struct metrics *host_metrics(struct host *host)
{
    return host->metrics;
}

struct events_hub *host_events(struct host *host)
{
    return host->events;
}

const char *host_openapi(struct host *host, size_t *ret_length)
{
    (void)pthread_mutex_lock(&host->lock);
    if (!host->openapi) {
        json_t *document = openapi_document();
        host->openapi = document ? json_dumps(document, JSON_COMPACT) : NULL;
        json_decref(document);
    }
    const char *text = host->openapi;
    (void)pthread_mutex_unlock(&host->lock);
    *ret_length = text ? strlen(text) : 0;
    return text;
}

/* "fail cgroup.pids: ..." */
static int note_fault(void *userdata, const char *line)
{
    static const char fail[] = "fail ";
    const char *name = line + sizeof(fail) - 1;
    if (!strncmp(line, fail, sizeof(fail) - 1))
        (void)json_array_append_new(userdata, json_stringn(name, strcspn(name, ":")));
    return 0;
}

/* By the program, for it tries things out in processes of its own. */
static json_t *examine(void)
{
    static const char *const words[] = {"doctor", NULL};
    struct hutch_error err = HUTCH_ERROR_INIT;
    json_t *faults = json_array();
    const struct program_run run = {.words = words,
                                    .in_fd = SERVER_NO_FD,
                                    .out_fd = SERVER_NO_FD,
                                    .gone_fd = SERVER_NO_FD,
                                    .on_line = note_fault,
                                    .userdata = faults};
    if (program_run(&run, &err) < 0 && !json_array_size(faults))
        (void)json_array_append_new(faults, json_string("doctor"));
    return faults;
}

json_t *host_faults(struct host *host)
{
    (void)pthread_mutex_lock(&host->lock);
    uint64_t now = server_clock_us();
    if (!host->examined_us || now - host->examined_us > EXAMINED_FOR_US) {
        json_decref(host->faults);
        host->faults = examine();
        host->examined_us = now;
    }
    json_t *copy = json_copy(host->faults);
    (void)pthread_mutex_unlock(&host->lock);
    return copy;
}
