/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that hold for somebody, one after the other. Of two ceilings the lower one is told, of
 * two defaults the caller's; lists are told of each file, for both hold. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/field.h"
#include "core/policy_read.h"
#include "libhutch/policy_set.h"
#include "libhutch/scratch.h"
#include "util/own.h"

struct listing {
    struct policy_view view;
    hutch_policy_rule_fn on_rule;
    void *userdata;
};

static int tell(const struct listing *listing, const struct policy_layer *layer, unsigned line,
                const char *name, const char *value)
{
    char from[PATH_MAX + 16] = "hutch";
    if (layer)
        (void)snprintf(from, sizeof(from), "%s:%u", layer->file->path, line);
    struct hutch_policy_rule rule = {name, value, from};
    return listing->on_rule(listing->userdata, &rule);
}

static int tell_limit(const struct listing *listing, const struct policy_layer *layer,
                      const struct policy_limit *limit, enum hutch_quantity quantity,
                      const char *name)
{
    char value[HUTCH_QUANTITY_TEXT_SIZE] = "none";
    if (!limit->is_none)
        hutch_quantity_format(quantity, limit->value, value);
    return tell(listing, layer, limit->line, name, value);
}

static int show_default(const struct listing *listing, size_t field)
{
    size_t count = 0;
    char name[HUTCH_FIELD_PATH_BYTES + 16];
    const char *built_in = hutch_fields(&count)[field].default_text;
    (void)snprintf(name, sizeof(name), "defaults.%s", hutch_field_row(field)->name);
    for (size_t i = listing->view.count; i-- > 0;) {
        const struct policy_layer *layer = &listing->view.layers[i];
        const struct policy_limit *limit = policy_default(layer, field);
        if (limit->line)
            return tell_limit(listing, layer, limit,
                              hutch_field_types[hutch_field_row(field)->type].quantity, name);
    }
    return tell(listing, NULL, 0, name, built_in ? built_in : "none");
}

/* Of all layers the one that leaves least. */
static int show_least(const struct listing *listing,
                      const struct policy_limit *(*get)(const struct policy_layer *, size_t),
                      size_t index, enum hutch_quantity quantity, const char *name)
{
    const struct policy_layer *from = NULL;
    for (size_t i = 0; i < listing->view.count; i++) {
        const struct policy_limit *limit = get(&listing->view.layers[i], index);
        if (!limit->line)
            continue;
        const struct policy_limit *least = from ? get(from, index) : NULL;
        if (!least || (!limit->is_none && (least->is_none || limit->value < least->value)))
            from = &listing->view.layers[i];
    }
    return from ? tell_limit(listing, from, get(from, index), quantity, name) : 0;
}

static const struct policy_limit *total_at(const struct policy_layer *layer, size_t total)
{
    return policy_total(layer, (enum policy_total)total);
}

static int show_limits(const struct listing *listing)
{
    int status = 0;
    for (size_t field = 0; field < hutch_field_count() && status == 0; field++) {
        char name[HUTCH_FIELD_PATH_BYTES + 16];
        if (!policy_field_is_limit(field))
            continue;
        (void)snprintf(name, sizeof(name), "ceilings.%s", hutch_field_row(field)->name);
        status = show_default(listing, field);
        if (status == 0)
            status = show_least(listing, policy_ceiling, field,
                                hutch_field_types[hutch_field_row(field)->type].quantity, name);
    }
    return status;
}

static int show_totals(const struct listing *listing)
{
    static const enum hutch_quantity quantities[] = {
#define X(id, name, quantity) HUTCH_QUANTITY_##quantity,
        POLICY_TOTALS(X)
#undef X
    };
    int status = 0;
    for (size_t total = 0; total < POLICY_TOTAL_COUNT && status == 0; total++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "totals.%s",
                       policy_total_name((enum policy_total)total));
        status = show_least(listing, total_at, total, quantities[total], name);
    }
    return status;
}

static int show_entry(const struct listing *listing, const struct policy_layer *layer,
                      const char *name, const struct policy_entry *entry)
{
    char value[PATH_MAX], deliveries[POLICY_DELIVERY_BYTES];
    if (!entry->deliveries)
        return tell(listing, layer, entry->line, name, entry->text);
    policy_delivery_names(entry->deliveries, deliveries);
    (void)snprintf(value, sizeof(value), "%s (%s)", entry->text, deliveries);
    return tell(listing, layer, entry->line, name, value);
}

static int show_lists(const struct listing *listing, const struct policy_layer *layer)
{
    int status = 0;
    for (size_t kind = 0; kind < POLICY_LIST_KINDS && status == 0; kind++) {
        const char *name = policy_list_name((enum policy_list_kind)kind);
        const struct policy_list *list = policy_list(layer, (enum policy_list_kind)kind);
        if (list && !list->count)
            status = tell(listing, layer, list->line, name, "nothing");
        for (size_t i = 0; list && i < list->count && status == 0; i++)
            status = show_entry(listing, layer, name, &list->items[i]);
    }
    return status;
}

static int show_texts(const struct listing *listing, const struct policy_layer *layer)
{
    static const struct {
        const char *name;
        size_t offset;
    } texts[] = {
        {"on_exceed", offsetof(struct policy_rules, on_exceed)},
        {"read_only", offsetof(struct policy_rules, read_only)},
        {"egress.proxy", offsetof(struct policy_rules, proxy)},
        {"egress.proxy_secret", offsetof(struct policy_rules, proxy_secret)},
        {"audit", offsetof(struct policy_rules, audit)},
        {"audit.argv", offsetof(struct policy_rules, audit_argv)},
    };
    int status = 0;
    for (size_t i = 0; i < HUTCH_COUNT(texts) && status == 0; i++) {
        const struct policy_text *text = policy_text(layer, texts[i].offset);
        if (text)
            status = tell(listing, layer, text->line, texts[i].name, text->text);
    }
    return status;
}

static const struct policy_limit *retention_at(const struct policy_layer *layer, size_t unused)
{
    (void)unused;
    return policy_retention(layer);
}

static int show(const struct listing *listing)
{
    int status = show_limits(listing);
    if (status == 0)
        status = show_totals(listing);
    for (size_t i = 0; i < listing->view.count && status == 0; i++) {
        status = show_lists(listing, &listing->view.layers[i]);
        if (status == 0)
            status = show_texts(listing, &listing->view.layers[i]);
    }
    return status
               ? status
               : show_least(listing, retention_at, 0, HUTCH_QUANTITY_DURATION, "audit.retention");
}

int hutch_policy_show(struct hutch_policy *policy, const char *tenant, hutch_policy_rule_fn on_rule,
                      void *userdata, struct hutch_error *err)
{
    const struct policy_subject subject = {.tenant = tenant, .uid = getuid()};
    static struct policy_file *const none[POLICY_FILES] = {NULL};
    struct listing listing = {.on_rule = on_rule, .userdata = userdata};
    OR_SCRATCH(err);
    struct policy_set *set = policy_now(policy);
    int status = policy_view_init(&listing.view, set ? set->files : none, &subject, err);
    if (status == 0)
        status = show(&listing);
    policy_set_release(set);
    return status;
}
