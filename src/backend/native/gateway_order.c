/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "backend/native/blob.h"
#include "backend/native/keeper.h"
#include "core/cidr.h"
#include "core/secret_spec.h"
#include "egress/link.h"
#include "util/own.h"

/* Texts one after the other. */
static uint32_t add_texts(struct hutch_buf *blob, const struct hutch_strlist *texts)
{
    uint32_t offset = 0;
    for (size_t i = 0; i < texts->count; i++) {
        uint32_t at = (uint32_t)blob->length;
        offset = offset ? offset : at;
        hutch_buf_append(blob, texts->items[i], strlen(texts->items[i]) + 1);
    }
    return offset;
}

/* They were checked when the field was set. */
static uint32_t add_ranges(struct hutch_buf *blob, const struct hutch_strlist *texts)
{
    hutch_autofree struct egress_range *ranges = calloc(texts->count + 1, sizeof(*ranges));
    if (!ranges) {
        blob->failed = true;
        return 0;
    }
    for (size_t i = 0; i < texts->count; i++) {
        struct hutch_cidr cidr = {0};
        (void)hutch_cidr_parse(texts->items[i], &cidr);
        ranges[i].family = (uint16_t)cidr.family;
        ranges[i].prefix_bits = (uint16_t)cidr.prefix_bits;
        memcpy(ranges[i].address, cidr.address, sizeof(ranges[i].address));
    }
    return texts->count ? blob_add(blob, ranges, texts->count * sizeof(*ranges)) : 0;
}

/* What requests get: the header's name, and its value with the secret in it. */
static uint32_t add_value(struct hutch_buf *blob, const struct secret_item *item,
                          uint32_t *ret_length)
{
    const char *header = item->spec->header;
    const char *value = header + strcspn(header, ":") + 1;
    value += strspn(value, " ");
    const char *place = strstr(value, "{}");
    uint32_t offset = (uint32_t)blob->length;
    hutch_buf_append(blob, value, (size_t)(place - value));
    hutch_buf_append(blob, secret_item_bytes(item), secret_item_length(item));
    hutch_buf_append(blob, place + 2, strlen(place + 2));
    *ret_length = (uint32_t)blob->length - offset;
    hutch_buf_append(blob, "", 1);
    return offset;
}

/* Each with the port that is meant. They were checked when the field was set. */
static uint32_t add_hosts(struct hutch_buf *blob, const struct hutch_secret *secret)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    uint32_t offset = (uint32_t)blob->length;
    for (size_t i = 0; i < secret->hosts.count; i++) {
        struct egress_rule rule = {0};
        (void)!hutch_secret_host_parse(secret, secret->hosts.items[i], &rule, &ignored);
        hutch_buf_puts(blob, rule.name);
        for (size_t p = 0; p < rule.port_count; p++)
            hutch_buf_printf(blob, "%c%u", p ? ',' : ':', (unsigned)rule.ports[p]);
        hutch_buf_append(blob, "", 1);
    }
    return offset;
}

static uint32_t add_header_name(struct hutch_buf *blob, const char *header)
{
    uint32_t offset = (uint32_t)blob->length;
    hutch_buf_append(blob, header, strcspn(header, ":"));
    hutch_buf_append(blob, "", 1);
    return offset;
}

static void add_secrets(const struct keeper *keeper, struct egress_order *order,
                        struct hutch_buf *blob)
{
    struct egress_secret secrets[EGRESS_SECRETS];
    for (size_t i = 0; i < keeper->secrets.count; i++) {
        const struct secret_item *item = &keeper->secrets.items[i];
        if (!item->spec->hosts.count || order->secret_count == EGRESS_SECRETS)
            continue;
        struct egress_secret *secret = &secrets[order->secret_count++];
        *secret = (struct egress_secret){.name = blob_text(blob, item->spec->name),
                                         .hosts = add_hosts(blob, item->spec),
                                         .host_count = (uint32_t)item->spec->hosts.count,
                                         .header = add_header_name(blob, item->spec->header),
                                         .intercepts_tls = item->spec->intercepts_tls};
        secret->value = add_value(blob, item, &secret->value_length);
    }
    if (order->secret_count)
        order->secrets = blob_add(blob, secrets, order->secret_count * sizeof(*secrets));
}

/* All that may be a value, so that the blob is never moved once one is in it. */
static size_t room_for_values(const struct keeper *keeper)
{
    size_t room = keeper->proxy_login.length + 65536;
    for (size_t i = 0; i < keeper->secrets.count; i++)
        room += keeper->secrets.items[i].text.length + 2048;
    for (size_t i = 0; i < keeper->spec->egress.count; i++)
        room += strlen(keeper->spec->egress.items[i]) + 1;
    return room;
}

int gateway_order_build(const struct keeper *keeper, struct hutch_buf *blob,
                        struct hutch_error *err)
{
    const struct hutch_spec *spec = keeper->spec;
    struct egress_order order = {
        .rule_count = (uint32_t)spec->egress.count,
        .opened_count = (uint32_t)spec->egress_policy.opened.count,
        .max_connections = spec->egress_limits.connections,
        .max_bytes = spec->egress_limits.bytes,
        .max_rate = spec->egress_limits.rate_bytes,
    };
    if (keeper->secrets.count || keeper->proxy_login.bytes)
        hutch_buf_reserve(blob, room_for_values(keeper));
    hutch_buf_append(blob, &order, sizeof(order));
    order.opened = add_ranges(blob, &spec->egress_policy.opened);
    order.proxy = blob_text(blob, spec->egress_policy.proxy);
    order.proxy_login = blob_text(blob, keeper->proxy_login.bytes);
    order.rules = add_texts(blob, &spec->egress);
    add_secrets(keeper, &order, blob);
    if (keeper->gateway.intercepts)
        order.authority = blob_add(blob, keeper->gateway.seed, sizeof(keeper->gateway.seed));
    order.size = (uint32_t)blob->length;
    if (blob->failed)
        return hutch_fail_nomem(err);
    memcpy(blob->data, &order, sizeof(order));
    return 0;
}
