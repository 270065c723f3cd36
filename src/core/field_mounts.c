/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts: "SRC:DST[:ro|rw]", or {"source": SRC, "target": DST, "read_only": BOOL}, in which the
 * paths may hold any character. */
#include <stdlib.h>
#include <string.h>

#include "core/field_read.h"
#include "util/own.h"

static const struct hutch_member members[] = {
    {"source", offsetof(struct hutch_mount, source), hutch_read_host_path, true},
    {"target", offsetof(struct hutch_mount, target), hutch_read_target, true},
    {"read_only", offsetof(struct hutch_mount, read_only), hutch_read_bool, false},
};

static void mount_done(struct hutch_mount *mount)
{
    free(mount->source);
    free(mount->target);
    *mount = (struct hutch_mount){0};
}

/* Moves the mount into the list; on failure it stays the caller's. */
static int take(const struct hutch_field_row *row, struct hutch_mounts *mounts,
                struct hutch_mount *mount, struct hutch_error *err)
{
    if (mounts->count >= row->max)
        return hutch_fail_crowded(row, err);
    struct hutch_mount *items = reallocarray(mounts->items, mounts->count + 1, sizeof(*items));
    if (!items)
        return hutch_fail_nomem(err);
    mounts->items = items;
    mounts->items[mounts->count++] = *mount;
    *mount = (struct hutch_mount){0};
    return 0;
}

/* The target is what follows the last colon once a mode has been cut off. */
static int parse(const char *text, struct hutch_mount *mount, struct hutch_error *err)
{
    mount->source = strdup(text);
    if (!mount->source)
        return hutch_fail_nomem(err);
    char *tail = hutch_cut_at_last_colon(mount->source);
    if (tail && (!strcmp(tail, "ro") || !strcmp(tail, "rw"))) {
        mount->read_only = tail[1] == 'o';
        tail = hutch_cut_at_last_colon(mount->source);
    }
    if (!tail || *tail != '/' || !*mount->source)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.120s' is not a mount, write it like '/srv/data:/data' or "
                          "'/srv/data:/data:ro'",
                          text);
    hutch_path_trim(tail);
    mount->target = strdup(tail);
    if (!mount->target)
        return hutch_fail_nomem(err);
    int r = hutch_check_host_path(mount->source, err);
    return r < 0 ? r : hutch_check_host_path(mount->target, err);
}

int hutch_mounts_add_text(const struct hutch_field_row *row, void *slot, const char *text,
                          struct hutch_error *err)
{
    hutch_cleanup(mount_done) struct hutch_mount mount = {0};
    int r = parse(text, &mount, err);
    return r < 0 ? r : take(row, slot, &mount, err);
}

static int read_one(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                    struct hutch_error *err)
{
    hutch_cleanup(mount_done) struct hutch_mount mount = {0};
    if (node.value->type == HUTCH_VALUE_STRING)
        return hutch_mounts_add_text(row, slot, node.value->string.bytes, err);
    int r = hutch_read_members(row, members, HUTCH_COUNT(members), &mount, node, err);
    return r < 0 ? r : take(row, slot, &mount, err);
}

int hutch_mounts_read(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                      struct hutch_error *err)
{
    return hutch_read_each(row, slot, node, read_one, err);
}

int hutch_mounts_write(const struct hutch_field_row *row, const void *slot, const char *key,
                       struct hutch_json_out *out, struct hutch_error *err)
{
    const struct hutch_mounts *mounts = slot;
    (void)row;
    hutch_json_open(out, key, '[');
    for (size_t i = 0; i < mounts->count; i++) {
        const struct hutch_mount *mount = &mounts->items[i];
        hutch_json_open(out, NULL, '{');
        if (hutch_write_text(mount->source, "source", out, err) < 0 ||
            hutch_write_text(mount->target, "target", out, err) < 0)
            return hutch_wrap(err, "entry %zu: ", i + 1);
        hutch_json_bool(out, "read_only", mount->read_only);
        hutch_json_close(out, '}');
    }
    hutch_json_close(out, ']');
    return 0;
}

void hutch_mounts_done(void *slot)
{
    struct hutch_mounts *mounts = slot;
    for (size_t i = 0; i < mounts->count; i++)
        mount_done(&mounts->items[i]);
    free(mounts->items);
}
