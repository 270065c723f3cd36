/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/field.h"
#include "util/own.h"

/* Escaped, a command of the largest size the kernel takes has 12 MiB. */
#define JSON_MAX_BYTES (64u << 20)

int hutch_spec_new(struct hutch_spec **ret_spec, struct hutch_error *err)
{
    struct hutch_spec *spec = calloc(1, sizeof(*spec));
    if (!spec)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < hutch_field_count(); i++) {
        int r = hutch_field_set_default(spec, i, err);
        if (r < 0) {
            hutch_spec_free(spec);
            return r;
        }
    }
    *ret_spec = spec;
    return 0;
}

void hutch_spec_free(struct hutch_spec *spec)
{
    if (!spec)
        return;
    for (size_t i = 0; i < hutch_field_count(); i++)
        hutch_field_done(spec, i);
    free(spec);
}

bool hutch_spec_is_set(const struct hutch_spec *spec, const char *field)
{
    int index = hutch_field_find(field);
    return index >= 0 && (spec->set_fields >> index & 1);
}

bool hutch_spec_has_egress(const struct hutch_spec *spec)
{
    return spec->egress.count || hutch_spec_is_set(spec, "egress");
}

bool hutch_spec_audit_is(const struct hutch_spec *spec, const char *how)
{
    return spec->policy.audit && !strcmp(spec->policy.audit, how);
}

int hutch_spec_rename(struct hutch_spec *spec, const char *name, struct hutch_error *err)
{
    free(spec->name);
    spec->name = NULL;
    hutch_spec_mark(spec, "name", false);
    return name ? hutch_spec_set(spec, "name", name, err) : 0;
}

void hutch_spec_mark(struct hutch_spec *spec, const char *field, bool is_set)
{
    uint64_t bit = UINT64_C(1) << hutch_field_find(field);
    spec->set_fields = is_set ? spec->set_fields | bit : spec->set_fields & ~bit;
}

int hutch_spec_set(struct hutch_spec *spec, const char *field, const char *text,
                   struct hutch_error *err)
{
    int index = hutch_field_find(field);
    if (index < 0)
        return hutch_field_fail_unknown(field, err);
    return hutch_field_add_text(spec, (size_t)index, text, err);
}

int hutch_spec_set_command(struct hutch_spec *spec, size_t argc, const char *const *argv,
                           struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist command = {0};
    for (size_t i = 0; i < argc; i++) {
        int r = hutch_strlist_add(&command, argv[i], err);
        if (r < 0)
            return r;
    }
    struct hutch_strlist previous = spec->command;
    spec->command = command;
    command = previous;
    spec->set_fields |= UINT64_C(1) << hutch_field_find("command");
    return 0;
}

/* The group that is open, by the name of a field in it; length 0 for none. */
struct group {
    const char *name;
    size_t length;
};

/* Closes the group that is open and opens the field's own, where they differ. Returns the field's
 * key in it. */
static const char *enter_group(struct group *group, const char *name, struct hutch_json_out *out)
{
    const char *dot = strchr(name, '.');
    size_t length = dot ? (size_t)(dot - name) : 0;
    if (length != group->length || strncmp(name, group->name, length) != 0) {
        if (group->length)
            hutch_json_close(out, '}');
        if (length) {
            char key[HUTCH_FIELD_PATH_BYTES];
            (void)snprintf(key, sizeof(key), "%.*s", (int)length, name);
            hutch_json_open(out, key, '{');
        }
        *group = (struct group){name, length};
    }
    return dot ? dot + 1 : name;
}

typedef int (*write_fn)(const struct hutch_spec *spec, size_t index, const char *key,
                        struct hutch_json_out *out, struct hutch_error *err);

/* Writes the fields whose bits are set in wanted. */
static int write_fields(const struct hutch_spec *spec, write_fn write, uint64_t wanted,
                        struct hutch_json_out *out, struct hutch_error *err)
{
    struct group group = {"", 0};
    hutch_json_open(out, NULL, '{');
    for (size_t i = 0; i < hutch_field_count(); i++) {
        if (!(wanted >> i & 1))
            continue;
        const char *key = enter_group(&group, hutch_field_row(i)->name, out);
        int r = write(spec, i, key, out, err);
        if (r < 0)
            return r;
    }
    if (group.length)
        hutch_json_close(out, '}');
    hutch_json_close(out, '}');
    return 0;
}

int hutch_spec_to_json(const struct hutch_spec *spec, char **ret_json, struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf buf = HUTCH_BUF(JSON_MAX_BYTES);
    struct hutch_json_out out = {&buf, false};
    int r = write_fields(spec, hutch_field_write, UINT64_MAX, &out, err);
    return r < 0 ? r : hutch_buf_take(&buf, ret_json, NULL, err);
}

int hutch_spec_to_json_set(const struct hutch_spec *spec, char **ret_json, struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf buf = HUTCH_BUF(JSON_MAX_BYTES);
    struct hutch_json_out out = {&buf, false};
    int r = write_fields(spec, hutch_field_write_set, spec->set_fields, &out, err);
    if (r >= 0)
        r = hutch_value_check_size(buf.length, err); /* now, not when it is read again */
    return r < 0 ? r : hutch_buf_take(&buf, ret_json, NULL, err);
}
