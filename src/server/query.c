/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "server/body.h"
#include "server/nearest.h"
#include "server/util.h"

static int digit_of(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    letter = (char)(letter | 0x20);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* The byte that "%41" at the beginning stands for; -1 when it is none, or NUL. */
static int escaped(const char *text, size_t length)
{
    if (length < 3)
        return -1;
    int high = digit_of(text[1]), low = digit_of(text[2]);
    int byte = high < 0 || low < 0 ? -1 : high * 16 + low;
    return byte ? byte : -1;
}

char *percent_decode(const char *text, size_t length, bool is_query)
{
    char *decoded = malloc(length + 1);
    size_t used = 0;
    for (size_t i = 0; decoded && i < length; i++) {
        int byte = is_query && text[i] == '+' ? ' ' : (unsigned char)text[i];
        if (text[i] == '%') {
            byte = escaped(text + i, length - i);
            i += 2;
        }
        if (byte <= 0) {
            free(decoded);
            return NULL;
        }
        decoded[used++] = (char)byte;
    }
    if (!decoded || !server_is_utf8(decoded, used)) {
        free(decoded);
        return NULL;
    }
    decoded[used] = '\0';
    return decoded;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_flag(const char *text)
{
    static const char *const words[] = {"", "0", "1", "true", "false"};
    for (size_t i = 0; i < SERVER_COUNT(words); i++)
        if (!strcmp(words[i], text))
            return true;
    return false;
}

static bool is_integer(const char *text)
{
    uint64_t ignored = 0;
    return server_number(text, UINT64_MAX, &ignored);
}

static bool is_duration(const char *text)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    uint64_t ms = 0;
    return hutch_duration_parse(text, &ms, &ignored) == 0;
}

static bool is_form(const char *text)
{
    return !strcmp(text, "sse") || !strcmp(text, "ndjson");
}

/* What a query can have; anything else is a text to it. */
static const struct {
    enum api_type type;
    bool (*fits)(const char *text);
    const char *must_be;
} types[] = {
    {API_BOOLEAN, is_flag, "0 or 1"},
    {API_INTEGER, is_integer, "a whole number that is not negative"},
    {API_DURATION, is_duration, "a time such as 30s"},
    {API_FORM, is_form, "sse or ndjson"},
};

static int check(const struct api_field *row, const char *value, struct hutch_error *err)
{
    for (size_t i = 0; i < SERVER_COUNT(types); i++)
        if (types[i].type == row->type && !types[i].fits(value))
            return server_fail(err, HUTCH_E_INVALID, "parameter '%s' must be %s, not '%.80s'",
                               row->name, types[i].must_be, value);
    return 0;
}

/* ---- the query ------------------------------------------------------------------------------- */

static int find(const char *name, const struct api_field *rows, size_t *ret_row,
                struct hutch_error *err)
{
    struct nearest nearest = {.written = name};
    for (size_t i = 0; rows && rows[i].name; i++) {
        if (name && !strcmp(rows[i].name, name)) {
            *ret_row = i;
            return 0;
        }
        nearest_offer(&nearest, rows[i].name, strlen(rows[i].name));
    }
    if (*nearest.name)
        return server_fail(err, HUTCH_E_INVALID, "unknown parameter '%.80s'; did you mean '%s'?",
                           name, nearest.name);
    return server_fail(err, HUTCH_E_INVALID, "unknown parameter '%.80s'", name);
}

static int take_pair(const char *pair, size_t length, const struct api_field *rows, char **values,
                     struct hutch_error *err)
{
    const char *equals = memchr(pair, '=', length);
    size_t name_length = equals ? (size_t)(equals - pair) : length;
    size_t rest = equals ? length - name_length - 1 : 0, row = 0;
    server_autofree char *name = percent_decode(pair, name_length, true);
    char *value = percent_decode(equals ? equals + 1 : "", rest, true);
    int status = 0;
    if (!name || !value)
        status = server_fail(err, HUTCH_E_INVALID,
                             "the query is not percent-encoded UTF-8 without NUL at '%.*s'",
                             (int)(length < 60 ? length : 60), pair);
    if (!status)
        status = find(name, rows, &row, err);
    if (!status && values[row])
        status = server_fail(err, HUTCH_E_INVALID, "parameter '%s' is given twice", name);
    if (!status)
        status = check(&rows[row], value, err);
    if (status < 0) {
        free(value);
        return status;
    }
    values[row] = value;
    return 0;
}

static int check_missing(const struct api_field *rows, char *const *values, struct hutch_error *err)
{
    for (size_t i = 0; rows && rows[i].name; i++)
        if (rows[i].required && !values[i])
            return server_fail(err, HUTCH_E_INVALID, "parameter '%s' is missing: %s", rows[i].name,
                               rows[i].doc);
    return 0;
}

int query_parse(const char *query, const struct api_field *rows, char **ret_values,
                struct hutch_error *err)
{
    int status = 0;
    while (*query && !status) {
        size_t length = strcspn(query, "&");
        if (length)
            status = take_pair(query, length, rows, ret_values, err);
        query += length + (query[length] == '&');
    }
    return status ? status : check_missing(rows, ret_values, err);
}
