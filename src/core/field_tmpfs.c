/* SPDX-License-Identifier: Apache-2.0 */
/* Directories in memory: "DST[:SIZE]", or {"target": DST, "size": SIZE}, in which the path may hold
 * any character. */
#include <stdlib.h>
#include <string.h>

#include "core/field_read.h"
#include "util/own.h"

#define DEFAULT_BYTES (UINT64_C(64) << 20)

/* The least is a page: the kernel takes a size of 0 as "no limit", so it must never get there. */
static const struct hutch_range size_range = {HUTCH_QUANTITY_SIZE, 4096, UINT64_C(1) << 50, false};

static int read_size(void *slot, struct hutch_node node, struct hutch_error *err)
{
    return hutch_read_quantity(node, &size_range, slot, err);
}

static const struct hutch_member members[] = {
    {"target", offsetof(struct hutch_tmpfs, target), hutch_read_target, true},
    {"size", offsetof(struct hutch_tmpfs, size_bytes), read_size, false},
};

static void tmpfs_done(struct hutch_tmpfs *tmpfs)
{
    free(tmpfs->target);
    *tmpfs = (struct hutch_tmpfs){0};
}

/* Moves the tmpfs into the list; on failure it stays the caller's. */
static int take(const struct hutch_field_row *row, struct hutch_tmpfs_list *list,
                struct hutch_tmpfs *tmpfs, struct hutch_error *err)
{
    if (list->count >= row->max)
        return hutch_fail_crowded(row, err);
    struct hutch_tmpfs *items = reallocarray(list->items, list->count + 1, sizeof(*items));
    if (!items)
        return hutch_fail_nomem(err);
    list->items = items;
    list->items[list->count++] = *tmpfs;
    *tmpfs = (struct hutch_tmpfs){0};
    return 0;
}

static int parse(const char *text, struct hutch_tmpfs *tmpfs, struct hutch_error *err)
{
    tmpfs->target = strdup(text);
    if (!tmpfs->target)
        return hutch_fail_nomem(err);
    const char *size = hutch_cut_at_last_colon(tmpfs->target);
    if (*tmpfs->target != '/')
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.120s' is not a tmpfs, write it like '/scratch' or '/scratch:128m'",
                          text);
    hutch_path_trim(tmpfs->target);
    int r = hutch_check_host_path(tmpfs->target, err);
    if (r < 0 || !size)
        return r;
    return hutch_range_parse(&size_range, size, &tmpfs->size_bytes, err);
}

int hutch_tmpfs_add_text(const struct hutch_field_row *row, void *slot, const char *text,
                         struct hutch_error *err)
{
    hutch_cleanup(tmpfs_done) struct hutch_tmpfs tmpfs = {.size_bytes = DEFAULT_BYTES};
    int r = parse(text, &tmpfs, err);
    return r < 0 ? r : take(row, slot, &tmpfs, err);
}

static int read_one(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                    struct hutch_error *err)
{
    hutch_cleanup(tmpfs_done) struct hutch_tmpfs tmpfs = {.size_bytes = DEFAULT_BYTES};
    if (node.value->type == HUTCH_VALUE_STRING)
        return hutch_tmpfs_add_text(row, slot, node.value->string.bytes, err);
    int r = hutch_read_members(row, members, HUTCH_COUNT(members), &tmpfs, node, err);
    return r < 0 ? r : take(row, slot, &tmpfs, err);
}

int hutch_tmpfs_read(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                     struct hutch_error *err)
{
    return hutch_read_each(row, slot, node, read_one, err);
}

int hutch_tmpfs_write(const struct hutch_field_row *row, const void *slot, const char *key,
                      struct hutch_json_out *out, struct hutch_error *err)
{
    const struct hutch_tmpfs_list *list = slot;
    (void)row;
    hutch_json_open(out, key, '[');
    for (size_t i = 0; i < list->count; i++) {
        const struct hutch_tmpfs *tmpfs = &list->items[i];
        hutch_json_open(out, NULL, '{');
        if (hutch_write_text(tmpfs->target, "target", out, err) < 0)
            return hutch_wrap(err, "entry %zu: ", i + 1);
        hutch_json_uint(out, "size", tmpfs->size_bytes);
        hutch_json_close(out, '}');
    }
    hutch_json_close(out, ']');
    return 0;
}

void hutch_tmpfs_done(void *slot)
{
    struct hutch_tmpfs_list *list = slot;
    for (size_t i = 0; i < list->count; i++)
        tmpfs_done(&list->items[i]);
    free(list->items);
}
