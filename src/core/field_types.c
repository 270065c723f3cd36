/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/field_read.h"
#include "util/own.h"

static int text_take(const struct hutch_field_row *row, void *slot, char *text,
                     struct hutch_error *err)
{
    hutch_autofree char *own = text;
    if (!own)
        return hutch_fail_nomem(err);
    int r = hutch_field_types[row->type].check(own, err);
    if (r >= 0)
        *(char **)slot = HUTCH_TAKE_PTR(own);
    return r;
}

static int text_add_text(const struct hutch_field_row *row, void *slot, const char *text,
                         struct hutch_error *err)
{
    return text_take(row, slot, strdup(text), err);
}

static int text_read(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                     struct hutch_error *err)
{
    char *text;
    int r = hutch_read_text(node, &text, err);
    return r < 0 ? r : text_take(row, slot, text, err);
}

static int text_write(const struct hutch_field_row *row, const void *slot, const char *key,
                      struct hutch_json_out *out, struct hutch_error *err)
{
    (void)row;
    return hutch_write_text(*(char *const *)slot, key, out, err);
}

static void text_done(void *slot)
{
    free(*(char **)slot);
}

static struct hutch_range range_of(const struct hutch_field_row *row)
{
    const struct hutch_field_type *type = &hutch_field_types[row->type];
    return (struct hutch_range){type->quantity, row->min, row->max, type->may_be_none};
}

static int quantity_add_text(const struct hutch_field_row *row, void *slot, const char *text,
                             struct hutch_error *err)
{
    struct hutch_range range = range_of(row);
    return hutch_range_parse(&range, text, slot, err);
}

static int quantity_read(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                         struct hutch_error *err)
{
    struct hutch_range range = range_of(row);
    return hutch_read_quantity(node, &range, slot, err);
}

static int quantity_write(const struct hutch_field_row *row, const void *slot, const char *key,
                          struct hutch_json_out *out, struct hutch_error *err)
{
    const struct hutch_field_type *type = &hutch_field_types[row->type];
    uint64_t value = *(const uint64_t *)slot;
    char text[HUTCH_QUANTITY_TEXT_SIZE];
    (void)err;
    hutch_quantity_format(type->quantity, value, text);
    if (!value && type->may_be_none)
        hutch_json_null(out, key);
    else if (type->quantity == HUTCH_QUANTITY_SIZE || type->quantity == HUTCH_QUANTITY_COUNT)
        hutch_json_uint(out, key, value);
    else
        hutch_json_string(out, key, text);
    return 0;
}

static void quantity_done(void *slot)
{
    (void)slot;
}

static int switch_add_text(const struct hutch_field_row *row, void *slot, const char *text,
                           struct hutch_error *err)
{
    (void)row;
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.40s' is neither true nor false", text);
    *(bool *)slot = *text == 't';
    return 0;
}

static int switch_read(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                       struct hutch_error *err)
{
    (void)row;
    return hutch_read_bool(slot, node, err);
}

static int switch_write(const struct hutch_field_row *row, const void *slot, const char *key,
                        struct hutch_json_out *out, struct hutch_error *err)
{
    (void)row, (void)err;
    hutch_json_bool(out, key, *(const bool *)slot);
    return 0;
}

#define TEXT(check)                                                                      \
    {                                                                                    \
        sizeof(char *), text_add_text, text_read, text_write, text_done, check, 0, false \
    }
#define LIMIT(quantity, may_be_none)                                                       \
    {                                                                                      \
        sizeof(uint64_t), quantity_add_text, quantity_read, quantity_write, quantity_done, \
            hutch_check_anything, quantity, may_be_none                                    \
    }
#define OPS(noun, slot, check)                                                            \
    {                                                                                     \
        sizeof(slot), hutch_##noun##_add_text, hutch_##noun##_read, hutch_##noun##_write, \
            hutch_##noun##_done, check, 0, false                                          \
    }

const struct hutch_field_type hutch_field_types[HUTCH_TYPES] = {
    [HUTCH_TYPE_NAME] = TEXT(hutch_check_name),
    [HUTCH_TYPE_HOSTNAME] = TEXT(hutch_check_hostname),
    [HUTCH_TYPE_USER] = TEXT(hutch_check_user),
    [HUTCH_TYPE_WORKDIR] = TEXT(hutch_check_workdir),
    [HUTCH_TYPE_HOST_PATH] = TEXT(hutch_check_host_path),
    [HUTCH_TYPE_IMAGE] = TEXT(hutch_check_image),
    [HUTCH_TYPE_DIGEST] = TEXT(hutch_check_digest),
    [HUTCH_TYPE_PULL] = TEXT(hutch_check_pull),
    [HUTCH_TYPE_ISOLATION] = TEXT(hutch_check_isolation),
    [HUTCH_TYPE_SIZE] = LIMIT(HUTCH_QUANTITY_SIZE, false),
    [HUTCH_TYPE_SIZE_OR_NONE] = LIMIT(HUTCH_QUANTITY_SIZE, true),
    [HUTCH_TYPE_DURATION] = LIMIT(HUTCH_QUANTITY_DURATION, false),
    [HUTCH_TYPE_DURATION_OR_NONE] = LIMIT(HUTCH_QUANTITY_DURATION, true),
    [HUTCH_TYPE_CPUS] = LIMIT(HUTCH_QUANTITY_CPUS, false),
    [HUTCH_TYPE_COUNT] = LIMIT(HUTCH_QUANTITY_COUNT, false),
    [HUTCH_TYPE_ARGUMENTS] = OPS(texts, struct hutch_strlist, hutch_check_anything),
    [HUTCH_TYPE_VARIABLE_NAMES] = OPS(texts, struct hutch_strlist, hutch_check_key),
    [HUTCH_TYPE_HOST_PATHS] = OPS(texts, struct hutch_strlist, hutch_check_host_path),
    [HUTCH_TYPE_PROMISES] = OPS(texts, struct hutch_strlist, hutch_check_promise),
    [HUTCH_TYPE_VARIABLES] = OPS(pairs, struct hutch_map, hutch_check_key),
    [HUTCH_TYPE_LABELS] = OPS(pairs, struct hutch_map, hutch_check_label_key),
    [HUTCH_TYPE_WORKSPACE] = OPS(workspace, struct hutch_workspace, hutch_check_host_path),
    [HUTCH_TYPE_MOUNTS] = OPS(mounts, struct hutch_mounts, hutch_check_anything),
    [HUTCH_TYPE_TMPFS] = OPS(tmpfs, struct hutch_tmpfs_list, hutch_check_anything),
    [HUTCH_TYPE_EGRESS] = OPS(egress, struct hutch_strlist, hutch_check_egress),
    [HUTCH_TYPE_RANGES] = OPS(texts, struct hutch_strlist, hutch_check_range),
    [HUTCH_TYPE_PROXY] = TEXT(hutch_check_proxy),
    [HUTCH_TYPE_SECRET_NAME] = TEXT(hutch_check_secret),
    [HUTCH_TYPE_SECRETS] = OPS(secrets, struct hutch_secrets, hutch_check_anything),
    [HUTCH_TYPE_SWITCH] = {sizeof(bool), switch_add_text, switch_read, switch_write, quantity_done,
                           hutch_check_anything, 0, false},
};
