/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "backend/native/blob.h"
#include "backend/native/keeper.h"
#include "core/cidr.h"
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
    hutch_buf_append(blob, &order, sizeof(order));
    order.opened = add_ranges(blob, &spec->egress_policy.opened);
    order.proxy = blob_text(blob, spec->egress_policy.proxy);
    order.rules = add_texts(blob, &spec->egress);
    order.size = (uint32_t)blob->length;
    if (blob->failed)
        return hutch_fail_nomem(err);
    memcpy(blob->data, &order, sizeof(order));
    return 0;
}
