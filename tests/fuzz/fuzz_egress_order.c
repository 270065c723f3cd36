/* SPDX-License-Identifier: Apache-2.0 */
/* Of an order that is taken everything is inside of it, and every rule is one. */
#include "fuzz.h"

#include "egress/order.h"

static void check_text(const struct order *order, uint32_t offset)
{
    REQUIRE(offset < order->size && memchr(order->blob + offset, '\0', order->size - offset),
            "%u of %zu", offset, order->size);
}

static void check_order(const struct order *order)
{
    REQUIRE(order->rule_count <= EGRESS_MAX_RULES, "%zu", order->rule_count);
    for (size_t i = 0; i < order->rule_count; i++) {
        const struct egress_rule *rule = &order->rules[i];
        if (!rule->is_wildcard)
            REQUIRE(order_allows(order, rule->name, rule->ports[0]), "'%s'", rule->name);
    }
    for (size_t i = 0; i < order->opened_count; i++)
        REQUIRE(order->opened[i].prefix_bits <= 128, "%u", order->opened[i].prefix_bits);
    for (size_t i = 0; i < order->secret_count; i++) {
        const struct egress_secret *secret = &order->secrets[i];
        check_text(order, secret->name);
        check_text(order, secret->header);
        REQUIRE(!secret->value_length || (secret->value < order->size &&
                                          secret->value_length <= order->size - secret->value),
                "%u", secret->value);
    }
    REQUIRE(order->proxy.kind == PROXY_NONE || order->proxy.port, "a proxy without a port");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct order *order = NULL;
    char *blob = malloc(size ? size : 1);
    REQUIRE(blob, "out of memory");
    if (size)
        memcpy(blob, data, size);
    if (size >= sizeof(uint32_t)) { /* so that the rest is looked at */
        uint32_t whole = (uint32_t)size;
        memcpy(blob, &whole, sizeof(whole));
    }
    if (order_parse(blob, size, &order, &err) == 0)
        check_order(order);
    else
        REQUIRE(err.code && *err.msg, "a failure without a word");
    order_free(order);
    return 0;
}
