/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server/server.h"
#include "server/util.h"
#include "server/warm_pool_make.h"

#define STACK_BYTES ((size_t)512 << 10)
#define LOOK_MS 5000       /* between two looks at those that wait */
#define FIRST_PAUSE_MS 500 /* after a failure to make one; twice as long after the next */
#define LONGEST_PAUSE_MS 60000
#define CALM_MS 30    /* in a burst, those who ask come before those who may */
#define MOST_MISSES 2 /* one that did not fit so often is not made for anybody any more */

struct member {
    struct member *next;
    struct hutch_sandbox *sandbox;
    unsigned misses;
};

/* One --pool. */
struct slot {
    const char *template;
    uint64_t wanted;
    struct member *ready; /* the oldest first */
    uint64_t ready_count;
    char *description; /* of the template, as the members were made from it */
    uint64_t handed_out;
    uint64_t failures;
    uint64_t pause_ms;
    uint64_t try_again_us; /* not before */
};

struct pool {
    struct server *server;
    struct slot *slots;
    size_t slot_count;
    struct member *doomed; /* to be removed */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    bool is_ending;
    int lock; /* held by the daemon that tends what is left of others; -1: another does */
};

/* ---- lists; the mutex is held ---------------------------------------------------------------- */

static void append(struct member **list, struct member *member)
{
    while (*list)
        list = &(*list)->next;
    member->next = NULL;
    *list = member;
}

static struct slot *find_slot(const struct pool *pool, const char *template)
{
    for (size_t i = 0; pool && i < pool->slot_count; i++)
        if (!strcmp(pool->slots[i].template, template ? template : POOL_DEFAULT))
            return &pool->slots[i];
    return NULL;
}

static void put_ready(struct slot *slot, struct member *member)
{
    append(&slot->ready, member);
    slot->ready_count++;
}

static struct member *take_ready(struct slot *slot)
{
    struct member *member = slot->ready;
    if (!member)
        return NULL;
    slot->ready = member->next;
    slot->ready_count--;
    return member;
}

static void doom_all(struct pool *pool, struct slot *slot)
{
    for (struct member *member; (member = take_ready(slot));)
        append(&pool->doomed, member);
}

static void member_remove(struct member *member)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    (void)!hutch_sandbox_remove(member->sandbox, true, &ignored); /* or the next start does */
    hutch_sandbox_free(member->sandbox);
    free(member);
}

/* ---- handing out ----------------------------------------------------------------------------- */

bool warm_pool_has(const struct pool *pool, const char *template)
{
    return find_slot(pool, template) != NULL;
}

/* What the request is to blame for says nothing about the member. */
static bool is_sound(const struct member *member, const struct hutch_error *err)
{
    bool is_request =
        err->code == HUTCH_E_PERMISSION || err->code == HUTCH_E_INVALID || err->os_errno == EEXIST;
    return is_request || (err->code == HUTCH_E_CONFLICT && member->misses < MOST_MISSES);
}

static void give_back(struct pool *pool, struct slot *slot, struct member *member,
                      const struct hutch_error *err)
{
    member->misses += err->code == HUTCH_E_CONFLICT && err->os_errno != EEXIST;
    (void)pthread_mutex_lock(&pool->mutex);
    bool is_late = pool->is_ending;
    if (is_late) {
        /* nobody looks at the lists any more */
    } else if (is_sound(member, err)) { /* where it was: the oldest is the next */
        member->next = slot->ready;
        slot->ready = member;
        slot->ready_count++;
    } else {
        append(&pool->doomed, member);
    }
    (void)pthread_cond_signal(&pool->changed);
    (void)pthread_mutex_unlock(&pool->mutex);
    if (is_late)
        member_remove(member);
}

int warm_pool_claim(struct pool *pool, const char *template, struct hutch_spec *spec,
                    struct hutch_sandbox **ret_sandbox, struct hutch_error *err)
{
    struct slot *slot = find_slot(pool, template);
    if (!slot)
        return POOL_NONE;
    (void)pthread_mutex_lock(&pool->mutex);
    struct member *member = pool->is_ending ? NULL : take_ready(slot);
    (void)pthread_mutex_unlock(&pool->mutex);
    if (!member)
        return POOL_NONE;
    if (hutch_sandbox_claim(member->sandbox, spec, err) < 0) {
        give_back(pool, slot, member, err);
        return -(int)err->code;
    }
    *ret_sandbox = member->sandbox;
    free(member);
    (void)pthread_mutex_lock(&pool->mutex);
    slot->handed_out++;
    if (!slot->pause_ms && slot->ready_count * 2 >= slot->wanted)
        slot->try_again_us = server_clock_us() + (uint64_t)CALM_MS * 1000;
    else if (!slot->pause_ms)
        slot->try_again_us = 0;
    (void)pthread_mutex_unlock(&pool->mutex);
    return 0;
}

void warm_pool_refill(struct pool *pool)
{
    (void)pthread_cond_signal(&pool->changed);
}

bool warm_pool_count(struct pool *pool, size_t index, struct warm_pool_count *ret_count)
{
    if (!pool || index >= pool->slot_count)
        return false;
    (void)pthread_mutex_lock(&pool->mutex);
    const struct slot *slot = &pool->slots[index];
    *ret_count = (struct warm_pool_count){.template = slot->template,
                                          .wanted = slot->wanted,
                                          .ready = slot->ready_count,
                                          .handed_out = slot->handed_out,
                                          .failures = slot->failures};
    (void)pthread_mutex_unlock(&pool->mutex);
    return true;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static struct member *member_of(struct hutch_sandbox *sandbox)
{
    struct member *member = calloc(1, sizeof(*member));
    if (member)
        member->sandbox = sandbox;
    else
        hutch_sandbox_free(sandbox);
    return member;
}

/* What cannot be made now is tried again, less and less often; each reason is said once. */
static void note_failure(struct slot *slot, const struct hutch_error *err)
{
    if (!slot->pause_ms)
        server_say("pool '%s' cannot be filled: %s", slot->template, err->msg);
    slot->failures++;
    slot->pause_ms = slot->pause_ms ? slot->pause_ms * 2 : FIRST_PAUSE_MS;
    if (slot->pause_ms > LONGEST_PAUSE_MS)
        slot->pause_ms = LONGEST_PAUSE_MS;
    slot->try_again_us = server_clock_us() + slot->pause_ms * 1000;
}

/* Without the mutex: this takes its time. */
static void make_one(struct pool *pool, struct slot *slot)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_sandbox *sandbox = NULL;
    int status = warm_pool_make(pool->server->policy, slot->template, &sandbox, &err);
    struct member *member = status == 0 ? member_of(sandbox) : NULL;
    (void)pthread_mutex_lock(&pool->mutex);
    if (member) {
        put_ready(slot, member);
        slot->pause_ms = 0;
    } else if (status < 0) {
        note_failure(slot, &err);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
}

/* Members were made from what the template said then. */
static void look_at_template(struct pool *pool, struct slot *slot)
{
    char *now = warm_pool_describe(slot->template);
    (void)pthread_mutex_lock(&pool->mutex);
    if (now && slot->description && strcmp(now, slot->description) != 0)
        doom_all(pool, slot);
    (void)pthread_mutex_unlock(&pool->mutex);
    if (now) {
        free(slot->description);
        slot->description = now;
    }
}

static bool has_ended(const struct hutch_sandbox *sandbox)
{
    struct hutch_sandbox_info info = {0};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    return hutch_sandbox_info(sandbox, &info, &ignored) < 0 || info.ended_us;
}

/* Its keeper may have been killed, or its own time be over. With the mutex, for nobody may have one
 * meanwhile: a look is a file that is read. */
static void look_at_members(struct pool *pool, struct slot *slot)
{
    struct member **link = &slot->ready;
    (void)pthread_mutex_lock(&pool->mutex);
    while (*link) {
        struct member *member = *link;
        if (!has_ended(member->sandbox)) {
            link = &member->next;
            continue;
        }
        *link = member->next;
        slot->ready_count--;
        append(&pool->doomed, member);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
}

static void remove_doomed(struct pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
    struct member *member = pool->doomed;
    pool->doomed = NULL;
    (void)pthread_mutex_unlock(&pool->mutex);
    while (member) {
        struct member *next = member->next;
        member_remove(member);
        member = next;
    }
}

/* The one that lacks most of its share; NULL when nothing is to be made now. The mutex is held. */
static struct slot *next_to_fill(struct pool *pool)
{
    struct slot *found = NULL;
    uint64_t now = server_clock_us();
    for (size_t i = 0; i < pool->slot_count; i++) {
        struct slot *slot = &pool->slots[i];
        bool is_due = slot->ready_count < slot->wanted && slot->try_again_us <= now;
        if (is_due &&
            (!found || slot->wanted - slot->ready_count > found->wanted - found->ready_count))
            found = slot;
    }
    return found;
}

/* Until somebody takes one, something failed long enough ago, or it is time for a look. */
static void wait_a_while(struct pool *pool, uint64_t look_us)
{
    uint64_t until = look_us, now = server_clock_us();
    for (size_t i = 0; i < pool->slot_count; i++) {
        const struct slot *slot = &pool->slots[i];
        if (slot->ready_count < slot->wanted && slot->try_again_us < until)
            until = slot->try_again_us;
    }
    uint64_t pause_us = until > now ? until - now : 1000;
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    uint64_t nanoseconds = (uint64_t)at.tv_nsec + pause_us % 1000000 * 1000;
    at.tv_sec += (time_t)(pause_us / 1000000 + nanoseconds / 1000000000);
    at.tv_nsec = (long)(nanoseconds % 1000000000);
    (void)pthread_cond_timedwait(&pool->changed, &pool->mutex, &at);
}

static void look_around(struct pool *pool)
{
    for (size_t i = 0; i < pool->slot_count; i++) {
        look_at_template(pool, &pool->slots[i]);
        look_at_members(pool, &pool->slots[i]);
    }
}

static void adopt_one(void *userdata, const char *template, struct hutch_sandbox *sandbox)
{
    struct pool *pool = userdata;
    struct slot *slot = find_slot(pool, template);
    struct member *member = member_of(sandbox);
    if (!member)
        return;
    (void)pthread_mutex_lock(&pool->mutex);
    if (slot && slot->ready_count < slot->wanted && !has_ended(sandbox))
        put_ready(slot, member);
    else
        append(&pool->doomed, member);
    (void)pthread_mutex_unlock(&pool->mutex);
}

static void *tend(void *argument)
{
    struct pool *pool = argument;
    uint64_t look_us = 0;
    if (pool->lock >= 0)
        warm_pool_find_left(adopt_one, pool);
    (void)pthread_mutex_lock(&pool->mutex);
    while (!pool->is_ending && (pool->slot_count || pool->doomed)) {
        struct slot *slot = next_to_fill(pool);
        bool is_time = server_clock_us() >= look_us;
        if (!slot && !is_time && !pool->doomed) {
            wait_a_while(pool, look_us);
            continue;
        }
        (void)pthread_mutex_unlock(&pool->mutex);
        remove_doomed(pool);
        if (is_time) {
            look_around(pool);
            look_us = server_clock_us() + (uint64_t)LOOK_MS * 1000;
        }
        if (slot)
            make_one(pool, slot);
        (void)pthread_mutex_lock(&pool->mutex);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int start(struct pool *pool, struct hutch_error *err)
{
    pthread_condattr_t monotonic;
    pthread_attr_t small;
    (void)pthread_mutex_init(&pool->mutex, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&pool->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_attr_init(&small);
    (void)pthread_attr_setstacksize(&small, STACK_BYTES);
    errno = pthread_create(&pool->thread, &small, tend, pool);
    (void)pthread_attr_destroy(&small);
    return errno ? server_fail_errno(err, "start the thread of the pools") : 0;
}

int warm_pool_new(struct server *server, struct pool **ret_pool, struct hutch_error *err)
{
    struct pool *pool = calloc(1, sizeof(*pool));
    struct slot *slots = calloc(server->pool_count + 1, sizeof(*slots));
    if (!pool || !slots) {
        free(pool);
        free(slots);
        return server_fail_nomem(err);
    }
    for (size_t i = 0; i < server->pool_count; i++)
        slots[i] =
            (struct slot){.template = server->pools[i].template, .wanted = server->pools[i].count};
    *pool = (struct pool){.server = server,
                          .slots = slots,
                          .slot_count = server->pool_count,
                          .lock = warm_pool_lock()};
    if (start(pool, err) == 0) {
        *ret_pool = pool;
        return 0;
    }
    server_closep(&pool->lock);
    free(slots);
    free(pool);
    return -(int)err->code;
}

void warm_pool_end(struct pool *pool)
{
    if (!pool)
        return;
    (void)pthread_mutex_lock(&pool->mutex);
    pool->is_ending = true;
    (void)pthread_cond_signal(&pool->changed);
    (void)pthread_mutex_unlock(&pool->mutex);
    (void)pthread_join(pool->thread, NULL);
    (void)pthread_mutex_lock(&pool->mutex);
    for (size_t i = 0; i < pool->slot_count; i++)
        doom_all(pool, &pool->slots[i]);
    (void)pthread_mutex_unlock(&pool->mutex);
    remove_doomed(pool);
    server_closep(&pool->lock);
}

void warm_pool_free(struct pool *pool)
{
    for (size_t i = 0; pool && i < pool->slot_count; i++)
        free(pool->slots[i].description);
    if (!pool)
        return;
    (void)pthread_cond_destroy(&pool->changed);
    (void)pthread_mutex_destroy(&pool->mutex);
    free(pool->slots);
    free(pool);
}
