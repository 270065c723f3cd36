/* SPDX-License-Identifier: Apache-2.0 */
#include "image/members.h"

#include <string.h>

int member_of_type(const struct hutch_value *object, const char *key, enum hutch_value_type type,
                   const struct hutch_value **ret_member, struct hutch_error *err)
{
    const struct hutch_value wanted = {.type = type};
    const struct hutch_value *member = hutch_value_get(object, key);
    if (member && member->type == HUTCH_VALUE_NULL)
        member = NULL;
    if (member && member->type != type)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "line %u: '%s' is %s, it must be %s",
                          member->line, key, hutch_value_kind(member), hutch_value_kind(&wanted));
    *ret_member = member;
    return 0;
}

int member_text(const struct hutch_value *object, const char *key, char *ret_text, size_t size,
                struct hutch_error *err)
{
    const struct hutch_value *member = NULL;
    int r = member_of_type(object, key, HUTCH_VALUE_STRING, &member, err);
    if (r < 0)
        return r;
    size_t length = member ? member->string.length : 0;
    if (member && length >= size)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "line %u: '%s' is longer than %zu bytes",
                          member->line, key, size - 1);
    memcpy(ret_text, member ? member->string.bytes : "", length + 1);
    return 0;
}

int member_new_text(const struct hutch_value *object, const char *key, char **ret_text,
                    struct hutch_error *err)
{
    const struct hutch_value *member = NULL;
    int r = member_of_type(object, key, HUTCH_VALUE_STRING, &member, err);
    if (r < 0)
        return r;
    char *text = strdup(member ? member->string.bytes : "");
    if (!text)
        return hutch_fail_nomem(err);
    *ret_text = text;
    return 0;
}

int member_texts(const struct hutch_value *object, const char *key, struct hutch_strlist *list,
                 struct hutch_error *err)
{
    const struct hutch_value *member = NULL;
    int r = member_of_type(object, key, HUTCH_VALUE_ARRAY, &member, err);
    for (size_t i = 0; r >= 0 && member && i < member->list.count; i++) {
        const struct hutch_value *item = &member->list.items[i];
        const char *text = hutch_value_text(item);
        if (!text)
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "line %u: '%s' holds %s, all in it must be strings", item->line, key,
                              hutch_value_kind(item));
        r = hutch_strlist_add(list, text, err);
    }
    return r;
}

int member_digest(const struct hutch_value *object, const char *key,
                  char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    const struct hutch_value *member = NULL;
    int r = member_of_type(object, key, HUTCH_VALUE_STRING, &member, err);
    if (r < 0)
        return r;
    if (!member)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "line %u: '%s' is missing", object->line, key);
    if (!image_digest_is_valid(member->string.bytes))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "line %u: '%.80s' is not a digest that hutch knows, which is 'sha256:' "
                          "and 64 of 0-9 a-f",
                          member->line, member->string.bytes);
    memcpy(ret_digest, member->string.bytes, IMAGE_DIGEST_BYTES);
    return 0;
}

int member_size(const struct hutch_value *object, const char *key, uint64_t *ret_size,
                struct hutch_error *err)
{
    const struct hutch_value *member = NULL;
    int r = member_of_type(object, key, HUTCH_VALUE_INTEGER, &member, err);
    if (r < 0)
        return r;
    if (!member)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "line %u: '%s' is missing", object->line, key);
    if (member->integer < 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "line %u: '%s' is negative", member->line, key);
    *ret_size = (uint64_t)member->integer;
    return 0;
}
