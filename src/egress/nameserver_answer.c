/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "egress/gateway.h"

/* Shorter than what makes a site go (sites.c), long enough that nobody asks all the time. */
#define TTL_S 60

static struct dns_pending *find_pending(struct nameserver *server)
{
    for (size_t i = 0; i < NAMESERVER_PENDING; i++)
        if (!server->pending[i].is_used)
            return &server->pending[i];
    return NULL;
}

/* A name below a wildcard gets its address and its sockets when it is first asked for. */
static struct site *find_site(struct gateway *gateway, const char *name)
{
    struct site *site = sites_find(&gateway->sites, name);
    uint16_t ports[SITE_MAX_DOORS / 2];
    if (!site) {
        size_t needed = 2 * site_ports(gateway->order, name, ports, HUTCH_COUNT(ports));
        if (gateway->sites.door_count + needed > SITES_MAX_DOORS)
            return NULL;
        site = sites_add(gateway, name);
        if (!site)
            return NULL;
        site->is_wanted = true;
    }
    site->asked_us = gateway->loop.now_us;
    return site;
}

static size_t answer_site(struct gateway *gateway, const struct dns_client *client,
                          const uint8_t *message, size_t length,
                          const struct dns_question *question, uint8_t *reply)
{
    struct nameserver *server = &gateway->nameserver;
    struct site *site = find_site(gateway, question->name);
    struct address address;
    if (!site)
        return dns_reply(message, question, DNS_FAILURE, NULL, 0, reply);
    if (site->is_wanted) {
        struct dns_pending *pending = find_pending(server);
        if (!pending)
            return dns_reply(message, question, DNS_FAILURE, NULL, 0, reply);
        *pending = (struct dns_pending){.is_used = true, .client = *client, .length = length};
        memcpy(pending->message, message, length);
        server->pending_count++;
        planter_go(gateway);
        return 0;
    }
    if (!site->doors)
        return dns_reply(message, question, DNS_FAILURE, NULL, 0, reply);
    if (question->type == DNS_A || question->type == DNS_ANY)
        site_address(site, AF_INET, &address);
    else if (question->type == DNS_AAAA && site->has_six)
        site_address(site, AF_INET6, &address);
    else
        return dns_reply(message, question, DNS_OK, NULL, 0, reply);
    return dns_reply(message, question, DNS_OK, &address, TTL_S, reply);
}

size_t nameserver_answer(struct gateway *gateway, const struct dns_client *client,
                         const uint8_t *message, size_t length, uint8_t ret_reply[DNS_MAX_REPLY])
{
    struct dns_question question;
    struct address address;
    int code = dns_question_parse(message, length, &question);
    if (code < 0)
        return 0;
    if (code != DNS_OK)
        return dns_reply(message, &question, (enum dns_code)code, NULL, 0, ret_reply);
    if (question.has_name && order_names(gateway->order, question.name))
        return answer_site(gateway, client, message, length, &question, ret_reply);
    if (question.has_name && dns_reverse_address(question.name, &address)) {
        const struct site *site = sites_find_address(&gateway->sites, &address);
        if (site && question.type == DNS_PTR && order_names(gateway->order, site->name))
            return dns_reply_name(message, &question, site->name, TTL_S, ret_reply);
    }
    figures_deny(gateway->table, question.name, 0, EGRESS_WHY_NAME);
    return dns_reply(message, &question, DNS_NO_NAME, NULL, 0, ret_reply);
}
