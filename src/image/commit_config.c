/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration is copied member by member, so that what is not known here stays too. */
#include <string.h>

#include "core/json_in.h"
#include "core/json_value.h"
#include "image/clock.h"
#include "image/commit.h"
#include "image/manifest.h"
#include "util/json_out.h"
#include "util/own.h"

struct edit {
    struct hutch_json_out out;
    const char *diff_id;
    const char *created_by;
    char created[CLOCK_TEXT_BYTES];
};

static void put_list(struct edit *edit, const char *key, const struct hutch_value *list)
{
    hutch_json_open(&edit->out, key, '[');
    for (size_t i = 0; list && list->type == HUTCH_VALUE_ARRAY && i < list->list.count; i++)
        hutch_json_value(&edit->out, NULL, &list->list.items[i]);
}

static void put_history(struct edit *edit, const struct hutch_value *history)
{
    put_list(edit, "history", history);
    hutch_json_open(&edit->out, NULL, '{');
    hutch_json_string(&edit->out, "created", edit->created);
    hutch_json_string(&edit->out, "created_by", edit->created_by);
    hutch_json_close(&edit->out, '}');
    hutch_json_close(&edit->out, ']');
}

static void put_rootfs(struct edit *edit, const struct hutch_value *rootfs)
{
    hutch_json_open(&edit->out, "rootfs", '{');
    hutch_json_string(&edit->out, "type", "layers");
    put_list(edit, "diff_ids", rootfs ? hutch_value_get(rootfs, "diff_ids") : NULL);
    hutch_json_string(&edit->out, NULL, edit->diff_id);
    hutch_json_close(&edit->out, ']');
    hutch_json_close(&edit->out, '}');
}

static bool is_edited(const char *key)
{
    static const char *const keys[] = {"created", "history", "rootfs"};
    for (size_t i = 0; i < HUTCH_COUNT(keys); i++)
        if (!strcmp(key, keys[i]))
            return true;
    return false;
}

int commit_config(const char *base, size_t length, const char *diff_id, const char *created_by,
                  char **ret_text, size_t *ret_length, struct hutch_error *err)
{
    hutch_cleanup(hutch_value_done) struct hutch_value config = {0};
    struct hutch_buf buf = HUTCH_BUF(CONFIG_MAX_BYTES);
    struct edit edit = {.out = {.buf = &buf}, .diff_id = diff_id, .created_by = created_by};
    if (hutch_json_parse(base, length, &config, err) < 0)
        return -(int)err->code;
    if (config.type != HUTCH_VALUE_OBJECT)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the image's configuration is no object");
    clock_text(edit.created);
    hutch_json_open(&edit.out, NULL, '{');
    hutch_json_string(&edit.out, "created", edit.created);
    for (size_t i = 0; i < config.list.count; i++)
        if (!is_edited(config.list.items[i].key))
            hutch_json_value(&edit.out, config.list.items[i].key, &config.list.items[i]);
    put_rootfs(&edit, hutch_value_get(&config, "rootfs"));
    put_history(&edit, hutch_value_get(&config, "history"));
    hutch_json_close(&edit.out, '}');
    return hutch_buf_take(&buf, ret_text, ret_length, err);
}
