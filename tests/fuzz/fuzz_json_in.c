/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever is read keeps the tree's promises, and written as JSON it reads back the same. */
#include "fuzz.h"

#include "core/json_in.h"
#include "util/json_out.h"

static void check_text(const char *text, size_t length)
{
    REQUIRE(strlen(text) == length, "'%s'", text);
    REQUIRE(hutch_utf8_valid(text, length), "'%s'", text);
}

/* Each key is found where it stands, so it stands once; of a large object only the first ones. */
static void check_members(const struct hutch_value *object)
{
    for (size_t i = 0; i < object->list.count && i < 100; i++) {
        const struct hutch_value *member = &object->list.items[i];
        REQUIRE(hutch_value_get(object, member->key) == member, "'%s'", member->key);
    }
}

static void check_tree(const struct hutch_value *value, bool is_member, unsigned depth)
{
    REQUIRE(depth <= HUTCH_DOCUMENT_MAX_DEPTH && value->line > 0, "line %u", value->line);
    REQUIRE(is_member == (value->key != NULL), "line %u", value->line);
    if (value->key)
        check_text(value->key, strlen(value->key));
    if (value->type == HUTCH_VALUE_STRING)
        check_text(value->string.bytes, value->string.length);
    bool is_object = value->type == HUTCH_VALUE_OBJECT;
    if (!is_object && value->type != HUTCH_VALUE_ARRAY)
        return;
    for (size_t i = 0; i < value->list.count; i++)
        check_tree(&value->list.items[i], is_object, depth + 1);
    if (is_object)
        check_members(value);
}

static void write_list(const struct hutch_value *list, struct hutch_json_out *out);

static void write_value(const struct hutch_value *value, struct hutch_json_out *out)
{
    switch (value->type) {
    case HUTCH_VALUE_BOOL:
        hutch_json_bool(out, value->key, value->boolean);
        break;
    case HUTCH_VALUE_INTEGER:
        hutch_json_int(out, value->key, value->integer);
        break;
    case HUTCH_VALUE_NUMBER: /* the bits of a double are an integer */
        hutch_json_int(out, value->key, value->integer);
        break;
    case HUTCH_VALUE_STRING:
        hutch_json_stringn(out, value->key, value->string.bytes, value->string.length);
        break;
    case HUTCH_VALUE_ARRAY:
    case HUTCH_VALUE_OBJECT:
        write_list(value, out);
        break;
    case HUTCH_VALUE_NULL:
    case HUTCH_VALUE_TYPES:
        hutch_json_null(out, value->key);
        break;
    }
}

static void write_list(const struct hutch_value *list, struct hutch_json_out *out)
{
    bool is_object = list->type == HUTCH_VALUE_OBJECT;
    hutch_json_open(out, list->key, is_object ? '{' : '[');
    for (size_t i = 0; i < list->list.count; i++)
        write_value(&list->list.items[i], out);
    hutch_json_close(out, is_object ? '}' : ']');
}

/* Returns the tree as JSON. Free it. */
static char *text_of(const struct hutch_value *value)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf buf = HUTCH_BUF(64u << 20);
    struct hutch_json_out out = {&buf, false};
    struct hutch_error err = HUTCH_ERROR_INIT;
    char *text = NULL;
    write_value(value, &out);
    int r = hutch_buf_take(&buf, &text, NULL, &err);
    REQUIRE(r == 0, "%s", err.msg);
    return text;
}

static void check_round_trip(const struct hutch_value *value)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_value again = {0};
    hutch_autofree char *text = text_of(value);
    if (strlen(text) > HUTCH_DOCUMENT_MAX_BYTES)
        return;
    int r = hutch_json_parse(text, strlen(text), &again, &err);
    REQUIRE(r == 0, "%s\n%s", err.msg, text);
    hutch_autofree char *text_again = text_of(&again);
    REQUIRE(!strcmp(text, text_again), "%s\n%s", text, text_again);
    hutch_value_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_value value = {0};
    hutch_autofree char *text = malloc(size ? size : 1); /* without a NUL at its end */
    REQUIRE(text, "out of memory");
    if (size)
        memcpy(text, data, size);
    int r = hutch_json_parse(text, size, &value, &err);
    if (r < 0) {
        fuzz_check_failure(r, &err);
        REQUIRE(!strncmp(err.msg, "line ", 5) || size > HUTCH_DOCUMENT_MAX_BYTES, "%s", err.msg);
        REQUIRE(value.type == HUTCH_VALUE_NULL, "%s", err.msg);
        return 0;
    }
    check_tree(&value, false, 0);
    check_round_trip(&value);
    hutch_value_done(&value);
    return 0;
}
