/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/resolver.h"

#include <string.h>

#include "egress/query.h"

#define MAX_AGE_S 60
#define HOSTS_AGE_US 5000000
#define FAILURE_AGE_US 1000000
#define TRY_US 1500000
#define OTHER_FAMILY_US 100000 /* how long the second answer may take once the first is there */

/* ---- those who wait ---- */

static void add_waiter(struct resolution *resolution, struct waiter *waiter)
{
    waiter->is_waiting = true;
    waiter->next = resolution->waiters;
    resolution->waiters = waiter;
}

void resolver_forget(struct resolution *resolution, struct waiter *waiter)
{
    for (struct waiter **place = &resolution->waiters; *place; place = &(*place)->next) {
        if (*place != waiter)
            continue;
        *place = waiter->next;
        waiter->is_waiting = false;
        return;
    }
}

/* Whoever is told may forget others, or ask again. */
static void tell(struct resolution *resolution)
{
    while (resolution->waiters) {
        struct waiter *waiter = resolution->waiters;
        resolution->waiters = waiter->next;
        waiter->is_waiting = false;
        waiter->on_resolved(waiter);
    }
}

/* ---- those in line ---- */

static void line_up(struct resolver *resolver, struct resolution *resolution)
{
    resolution->is_in_line = true;
    resolution->next_in_line = NULL;
    if (resolver->last_in_line)
        resolver->last_in_line->next_in_line = resolution;
    else
        resolver->first_in_line = resolution;
    resolver->last_in_line = resolution;
}

static struct resolution *next_in_line(struct resolver *resolver)
{
    struct resolution *resolution = resolver->first_in_line;
    if (!resolution)
        return NULL;
    resolver->first_in_line = resolution->next_in_line;
    if (!resolver->first_in_line)
        resolver->last_in_line = NULL;
    resolution->is_in_line = false;
    return resolution;
}

static void leave_line(struct resolver *resolver, struct resolution *resolution)
{
    struct resolution *first = resolver->first_in_line;
    resolver->first_in_line = resolver->last_in_line = NULL;
    for (struct resolution *next; first; first = next) {
        next = first->next_in_line;
        if (first != resolution)
            line_up(resolver, first);
    }
    resolution->is_in_line = false;
}

/* ---- a lookup ---- */

static void begin(struct lookup *lookup, struct resolution *resolution)
{
    struct resolver *resolver = lookup->resolver;
    resolver->server_count = host_file_servers(resolver->servers);
    lookup->resolution = resolution;
    resolution->lookup = lookup;
    lookup->count = 0;
    lookup->ttl_s = MAX_AGE_S;
    loop_timer_set(resolver->loop, &lookup->timer, TRY_US);
    for (size_t i = 0; i < HUTCH_COUNT(lookup->queries); i++)
        lookup->queries[i].is_done =
            false; /* before the first can find the second as it was left */
    for (size_t i = 0; i < HUTCH_COUNT(lookup->queries); i++)
        query_begin(&lookup->queries[i]);
    lookup_check(lookup);
}

static void free_lookup(struct lookup *lookup)
{
    loop_timer_unset(lookup->resolver->loop, &lookup->timer);
    for (size_t i = 0; i < HUTCH_COUNT(lookup->queries); i++)
        query_end(&lookup->queries[i]);
    lookup->resolution->lookup = NULL;
    lookup->resolution = NULL;
}

/* One of each family in turn, IPv4 first: where IPv6 leads nowhere it is not noticed. */
static void take_addresses(const struct lookup *lookup, struct resolution *resolution)
{
    size_t next[2] = {0, 0};
    const uint16_t families[2] = {AF_INET, AF_INET6};
    resolution->count = 0;
    for (size_t turn = 0; resolution->count < lookup->count; turn ^= 1) {
        size_t *at = &next[turn];
        while (*at < lookup->count && lookup->addresses[*at].family != families[turn])
            ++*at;
        if (*at < lookup->count)
            resolution->addresses[resolution->count++] = lookup->addresses[(*at)++];
    }
}

static void finish(struct lookup *lookup)
{
    struct resolver *resolver = lookup->resolver;
    struct resolution *resolution = lookup->resolution;
    uint64_t age_us = lookup->count ? lookup->ttl_s * UINT64_C(1000000) : FAILURE_AGE_US;
    take_addresses(lookup, resolution);
    resolution->expires_us = resolver->loop->now_us + age_us;
    free_lookup(lookup);
    struct resolution *next = next_in_line(resolver);
    if (next)
        begin(lookup, next);
    tell(resolution);
}

void lookup_check(struct lookup *lookup)
{
    size_t done = 0;
    for (size_t i = 0; i < HUTCH_COUNT(lookup->queries); i++)
        done += lookup->queries[i].is_done;
    if (done == HUTCH_COUNT(lookup->queries))
        /* Never within the call that asked: whoever asked does not wait yet. */
        loop_timer_set(lookup->resolver->loop, &lookup->timer, 0);
    else if (done && lookup->count)
        loop_timer_set(lookup->resolver->loop, &lookup->timer, OTHER_FAMILY_US);
}

void lookup_take(struct lookup *lookup, const struct dns_answer *answer)
{
    for (size_t i = 0; i < answer->count && lookup->count < RESOLVER_MAX_ADDRESSES; i++)
        lookup->addresses[lookup->count++] = answer->addresses[i];
    if (answer->count && answer->ttl_s < lookup->ttl_s)
        lookup->ttl_s = answer->ttl_s;
}

static void on_due(struct timer *timer)
{
    struct lookup *lookup = LOOP_OWNER(timer, struct lookup, timer);
    bool is_over = lookup->count > 0;
    if (!is_over) {
        is_over = true;
        loop_timer_set(lookup->resolver->loop, timer, TRY_US);
        for (size_t i = 0; i < HUTCH_COUNT(lookup->queries); i++) {
            query_retry(&lookup->queries[i]);
            is_over &= lookup->queries[i].is_done;
        }
    }
    if (is_over)
        finish(lookup);
}

/* ---- the whole ---- */

void resolver_init(struct resolver *resolver, struct loop *loop)
{
    resolver->loop = loop;
    for (size_t i = 0; i < RESOLVER_MAX_LOOKUPS; i++) {
        struct lookup *lookup = &resolver->lookups[i];
        lookup->resolver = resolver;
        lookup->timer.on_due = on_due;
        query_init(&lookup->queries[0], lookup, DNS_A);
        query_init(&lookup->queries[1], lookup, DNS_AAAA);
    }
}

static struct lookup *find_free(struct resolver *resolver)
{
    for (size_t i = 0; i < RESOLVER_MAX_LOOKUPS; i++)
        if (!resolver->lookups[i].resolution)
            return &resolver->lookups[i];
    return NULL;
}

bool resolver_ask(struct resolver *resolver, struct resolution *resolution, struct waiter *waiter)
{
    if (resolver->loop->now_us < resolution->expires_us)
        return true;
    if (!resolution->lookup && !resolution->is_in_line) {
        resolution->count =
            host_file_addresses(resolution->name, resolution->addresses, RESOLVER_MAX_ADDRESSES);
        if (resolution->count) {
            resolution->expires_us = resolver->loop->now_us + HOSTS_AGE_US;
            return true;
        }
        struct lookup *lookup = find_free(resolver);
        if (lookup)
            begin(lookup, resolution);
        else
            line_up(resolver, resolution);
    }
    add_waiter(resolution, waiter);
    return false;
}

void resolver_drop(struct resolver *resolver, struct resolution *resolution)
{
    if (resolution->is_in_line)
        leave_line(resolver, resolution);
    if (!resolution->lookup)
        return;
    struct lookup *lookup = resolution->lookup;
    free_lookup(lookup);
    struct resolution *next = next_in_line(resolver);
    if (next)
        begin(lookup, next);
}
