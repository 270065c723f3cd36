/* SPDX-License-Identifier: Apache-2.0 */
#include "image/record.h"

#include <stdio.h>
#include <string.h>

#include "core/json_in.h"
#include "util/buf.h"
#include "util/json_out.h"
#include "util/own.h"

/* The fields of struct image, each kind in one table; an array is as large as its row says. */
struct field {
    const char *key;
    size_t offset;
    size_t size; /* of an array; 0: a pointer */
};

#define AT(name) offsetof(struct image, name)
#define ROOM(name) sizeof(((struct image *)NULL)->name)

static const struct field texts[] = {
    {"config_digest", AT(config_digest), ROOM(config_digest)},
    {"os", AT(os), ROOM(os)},
    {"architecture", AT(architecture), ROOM(architecture)},
    {"variant", AT(variant), ROOM(variant)},
    {"created", AT(created), 0},
    {"user", AT(user), 0},
    {"workdir", AT(workdir), 0},
    {"stop_signal", AT(stop_signal), 0},
};
static const struct field lists[] = {
    {"env", AT(env), 0},       {"entrypoint", AT(entrypoint), 0}, {"cmd", AT(cmd), 0},
    {"labels", AT(labels), 0}, {"layers", AT(layers), 0},
};

static void *place(const struct image *image, const struct field *field)
{
    return (char *)image + field->offset;
}

static int fail_damaged(const char *key, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_INVALID, 0, "its field '%s' is missing or wrong", key);
}

static int read_text(const struct hutch_value *value, const struct field *field,
                     struct image *image, struct hutch_error *err)
{
    const char *text = hutch_value_text(value);
    if (field->size) {
        if (!text || value->string.length >= field->size)
            return fail_damaged(field->key, err);
        memcpy(place(image, field), text, value->string.length + 1);
        return 0;
    }
    if (value && value->type == HUTCH_VALUE_NULL)
        return 0;
    if (!text)
        return fail_damaged(field->key, err);
    char *copy = strdup(text);
    if (!copy)
        return hutch_fail_nomem(err);
    *(char **)place(image, field) = copy;
    return 0;
}

static int read_list(const struct hutch_value *value, const struct field *field,
                     struct image *image, struct hutch_error *err)
{
    int r = 0;
    if (!value || value->type != HUTCH_VALUE_ARRAY)
        return fail_damaged(field->key, err);
    for (size_t i = 0; r >= 0 && i < value->list.count; i++) {
        const char *text = hutch_value_text(&value->list.items[i]);
        if (!text)
            return fail_damaged(field->key, err);
        r = hutch_strlist_add(place(image, field), text, err);
    }
    return r;
}

bool record_layer_is_valid(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < RECORD_LAYER_BYTES && name[0] != '0' &&
           strspn(name, "0123456789") == length;
}

static int check(const struct image *image, struct hutch_error *err)
{
    if (!image_digest_is_valid(image->config_digest))
        return fail_damaged("config_digest", err);
    for (size_t i = 0; i < image->layers.count; i++)
        if (!record_layer_is_valid(image->layers.items[i]))
            return fail_damaged("layers", err);
    return 0;
}

int record_parse(const char *text, size_t length, struct image *image, struct hutch_error *err)
{
    hutch_cleanup(hutch_value_done) struct hutch_value root = {0};
    int r = hutch_json_parse(text, length, &root, err);
    for (size_t i = 0; r >= 0 && i < HUTCH_COUNT(texts); i++)
        r = read_text(hutch_value_get(&root, texts[i].key), &texts[i], image, err);
    for (size_t i = 0; r >= 0 && i < HUTCH_COUNT(lists); i++)
        r = read_list(hutch_value_get(&root, lists[i].key), &lists[i], image, err);
    if (r < 0)
        return r;
    const struct hutch_value *bytes = hutch_value_get(&root, "bytes");
    if (!bytes || bytes->type != HUTCH_VALUE_INTEGER || bytes->integer < 0)
        return fail_damaged("bytes", err);
    image->bytes = (uint64_t)bytes->integer;
    return check(image, err);
}

static void write_list(struct hutch_json_out *out, const char *key,
                       const struct hutch_strlist *list)
{
    hutch_json_open(out, key, '[');
    for (size_t i = 0; i < list->count; i++)
        hutch_json_string(out, NULL, list->items[i]);
    hutch_json_close(out, ']');
}

int record_format(const struct image *image, char **ret_text, size_t *ret_length,
                  struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf buf = HUTCH_BUF(HUTCH_DOCUMENT_MAX_BYTES);
    struct hutch_json_out out = {&buf, false};
    hutch_json_open(&out, NULL, '{');
    for (size_t i = 0; i < HUTCH_COUNT(texts); i++) {
        const void *at = place(image, &texts[i]);
        hutch_json_string(&out, texts[i].key, texts[i].size ? at : *(char *const *)at);
    }
    for (size_t i = 0; i < HUTCH_COUNT(lists); i++)
        write_list(&out, lists[i].key, place(image, &lists[i]));
    hutch_json_uint(&out, "bytes", image->bytes);
    hutch_json_close(&out, '}');
    hutch_buf_puts(&buf, "\n");
    return hutch_buf_take(&buf, ret_text, ret_length, err);
}
