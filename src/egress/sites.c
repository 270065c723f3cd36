/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/sites.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "egress/gateway.h"
#include "init/plant.h"

/* Addresses for names: all of the /15 but its first and last few. */
#define FIRST_NUMBER 256U
#define NUMBERS ((1U << 17) - 512U)

/* After this long without a question, whoever asked has asked again or holds a connection. */
#define FORGET_US (uint64_t)(300 * 1000000ULL)

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 2166136261U;
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619U;
    return hash;
}

struct site *sites_find(struct sites *sites, const char *name)
{
    uint32_t hash = hash_of(name);
    for (size_t i = 0; i < sites->count; i++) {
        struct site *site = &sites->rows[i];
        if (site->is_used && site->hash == hash && !strcmp(site->name, name))
            return site;
    }
    return NULL;
}

static struct site *find_number(struct sites *sites, uint32_t number)
{
    for (size_t i = 0; i < sites->count; i++)
        if (sites->rows[i].is_used && sites->rows[i].number == number)
            return &sites->rows[i];
    return NULL;
}

/* ---- addresses ---- */

void site_address(const struct site *site, uint16_t family, struct address *ret_address)
{
    struct address four = {.family = AF_INET}, six = {.family = AF_INET6};
    (void)inet_pton(AF_INET, PLANT_NETWORK_4, four.bytes);
    four.bytes[1] |= (uint8_t)(site->number >> 16);
    four.bytes[2] = (uint8_t)(site->number >> 8);
    four.bytes[3] = (uint8_t)site->number;
    (void)inet_pton(AF_INET6, PLANT_NETWORK_6, six.bytes);
    memcpy(six.bytes + 12, four.bytes, 4);
    *ret_address = family == AF_INET ? four : six;
}

struct site *sites_find_address(struct sites *sites, const struct address *address)
{
    const uint8_t *four = address->bytes + (address->family == AF_INET ? 0 : 12);
    uint32_t number = (uint32_t)(four[1] & 1) << 16 | (uint32_t)four[2] << 8 | four[3];
    struct site *site = find_number(sites, number);
    struct address own;
    if (!site)
        return NULL;
    site_address(site, address->family, &own);
    return memcmp(&own, address, sizeof(own)) ? NULL : site;
}

/* ---- doors ---- */

size_t site_ports(const struct order *order, const char *name, uint16_t *ret_ports, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < order->rule_count; i++) {
        const struct egress_rule *rule = &order->rules[i];
        for (size_t p = 0; p < rule->port_count && egress_rule_names(rule, name); p++) {
            bool is_known = false;
            for (size_t k = 0; k < count; k++)
                is_known |= ret_ports[k] == rule->ports[p];
            if (!is_known && count < max)
                ret_ports[count++] = rule->ports[p];
        }
    }
    return count;
}

bool site_has_door(const struct site *site, uint16_t family, uint16_t port)
{
    for (const struct door *door = site->doors; door; door = door->next)
        if (door->family == family && door->port == port)
            return true;
    return false;
}

static void rest_is_over(struct timer *timer)
{
    struct door *door = LOOP_OWNER(timer, struct door, rest);
    (void)loop_watch(&door->site->gateway->loop, &door->watch, EPOLLIN);
}

static void door_release(struct deferred *deferred)
{
    free(LOOP_OWNER(deferred, struct door, release));
}

/* What a listener accepts is as the listener. The way inside is memory: there is nothing to be
 * congested, and a host whose connections are paced would pace this one too. */
static void tune(int fd)
{
    const int yes = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

int site_open_door(struct site *site, uint16_t family, uint16_t port, int fd)
{
    struct sites *sites = &site->gateway->sites;
    struct door *door = sites->door_count < SITES_MAX_DOORS ? calloc(1, sizeof(*door)) : NULL;
    if (!door) {
        hutch_fd_close(&fd);
        return -1;
    }
    *door = (struct door){.watch = {.fd = fd, .on_event = door_on_event, .is_door = true},
                          .site = site,
                          .family = family,
                          .port = port,
                          .rest.on_due = rest_is_over,
                          .release.release = door_release};
    tune(fd);
    if (loop_watch(&site->gateway->loop, &door->watch, EPOLLIN) < 0) {
        hutch_fd_close(&fd);
        free(door);
        return -1;
    }
    door->next = site->doors;
    site->doors = door;
    sites->door_count++;
    site->has_six |= family == AF_INET6;
    return 0;
}

void site_close_doors(struct site *site, const struct order *order)
{
    struct gateway *gateway = site->gateway;
    for (struct door **place = &site->doors; *place;) {
        struct door *door = *place;
        if (order_allows(order, site->name, door->port)) {
            place = &door->next;
            continue;
        }
        *place = door->next;
        loop_close(&door->watch);
        loop_timer_unset(&gateway->loop, &door->rest);
        loop_release(&gateway->loop, &door->release);
        gateway->sites.door_count--;
    }
}

/* ---- room ---- */

static bool can_go(const struct site *site, const struct order *order, uint64_t now_us)
{
    return !site->connections && !site->is_wanted && !site->resolution.waiters &&
           (!order_names(order, site->name) || site->asked_us + FORGET_US < now_us);
}

static void site_clear(struct site *site)
{
    site_close_doors(site, NULL);
    resolver_drop(&site->gateway->resolver, &site->resolution);
    memset(site, 0, sizeof(*site));
}

/* Exact names are the order's own and stay as long as it has them. */
static bool is_exact(const struct order *order, const char *name)
{
    for (size_t i = 0; order && i < order->rule_count; i++)
        if (!order->rules[i].is_wildcard && !strcmp(order->rules[i].name, name))
            return true;
    return false;
}

static struct site *find_room(struct gateway *gateway)
{
    struct sites *sites = &gateway->sites;
    struct site *oldest = NULL;
    if (sites->count < SITES_MAX)
        return &sites->rows[sites->count++];
    for (size_t i = 0; i < SITES_MAX; i++) {
        struct site *site = &sites->rows[i];
        if (!site->is_used)
            return site;
        if (can_go(site, gateway->order, gateway->loop.now_us) &&
            !is_exact(gateway->order, site->name) && (!oldest || site->asked_us < oldest->asked_us))
            oldest = site;
    }
    if (oldest)
        site_clear(oldest);
    return oldest;
}

struct site *sites_add(struct gateway *gateway, const char *name)
{
    struct site *site = find_room(gateway);
    if (!site)
        return NULL;
    uint32_t number = FIRST_NUMBER + hash_of(name) % NUMBERS;
    while (find_number(&gateway->sites, number))
        number = number + 1 < FIRST_NUMBER + NUMBERS ? number + 1 : FIRST_NUMBER;
    site->gateway = gateway;
    site->is_used = true;
    site->hash = hash_of(name);
    site->number = number;
    site->asked_us = gateway->loop.now_us;
    (void)strncpy(site->name, name, sizeof(site->name) - 1);
    site->resolution.name = site->name;
    return site;
}
