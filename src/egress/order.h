/* SPDX-License-Identifier: Apache-2.0 */
/* An order, read and checked: everything that the gateway is told. */
#ifndef HUTCH_EGRESS_ORDER_H
#define HUTCH_EGRESS_ORDER_H

#include "egress/address.h"
#include "egress/link.h"
#include "util/error.h"

#define ORDER_MAX_BYTES (4U << 20)

enum proxy_kind { PROXY_NONE, PROXY_SOCKS5, PROXY_HTTP };

struct proxy {
    enum proxy_kind kind;
    char host[EGRESS_NAME_BYTES]; /* a canonical name, or empty: then it is the address */
    struct address address;
    uint16_t port;
    const char *login; /* "user:password" or NULL */
};

struct order {
    char *blob; /* owned; cleared at the end, for there are secrets in it */
    size_t size;
    const struct egress_order *head;
    struct egress_rule *rules;
    size_t rule_count;
    const struct egress_range *opened;
    size_t opened_count;
    const struct egress_secret *secrets; /* every offset in them is good */
    size_t secret_count;
    struct proxy proxy;
};

/* Takes the blob, which is as malloc gave it, also on failure. */
int order_parse(char *blob, size_t size, struct order **ret_order, struct hutch_error *err);
void order_free(struct order *order);

/* A text or array that order_parse() has checked. */
static inline const char *order_text(const struct order *order, uint32_t offset)
{
    return order->blob + offset;
}

/* No order: nothing is allowed. */
bool order_names(const struct order *order, const char *name);
bool order_allows(const struct order *order, const char *name, uint16_t port);

#endif
