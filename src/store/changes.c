/* SPDX-License-Identifier: Apache-2.0 */
#include "store/changes.h"

#include <stdlib.h>
#include <string.h>

#include "store/compare.h"
#include "store/walk.h"
#include "util/own.h"

struct reporting {
    hutch_change_fn report;
    void *context;
    struct store_comparison how;
    const char **skeleton; /* sorted */
    size_t skeleton_count;
};

const char *hutch_change_kind_name(enum hutch_change_kind kind)
{
    static const char *const names[HUTCH_CHANGE_KIND_COUNT] = {
        [HUTCH_CHANGE_NONE] = "none",         [HUTCH_CHANGE_ADDED] = "added",
        [HUTCH_CHANGE_MODIFIED] = "modified", [HUTCH_CHANGE_DELETED] = "deleted",
        [HUTCH_CHANGE_TYPE] = "type",         [HUTCH_CHANGE_METADATA] = "metadata",
    };
    size_t index = (size_t)kind;
    return index < HUTCH_CHANGE_KIND_COUNT ? names[index] : names[HUTCH_CHANGE_NONE];
}

static int report_pair(void *context, struct store_pair *pair, struct hutch_error *err)
{
    const struct reporting *reporting = context;
    int kind = store_compare(pair, &reporting->how, err);
    if (kind <= HUTCH_CHANGE_NONE)
        return kind;
    struct hutch_change change = {
        .kind = (enum hutch_change_kind)kind,
        .path = pair->path,
        .old_mode = pair->in_lower ? pair->lower.st_mode : 0,
        .mode = pair->in_upper ? pair->upper.st_mode : 0,
        .size = pair->in_upper ? (uint64_t)pair->upper.st_size : 0,
    };
    int status = reporting->report(reporting->context, &change, err);
    return status < 0 ? status : 0;
}

int hutch_changes(int upper, int lower, const struct hutch_changes_options *options,
                  hutch_change_fn report, void *context, struct hutch_error *err)
{
    struct reporting reporting = {
        .report = report,
        .context = context,
        .how = {.mode_mask = 07777, .ignore_owner = options && options->ignore_owner},
    };
    struct store_visitor visitor = {.enter = report_pair, .context = &reporting};
    if (lower < 0)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "changes need a directory to compare with");
    return store_walk(upper, lower, &visitor, err);
}

static int compare_paths(const void *one, const void *other)
{
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static int report_unless_in_skeleton(void *context, struct store_pair *pair,
                                     struct hutch_error *err)
{
    const struct reporting *reporting = context;
    if (bsearch(&pair->path, reporting->skeleton, reporting->skeleton_count,
                sizeof(*reporting->skeleton), compare_paths))
        return 0;
    return report_pair(context, pair, err);
}

int hutch_changes_in_layer(int layer, const char *const *skeleton, size_t skeleton_count,
                           hutch_change_fn report, void *context, struct hutch_error *err)
{
    hutch_autofree const char **sorted = calloc(skeleton_count + 1, sizeof(*sorted));
    if (!sorted)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < skeleton_count; i++)
        sorted[i] = skeleton[i];
    qsort(sorted, skeleton_count, sizeof(*sorted), compare_paths);
    struct reporting reporting = {
        .report = report,
        .context = context,
        .how = {.mode_mask = 07777},
        .skeleton = sorted,
        .skeleton_count = skeleton_count,
    };
    struct store_visitor visitor = {.enter = report_unless_in_skeleton, .context = &reporting};
    return store_walk(layer, -1, &visitor, err);
}
