/* SPDX-License-Identifier: Apache-2.0 */
/* The quantities of a policy: limits of the spec's own table, and totals. */
#include <stdio.h>
#include <string.h>

#include "core/policy_read.h"
#include "core/suggest.h"

int policy_fail_kind(struct hutch_node node, const char *wanted, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_INVALID, 0, "%s stands where %s must be",
                      hutch_value_kind(node.value), wanted);
}

int policy_fail_dotted(const char *path, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_INVALID, 0, "'%s' is one key, write '%s' as a key inside '%.*s'",
                      path, strchr(path, '.') + 1, (int)strcspn(path, "."), path);
}

int policy_read_limit(struct hutch_node node, const struct hutch_range *range,
                      struct policy_limit *ret_limit, struct hutch_error *err)
{
    const char *text = hutch_value_text(node.value);
    struct policy_limit limit = {.line = node.value->line};
    limit.is_none = text && !strcmp(text, "none");
    int r = limit.is_none ? 0 : hutch_read_quantity(node, range, &limit.value, err);
    if (r >= 0)
        *ret_limit = limit;
    return r;
}

int policy_read_totals(struct policy_limit totals[POLICY_TOTAL_COUNT], struct hutch_node node,
                       struct hutch_error *err)
{
    static const enum hutch_quantity quantities[] = {
#define X(id, name, quantity) HUTCH_QUANTITY_##quantity,
        POLICY_TOTALS(X)
#undef X
    };
    if (node.value->type != HUTCH_VALUE_OBJECT)
        return policy_fail_kind(node, "an object such as {\"sandboxes\": 10}", err);
    for (size_t i = 0; i < node.value->list.count; i++) {
        struct hutch_node item = hutch_node_item(node, i);
        size_t total = 0;
        while (total < POLICY_TOTAL_COUNT &&
               strcmp(policy_total_name((enum policy_total)total), item.value->key) != 0)
            total++;
        if (total == POLICY_TOTAL_COUNT)
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "unknown total '%.60s', they are sandboxes, memory, cpus, pids and "
                              "disk",
                              item.value->key);
        struct hutch_range range = {quantities[total], 0, UINT64_MAX / 2, false};
        if (policy_read_limit(item, &range, &totals[total], err) < 0)
            return hutch_wrap(err, "%s: ", item.value->key);
    }
    return 0;
}

bool policy_field_is_limit(size_t field)
{
    enum hutch_type type = hutch_field_row(field)->type;
    return type >= HUTCH_TYPE_SIZE && type <= HUTCH_TYPE_COUNT;
}

static int fail_no_limit(const char *path, struct hutch_error *err)
{
    struct hutch_suggestion suggestion = HUTCH_SUGGESTION(path);
    int field = hutch_field_find(path);
    if (strchr(path, '.') && field >= 0 && policy_field_is_limit((size_t)field))
        return policy_fail_dotted(path, err);
    for (size_t i = 0; i < hutch_field_count(); i++)
        if (policy_field_is_limit(i))
            hutch_suggestion_offer(&suggestion, hutch_field_row(i)->name, hutch_field_row(i)->name);
    return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.80s' is not a limit%s%s%s", path,
                      suggestion.nearest ? ", did you mean '" : "",
                      suggestion.nearest ? suggestion.nearest : "", suggestion.nearest ? "'?" : "");
}

static int read_limit_group(struct policy_limit *limits, const char *group, struct hutch_node node,
                            struct hutch_error *err)
{
    if (node.value->type != HUTCH_VALUE_OBJECT)
        return policy_fail_kind(node, "an object such as {\"limits\": {\"memory\": \"1g\"}}", err);
    for (size_t i = 0; i < node.value->list.count; i++) {
        struct hutch_node item = hutch_node_item(node, i);
        char path[HUTCH_FIELD_PATH_BYTES];
        (void)snprintf(path, sizeof(path), "%s%s%s", group, *group ? "." : "", item.value->key);
        int field = hutch_field_find(path);
        bool is_group = !*group && field < 0 && hutch_field_is_group(path);
        if (!is_group &&
            (field < 0 || !policy_field_is_limit((size_t)field) || strchr(item.value->key, '.')))
            return fail_no_limit(path, err);
        int r;
        if (is_group) {
            r = read_limit_group(limits, path, item, err);
        } else {
            const struct hutch_field_row *row = hutch_field_row((size_t)field);
            const struct hutch_range range = {hutch_field_types[row->type].quantity, row->min,
                                              row->max, false};
            r = policy_read_limit(item, &range, &limits[field], err);
            r = r < 0 ? hutch_wrap(err, "%s: ", path) : 0;
        }
        if (r < 0)
            return r;
    }
    return 0;
}

int policy_read_limits(struct policy_limit limits[POLICY_FIELDS], bool are_defaults,
                       struct hutch_node node, struct hutch_error *err)
{
    int r = read_limit_group(limits, "", node, err);
    for (size_t i = 0; r >= 0 && are_defaults && i < hutch_field_count(); i++)
        if (limits[i].is_none && !hutch_field_types[hutch_field_row(i)->type].may_be_none)
            return hutch_fail(err, HUTCH_E_INVALID, 0, "%s cannot be 'none', write a limit",
                              hutch_field_row(i)->name);
    return r;
}
