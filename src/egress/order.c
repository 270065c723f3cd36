/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/order.h"

#include <stdlib.h>
#include <string.h>

#include "util/own.h"

static int fail_blob(struct hutch_error *err, const char *what)
{
    return hutch_fail(err, HUTCH_E_INVALID, 0, "the order to the gateway has %s outside of it",
                      what);
}

/* Texts in a row, each with its NUL. Returns the end of the last, or 0. */
static size_t texts_end(const struct order *order, uint32_t offset, uint32_t count)
{
    size_t at = offset;
    if (offset < sizeof(struct egress_order))
        return 0;
    for (; count; count--) {
        const char *end =
            at < order->size ? memchr(order->blob + at, '\0', order->size - at) : NULL;
        if (!end)
            return 0;
        at = (size_t)(end - order->blob) + 1;
    }
    return at;
}

static bool array_is_inside(const struct order *order, uint32_t offset, uint32_t count, size_t size,
                            size_t alignment)
{
    return !count || (offset >= sizeof(struct egress_order) && offset % alignment == 0 &&
                      offset <= order->size && count <= (order->size - offset) / size);
}

static int parse_rules(struct order *order, struct hutch_error *err)
{
    const struct egress_order *head = order->head;
    if (!head->rule_count)
        return 0;
    if (head->rule_count > EGRESS_MAX_RULES)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "%u hosts are too many, the most is %d",
                          head->rule_count, EGRESS_MAX_RULES);
    if (!texts_end(order, head->rules, head->rule_count))
        return fail_blob(err, "rules");
    order->rules = calloc(head->rule_count, sizeof(*order->rules));
    if (!order->rules)
        return hutch_fail_nomem(err);
    const char *text = order->blob + head->rules;
    for (; order->rule_count < head->rule_count; order->rule_count++) {
        if (egress_rule_parse(text, &order->rules[order->rule_count], err) < 0)
            return -(int)err->code;
        text += strlen(text) + 1;
    }
    return 0;
}

static int parse_opened(struct order *order, struct hutch_error *err)
{
    const struct egress_order *head = order->head;
    if (!array_is_inside(order, head->opened, head->opened_count, sizeof(struct egress_range),
                         _Alignof(struct egress_range)))
        return fail_blob(err, "ranges");
    order->opened = (const void *)(order->blob + head->opened);
    order->opened_count = head->opened_count;
    for (size_t i = 0; i < order->opened_count; i++) {
        const struct egress_range *range = &order->opened[i];
        if (!(range->family == AF_INET && range->prefix_bits <= 32) &&
            !(range->family == AF_INET6 && range->prefix_bits <= 128))
            return hutch_fail(err, HUTCH_E_INVALID, 0, "range %zu of the order is none", i + 1);
    }
    return 0;
}

static int parse_secrets(struct order *order, struct hutch_error *err)
{
    const struct egress_order *head = order->head;
    if (!array_is_inside(order, head->secrets, head->secret_count, sizeof(struct egress_secret),
                         _Alignof(struct egress_secret)))
        return fail_blob(err, "secrets");
    order->secrets = (const void *)(order->blob + head->secrets);
    order->secret_count = head->secret_count;
    for (size_t i = 0; i < order->secret_count; i++) {
        const struct egress_secret *secret = &order->secrets[i];
        if (!texts_end(order, secret->name, 1) || !texts_end(order, secret->header, 1) ||
            !texts_end(order, secret->hosts, secret->host_count) ||
            !array_is_inside(order, secret->value, secret->value_length, 1, 1))
            return fail_blob(err, "a secret");
        const char *host = order_text(order, secret->hosts);
        for (uint32_t n = 0; n < secret->host_count; n++, host += strlen(host) + 1) {
            struct egress_rule rule;
            if (egress_rule_parse(host, &rule, err) < 0)
                return hutch_wrap(err, "secret '%.100s': ", order_text(order, secret->name));
        }
    }
    return 0;
}

static bool head_has_bad_seed(const struct order *order)
{
    return order->head->authority &&
           !array_is_inside(order, order->head->authority, EGRESS_SEED_BYTES, 1, 1);
}

/* ---- the proxy ---- */

static const struct {
    const char *prefix;
    enum proxy_kind kind;
} proxy_kinds[] = {{"socks5://", PROXY_SOCKS5}, {"http://", PROXY_HTTP}};

/* "host:port", "1.2.3.4:port" or "[2001:db8::1]:port". */
static bool parse_proxy_host(const char *text, struct proxy *proxy)
{
    char host[EGRESS_NAME_BYTES], *end;
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    if (!length || length >= sizeof(host) || colon[1] < '1' || colon[1] > '9')
        return false;
    unsigned long port = strtoul(colon + 1, &end, 10);
    if ((*end && strcmp(end, "/") != 0) || port > UINT16_MAX)
        return false;
    proxy->port = (uint16_t)port;
    bool is_bracketed = text[0] == '[' && text[length - 1] == ']';
    memcpy(host, text + is_bracketed, length - 2 * (size_t)is_bracketed);
    host[length - 2 * (size_t)is_bracketed] = '\0';
    return address_parse(host, &proxy->address) || egress_name(text, length, proxy->host);
}

static int parse_proxy(struct order *order, struct hutch_error *err)
{
    const struct egress_order *head = order->head;
    if ((head->proxy && !texts_end(order, head->proxy, 1)) ||
        (head->proxy_login && !texts_end(order, head->proxy_login, 1)))
        return fail_blob(err, "a proxy");
    if (!head->proxy)
        return 0;
    const char *url = order_text(order, head->proxy);
    order->proxy.login = head->proxy_login ? order_text(order, head->proxy_login) : NULL;
    for (size_t i = 0; i < HUTCH_COUNT(proxy_kinds); i++) {
        size_t length = strlen(proxy_kinds[i].prefix);
        if (strncmp(url, proxy_kinds[i].prefix, length) != 0)
            continue;
        order->proxy.kind = proxy_kinds[i].kind;
        if (parse_proxy_host(url + length, &order->proxy))
            return 0;
    }
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "the proxy '%.200s' is none: write it like 'socks5://host:1080' or "
                      "'http://host:3128'",
                      url);
}

/* ---- the whole ---- */

void order_free(struct order *order)
{
    if (!order)
        return;
    if (order->blob)
        explicit_bzero(order->blob, order->size);
    free(order->blob);
    free(order->rules);
    free(order);
}

int order_parse(char *blob, size_t size, struct order **ret_order, struct hutch_error *err)
{
    struct order *order = calloc(1, sizeof(*order));
    if (!order) {
        explicit_bzero(blob, size);
        free(blob);
        return hutch_fail_nomem(err);
    }
    order->blob = blob;
    order->size = size;
    order->head = (const void *)blob;
    int r =
        size < sizeof(*order->head) || order->head->size != size ? fail_blob(err, "its end") : 0;
    if (r == 0)
        r = parse_rules(order, err);
    if (r == 0)
        r = parse_opened(order, err);
    if (r == 0)
        r = parse_secrets(order, err);
    if (r == 0 && head_has_bad_seed(order))
        r = fail_blob(err, "an authority");
    if (r == 0)
        r = parse_proxy(order, err);
    if (r < 0)
        order_free(order);
    else
        *ret_order = order;
    return r;
}

bool order_names(const struct order *order, const char *name)
{
    for (size_t i = 0; order && i < order->rule_count; i++)
        if (egress_rule_names(&order->rules[i], name))
            return true;
    return false;
}

bool order_allows(const struct order *order, const char *name, uint16_t port)
{
    for (size_t i = 0; order && i < order->rule_count; i++)
        if (egress_rule_allows(&order->rules[i], name, port))
            return true;
    return false;
}
