/* SPDX-License-Identifier: Apache-2.0 */
/* The workspace: "DIR[:MODE]", or {"path": DIR, "mode": MODE}, in which the path may hold any
 * character. */
#include <stdlib.h>
#include <string.h>

#include "core/field_read.h"
#include "util/own.h"

static const char *const mode_names[] = {
    [HUTCH_WORKSPACE_RW] = "rw",
    [HUTCH_WORKSPACE_RO] = "ro",
    [HUTCH_WORKSPACE_OVERLAY] = "overlay",
    [HUTCH_WORKSPACE_COPY] = "copy",
};

static int mode_parse(const char *name, enum hutch_workspace_mode *ret_mode,
                      struct hutch_error *err)
{
    for (unsigned i = 0; i < HUTCH_COUNT(mode_names); i++) {
        if (!strcmp(name, mode_names[i])) {
            *ret_mode = (enum hutch_workspace_mode)i;
            return 0;
        }
    }
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.60s' is not a mode, write ro, rw, overlay or copy (a path that has a ':' "
                      "takes a mode after it, such as 'a:b:rw')",
                      name);
}

static int read_mode(void *slot, struct hutch_node node, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    int r = hutch_read_text(node, &text, err);
    return r < 0 ? r : mode_parse(text, slot, err);
}

static const struct hutch_member members[] = {
    {"path", offsetof(struct hutch_workspace, path), hutch_read_host_path, true},
    {"mode", offsetof(struct hutch_workspace, mode), read_mode, false},
};

int hutch_workspace_add_text(const struct hutch_field_row *row, void *slot, const char *text,
                             struct hutch_error *err)
{
    enum hutch_workspace_mode mode = HUTCH_WORKSPACE_RW;
    hutch_autofree char *path = strdup(text);
    (void)row;
    if (!path)
        return hutch_fail_nomem(err);
    const char *name = hutch_cut_at_last_colon(path);
    int r = name ? mode_parse(name, &mode, err) : 0;
    if (r >= 0)
        r = hutch_check_host_path(path, err);
    if (r >= 0)
        *(struct hutch_workspace *)slot = (struct hutch_workspace){HUTCH_TAKE_PTR(path), mode};
    return r;
}

int hutch_workspace_read(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                         struct hutch_error *err)
{
    if (node.value->type == HUTCH_VALUE_STRING)
        return hutch_workspace_add_text(row, slot, node.value->string.bytes, err);
    return hutch_read_members(row, members, HUTCH_COUNT(members), slot, node, err);
}

int hutch_workspace_write(const struct hutch_field_row *row, const void *slot, const char *key,
                          struct hutch_json_out *out, struct hutch_error *err)
{
    const struct hutch_workspace *workspace = slot;
    (void)row;
    if (!workspace->path) {
        hutch_json_null(out, key);
        return 0;
    }
    hutch_json_open(out, key, '{');
    int r = hutch_write_text(workspace->path, "path", out, err);
    if (r < 0)
        return r;
    hutch_json_string(out, "mode", mode_names[workspace->mode]);
    hutch_json_close(out, '}');
    return 0;
}

void hutch_workspace_done(void *slot)
{
    free(((struct hutch_workspace *)slot)->path);
}
