/* SPDX-License-Identifier: Apache-2.0 */
/* What all living sandboxes of a tenant may have together. A total is never clamped: what is left
 * of it would be somebody else's accident. */
#include <string.h>

#include "core/policy.h"
#include "core/quantity.h"
#include "util/own.h"

static const enum hutch_quantity quantities[] = {
#define X(id, name, quantity) HUTCH_QUANTITY_##quantity,
    POLICY_TOTALS(X)
#undef X
};

bool policy_has_totals(const struct policy_view *view)
{
    for (size_t i = 0; i < view->count; i++)
        for (size_t total = 0; total < POLICY_TOTAL_COUNT; total++) {
            const struct policy_limit *limit =
                policy_total(&view->layers[i], (enum policy_total)total);
            if (limit->line && !limit->is_none)
                return true;
        }
    return false;
}

void policy_add_up(uint64_t used[POLICY_TOTAL_COUNT], const struct hutch_spec *spec)
{
    const uint64_t more[POLICY_TOTAL_COUNT] = {
        [POLICY_TOTAL_SANDBOXES] = 1,
        [POLICY_TOTAL_MEMORY] = spec->limits.memory_bytes,
        [POLICY_TOTAL_CPUS] = spec->limits.cpus_milli,
        [POLICY_TOTAL_PIDS] = spec->limits.pids,
        [POLICY_TOTAL_DISK] = hutch_spec_disk_bytes(spec),
    };
    for (size_t i = 0; i < POLICY_TOTAL_COUNT; i++)
        if (__builtin_add_overflow(used[i], more[i], &used[i]))
            used[i] = UINT64_MAX;
}

int policy_check_totals(const struct policy_view *view, const uint64_t used[POLICY_TOTAL_COUNT],
                        const struct hutch_spec *spec, struct hutch_error *err)
{
    uint64_t all[POLICY_TOTAL_COUNT];
    memcpy(all, used, sizeof(all));
    policy_add_up(all, spec);
    for (size_t i = 0; i < view->count; i++)
        for (size_t total = 0; total < POLICY_TOTAL_COUNT; total++) {
            const struct policy_limit *limit =
                policy_total(&view->layers[i], (enum policy_total)total);
            const char *name = policy_total_name((enum policy_total)total);
            char rule[32] = "totals.", have[HUTCH_QUANTITY_TEXT_SIZE],
                 most[HUTCH_QUANTITY_TEXT_SIZE], wanted[HUTCH_QUANTITY_TEXT_SIZE];
            if (!limit->line || limit->is_none || all[total] <= limit->value)
                continue;
            hutch_quantity_format(quantities[total], used[total], have);
            hutch_quantity_format(quantities[total], all[total] - used[total], wanted);
            hutch_quantity_format(quantities[total], limit->value, most);
            (void)strncat(rule, name, sizeof(rule) - strlen(rule) - 1);
            return policy_refuse(&view->layers[i], limit->line, rule, err,
                                 "%s of all living sandboxes together would be %s and %s, which is "
                                 "more than %s",
                                 name, have, wanted, most);
        }
    return 0;
}
