/* SPDX-License-Identifier: Apache-2.0 */
#include "secrets/redact.h"

#include <string.h>

int redactor_check(const struct secret_set *set, struct hutch_error *err)
{
    for (size_t i = 0; i < set->count; i++)
        if (secret_item_length(&set->items[i]) < REDACT_MIN_BYTES)
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "secret '%s' has fewer than %d bytes, too few to be told from other "
                              "output; leave redact out",
                              set->items[i].spec->name, REDACT_MIN_BYTES);
    return 0;
}

int redactor_open(struct redactor *redactor, const struct secret_set *set, struct hutch_error *err)
{
    *redactor = (struct redactor){.set = set};
    return secret_value_new(&redactor->held, SECRET_MAX_BYTES + REDACT_CHUNK_BYTES, err);
}

void redactor_done(struct redactor *redactor)
{
    secret_value_done(&redactor->held);
    *redactor = (struct redactor){0};
}

/* The longest value that is at the beginning of the text, NULL when there is none. *ret_may_be:
 * with more text a longer one could be. */
static const struct secret_item *match(const struct secret_set *set, const char *text,
                                       size_t length, bool *ret_may_be)
{
    const struct secret_item *found = NULL;
    *ret_may_be = false;
    for (size_t i = 0; i < set->count; i++) {
        const struct secret_item *item = &set->items[i];
        const char *value = secret_item_bytes(item);
        size_t size = secret_item_length(item);
        if (*value != *text || memcmp(value, text, size < length ? size : length) != 0)
            continue;
        if (size > length)
            *ret_may_be = true;
        else if (!found || size > secret_item_length(found))
            found = item;
    }
    return found;
}

static void scan(struct redactor *redactor, bool is_end, struct hutch_buf *out)
{
    struct secret_value *held = &redactor->held;
    size_t at = 0, passed = 0;
    while (at < held->length) {
        bool may_be = false;
        const struct secret_item *item =
            match(redactor->set, held->bytes + at, held->length - at, &may_be);
        if (may_be && !is_end)
            break;
        if (!item) {
            at++;
            continue;
        }
        hutch_buf_append(out, held->bytes + passed, at - passed);
        hutch_buf_printf(out, "[secret %s]", item->spec->name);
        at += secret_item_length(item);
        passed = at;
    }
    hutch_buf_append(out, held->bytes + passed, at - passed);
    memmove(held->bytes, held->bytes + at, held->length - at);
    held->length -= at;
}

void redactor_feed(struct redactor *redactor, const char *data, size_t length, bool is_end,
                   struct hutch_buf *out)
{
    struct secret_value *held = &redactor->held;
    while (length) {
        size_t part = length < REDACT_CHUNK_BYTES ? length : REDACT_CHUNK_BYTES;
        memcpy(held->bytes + held->length, data, part);
        held->length += part;
        data += part;
        length -= part;
        scan(redactor, is_end && !length, out);
    }
    if (is_end && held->length)
        scan(redactor, true, out);
}
