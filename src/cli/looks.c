/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/looks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/output.h"

void cli_looks_done(struct cli_looks *looks)
{
    for (size_t i = 0; i < looks->count; i++)
        hutch_sandbox_free(looks->items[i].sandbox);
    free(looks->items);
    *looks = (struct cli_looks){0};
}

/* A handle holds three descriptors, and there may be thousands of sandboxes. */
static void allow_many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

bool cli_look_is_alive(const struct cli_look *look)
{
    return !look->is_damaged && look->info.ended_us == 0 &&
           strcmp(look->info.state, "starting") != 0;
}

/* What its home says. False when there is nothing left to say. */
static bool refresh(struct cli_look *look)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    char id[sizeof(look->info.id)];
    memcpy(id, look->info.id, sizeof(id));
    look->is_damaged = hutch_sandbox_info(look->sandbox, &look->info, &err) < 0;
    look->is_gone = look->is_damaged && err.code == HUTCH_E_NOT_FOUND;
    if (!look->is_damaged)
        return !id[0] || !strcmp(id, look->info.id);
    look->info = (struct hutch_sandbox_info){.state = "damaged"};
    (void)snprintf(look->info.name, sizeof(look->info.name), "%s",
                   hutch_sandbox_name(look->sandbox));
    return !id[0]; /* one that was sound and is not any more has been removed */
}

int cli_looks_open(struct cli_looks *looks, const char *name, struct hutch_error *err)
{
    if (looks->count == looks->capacity) {
        size_t capacity = looks->capacity ? looks->capacity * 2 : 64;
        struct cli_look *items = realloc(looks->items, capacity * sizeof(*items));
        if (!items)
            return cli_fail_errno(err, ENOMEM, "cannot list the sandboxes");
        looks->items = items;
        looks->capacity = capacity;
    }
    allow_many_files();
    struct cli_look *look = &looks->items[looks->count];
    *look = (struct cli_look){0};
    if (hutch_sandbox_open(name, &look->sandbox, err) < 0)
        return -(int)err->code;
    (void)refresh(look);
    looks->count++;
    return 0;
}

static void drop(struct cli_looks *looks, size_t index)
{
    hutch_sandbox_free(looks->items[index].sandbox);
    memmove(&looks->items[index], &looks->items[index + 1],
            (looks->count - index - 1) * sizeof(*looks->items));
    looks->count--;
}

struct listing {
    struct cli_looks *looks;
    size_t known; /* how many there were before */
    struct hutch_error *err;
};

static int take_in(void *userdata, struct hutch_sandbox *sandbox)
{
    const struct listing *listing = userdata;
    struct cli_looks *looks = listing->looks;
    const char *name = hutch_sandbox_name(sandbox);
    for (size_t i = 0; i < listing->known; i++)
        if (!strcmp(looks->items[i].info.name, name))
            return 0;
    if (looks->label && !hutch_sandbox_has_label(sandbox, looks->label))
        return 0;
    int status = cli_looks_open(looks, name, listing->err);
    return status == -HUTCH_E_NOT_FOUND ? 0 : status;
}

int cli_looks_list(struct cli_looks *looks, struct hutch_error *err)
{
    for (size_t i = looks->count; i-- > 0;)
        if (!refresh(&looks->items[i]))
            drop(looks, i);
    struct listing listing = {looks, looks->count, err};
    return hutch_sandbox_list(take_in, &listing, err);
}

static void note(struct cli_look *look, const struct hutch_stats *stats)
{
    const struct hutch_stats *before = &look->stats;
    look->has_cpu = look->has_stats && stats->cpu_us != HUTCH_STATS_UNKNOWN &&
                    stats->time_us > before->time_us && stats->cpu_us >= before->cpu_us;
    if (look->has_cpu)
        look->cpu_percent = (double)(stats->cpu_us - before->cpu_us) * 100 /
                            (double)(stats->time_us - before->time_us);
    look->stats = *stats;
    look->has_stats = true;
}

struct batch {
    struct hutch_sandbox **sandboxes;
    struct cli_look **looks;
    struct hutch_stats *stats;
    int *status;
    size_t count;
};

static void batch_done(struct batch *batch)
{
    free(batch->sandboxes);
    free(batch->looks);
    free(batch->stats);
    free(batch->status);
}

static bool batch_init(struct batch *batch, size_t most)
{
    batch->sandboxes = calloc(most + 1, sizeof(struct hutch_sandbox *));
    batch->looks = calloc(most + 1, sizeof(struct cli_look *));
    batch->stats = calloc(most + 1, sizeof(*batch->stats));
    batch->status = calloc(most + 1, sizeof(*batch->status));
    return batch->sandboxes && batch->looks && batch->stats && batch->status;
}

int cli_looks_ask(struct cli_looks *looks, bool wants_stats, uint64_t timeout_ms,
                  struct hutch_error *err)
{
    __attribute__((cleanup(batch_done))) struct batch batch = {0};
    if (!batch_init(&batch, looks->count))
        return cli_fail_errno(err, ENOMEM, "cannot ask the sandboxes");
    for (size_t i = 0; i < looks->count; i++)
        if (cli_look_is_alive(&looks->items[i])) {
            batch.looks[batch.count] = &looks->items[i];
            batch.sandboxes[batch.count++] = looks->items[i].sandbox;
        }
    if (hutch_sandbox_stats_many(batch.count, batch.sandboxes, timeout_ms,
                                 wants_stats ? batch.stats : NULL, batch.status, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < batch.count; i++) {
        struct cli_look *look = batch.looks[i];
        if (batch.status[i] == 0 && wants_stats)
            note(look, &batch.stats[i]);
        else
            look->has_stats = look->has_cpu = false;
        (void)refresh(look); /* it may be silent, or have ended by now */
    }
    return 0;
}
