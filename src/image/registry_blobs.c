/* SPDX-License-Identifier: Apache-2.0 */
/* Several blobs at once. Each has a state of its own; the loop starts those whose time has come,
 * lets libcurl move them, and looks at those that have ended. */
#include <stdlib.h>
#include <string.h>

#include "image/registry_transfer.h"
#include "util/own.h"

enum { LONGEST_LOOK_MS = 1000 };

struct blobs {
    struct registry *registry;
    struct transfer *all;
    size_t count;
    unsigned parallel;
};

static unsigned count_running(const struct blobs *blobs)
{
    unsigned running = 0;
    for (size_t i = 0; i < blobs->count; i++)
        running += blobs->all[i].state == TRANSFER_RUNNING;
    return running;
}

static int start_due(struct blobs *blobs, struct hutch_error *err)
{
    int64_t now = endpoint_now_ms();
    unsigned running = count_running(blobs);
    for (size_t i = 0; i < blobs->count && running < blobs->parallel; i++) {
        struct transfer *transfer = &blobs->all[i];
        if (transfer->state != TRANSFER_WAITING || transfer->not_before_ms > now)
            continue;
        int r = transfer_start(blobs->registry, transfer, err);
        if (r < 0)
            return r;
        running += transfer->state == TRANSFER_RUNNING;
    }
    return 0;
}

static int end_done(struct blobs *blobs, struct hutch_error *err)
{
    for (size_t i = 0; i < blobs->count; i++) {
        struct transfer *transfer = &blobs->all[i];
        if (transfer->state != TRANSFER_RUNNING || !transfer->exchange.is_done)
            continue;
        int r = transfer_end(blobs->registry, transfer, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* How long nothing can happen but what libcurl sees; negative when all is done. */
static int64_t time_to_next(const struct blobs *blobs)
{
    int64_t now = endpoint_now_ms();
    int64_t least = -1;
    for (size_t i = 0; i < blobs->count; i++) {
        const struct transfer *transfer = &blobs->all[i];
        int64_t wait = LONGEST_LOOK_MS;
        if (transfer->state == TRANSFER_FINISHED)
            continue;
        if (transfer->state == TRANSFER_WAITING && transfer->not_before_ms - now < wait)
            wait = transfer->not_before_ms > now ? transfer->not_before_ms - now : 0;
        if (least < 0 || wait < least)
            least = wait;
    }
    return least;
}

static int run(struct blobs *blobs, struct hutch_error *err)
{
    for (;;) {
        int r = start_due(blobs, err);
        if (r < 0)
            return r;
        int64_t wait = time_to_next(blobs);
        if (wait < 0)
            return 0;
        /* one that waits for its turn must not make the loop spin */
        if (wait == 0 && count_running(blobs) >= blobs->parallel)
            wait = LONGEST_LOOK_MS;
        r = http_pump(blobs->registry->http, (unsigned)wait, err);
        if (r == 0)
            r = end_done(blobs, err);
        if (r < 0)
            return r;
    }
}

int registry_get_blobs(struct registry *registry, struct registry_get *gets, size_t count,
                       unsigned parallel, struct hutch_error *err)
{
    struct blobs blobs = {registry, NULL, count, parallel ? parallel : 1};
    if (count == 0)
        return 0;
    blobs.all = calloc(count, sizeof(*blobs.all));
    if (!blobs.all)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        transfer_init(registry, &blobs.all[i], &gets[i]);
    int r = run(&blobs, err);
    for (size_t i = 0; i < count; i++)
        http_done(registry->http, &blobs.all[i].exchange);
    free(blobs.all);
    return r;
}
