/* SPDX-License-Identifier: Apache-2.0 */
#include "core/env_file.h"

#include <string.h>

/* A piece of the file's text; at[length] may lie outside. */
struct slice {
    const char *at;
    size_t length;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip(struct slice *slice, size_t count)
{
    slice->at += count;
    slice->length -= count;
}

static void skip_blanks(struct slice *slice)
{
    while (slice->length && is_blank(*slice->at))
        skip(slice, 1);
}

static bool starts_with(const struct slice *slice, const char *prefix, size_t length)
{
    return slice->length >= length && !memcmp(slice->at, prefix, length);
}

/* Takes the next line off text, without its end ("\n" or "\r\n"). */
static struct slice take_line(struct slice *text)
{
    const char *end = memchr(text->at, '\n', text->length);
    struct slice line = {text->at, end ? (size_t)(end - text->at) : text->length};
    skip(text, end ? line.length + 1 : line.length);
    if (line.length && line.at[line.length - 1] == '\r')
        line.length--;
    return line;
}

static void strip_quotes(struct slice *value)
{
    if (value->length < 2)
        return;
    char quote = value->at[0];
    if ((quote != '"' && quote != '\'') || value->at[value->length - 1] != quote)
        return;
    value->at++;
    value->length -= 2;
}

static bool key_is_usable(const struct slice *key)
{
    for (size_t i = 0; i < key->length; i++)
        if (is_blank(key->at[i]))
            return false;
    return key->length > 0;
}

static int fail_line(const struct slice *line, const char *problem, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.*s' %s, write it like 'KEY=value'",
                      (int)(line->length < 60 ? line->length : 60), line->at, problem);
}

static int read_line(struct slice line, struct hutch_map *map, struct hutch_error *err)
{
    skip_blanks(&line);
    if (!line.length || *line.at == '#')
        return 0;
    if (memchr(line.at, '\0', line.length))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "a NUL byte cannot be part of a variable");
    if (starts_with(&line, "export", 6) && line.length > 6 && is_blank(line.at[6])) {
        skip(&line, 6);
        skip_blanks(&line);
    }
    const char *equals = memchr(line.at, '=', line.length);
    if (!equals)
        return fail_line(&line, "has no '='", err);
    struct slice key = {line.at, (size_t)(equals - line.at)};
    if (!key_is_usable(&key))
        return fail_line(&line, "has no name, or a space in it, before its '='", err);
    struct slice value = {equals + 1, line.length - key.length - 1};
    strip_quotes(&value);
    return hutch_map_setn(map, key.at, key.length, value.at, value.length, err);
}

int hutch_env_file_parse(const char *text, size_t length, struct hutch_map *map,
                         struct hutch_error *err)
{
    if (length > HUTCH_ENV_FILE_MAX_BYTES)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the environment file has %zu bytes, the most is %u", length,
                          HUTCH_ENV_FILE_MAX_BYTES);
    struct slice rest = {text, length};
    if (starts_with(&rest, "\xEF\xBB\xBF", 3)) /* the byte order mark some editors write */
        skip(&rest, 3);
    for (unsigned number = 1; rest.length; number++) {
        if (read_line(take_line(&rest), map, err) < 0)
            return hutch_wrap(err, "line %u: ", number);
    }
    return 0;
}
