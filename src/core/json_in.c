/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of the strict kind: what RFC 8259 leaves open is refused wherever two readers could see
 * two documents in one text (a key twice, half a surrogate pair, a number that does not fit), and
 * so is a NUL, because texts are C strings from here on. Every byte is looked at a fixed number of
 * times, and the recursion ends with the depth that a document may have. */
#include "core/json_in.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "util/json_out.h"
#include "util/own.h"

/* More digits than a double can tell apart; a longer number is a mistake. */
#define NUMBER_MAX_BYTES 127

struct reader {
    const char *at;
    const char *end;
    unsigned line;
    unsigned depth;
    struct hutch_error *err;
};

static int fail_at(struct reader *reader, const char *problem)
{
    return hutch_fail(reader->err, HUTCH_E_INVALID, 0, "line %u: %s", reader->line, problem);
}

/* The next byte, 0 at the end: a NUL is nowhere right, so the two need not be told apart. */
static char peek(const struct reader *reader)
{
    return (char)(reader->at < reader->end ? *reader->at : '\0');
}

static bool take(struct reader *reader, char c)
{
    if (peek(reader) != c)
        return false;
    reader->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Shows a whole word where there is one: 'None' tells more than 'N'. */
static int fail_expected(struct reader *reader, const char *wanted)
{
    int length = 0;
    if (reader->at == reader->end)
        return hutch_fail(reader->err, HUTCH_E_INVALID, 0,
                          "line %u: the document ends where %s must be", reader->line, wanted);
    if (*reader->at <= ' ' || *reader->at > '~')
        return hutch_fail(reader->err, HUTCH_E_INVALID, 0,
                          "line %u: the byte 0x%02x stands where %s must be", reader->line,
                          (unsigned char)*reader->at, wanted);
    while (length < 40 && reader->end - reader->at > length && is_word(reader->at[length]))
        length++;
    return hutch_fail(reader->err, HUTCH_E_INVALID, 0, "line %u: '%.*s' stands where %s must be",
                      reader->line, length ? length : 1, reader->at, wanted);
}

static void skip_space(struct reader *reader)
{
    for (; reader->at < reader->end; reader->at++) {
        char c = *reader->at;
        if (c == '\n')
            reader->line++;
        else if (c != ' ' && c != '\t' && c != '\r')
            return;
    }
}

/* Finds the quote that ends the string which begins at reader->at, and checks all that can be
 * checked without undoing escapes. */
static int scan_string(struct reader *reader, size_t *ret_length)
{
    const char *at = reader->at;
    while (at < reader->end && *at != '"') {
        if ((unsigned char)*at < ' ')
            return hutch_fail(reader->err, HUTCH_E_INVALID, 0,
                              "line %u: a string holds the control character 0x%02x, write it as "
                              "'\\u%04x', or end the string with '\"'",
                              reader->line, (unsigned char)*at, (unsigned char)*at);
        at += *at == '\\' && reader->end - at > 1 ? 2 : 1;
    }
    if (at == reader->end)
        return fail_at(reader, "the document ends inside a string");
    size_t length = (size_t)(at - reader->at);
    if (!hutch_utf8_valid(reader->at, length))
        return fail_at(reader, "a string is not UTF-8");
    *ret_length = length;
    return 0;
}

/* The four digits of \uXXXX, -1 when they are not. */
static int32_t take_hex(struct reader *reader)
{
    int32_t code = 0;
    for (int i = 0; i < 4; i++) {
        char c = peek(reader);
        if (is_digit(c))
            code = code * 16 + (c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            code = code * 16 + ((c | 0x20) - 'a' + 10);
        else
            return -1;
        reader->at++;
    }
    return code;
}

/* What stands after \u: a character, or the first half of one, whose second half must follow. */
static int take_code_point(struct reader *reader, uint32_t *ret_code)
{
    int32_t code = take_hex(reader);
    if (code >= 0xD800 && code <= 0xDBFF) {
        bool goes_on = take(reader, '\\') && take(reader, 'u');
        int32_t low = goes_on ? take_hex(reader) : 0;
        if (low < 0xDC00 || low > 0xDFFF)
            return fail_at(reader,
                           "'\\ud800' to '\\udbff' need one of '\\udc00' to '\\udfff' after "
                           "them to be a character");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code <= 0xDFFF) {
        return fail_at(reader, "'\\udc00' to '\\udfff' need one of '\\ud800' to '\\udbff' before "
                               "them to be a character");
    }
    if (code < 0)
        return fail_at(reader, "'\\u' needs four hexadecimal digits after it");
    if (!code)
        return fail_at(reader, "a NUL byte cannot be part of a value");
    *ret_code = (uint32_t)code;
    return 0;
}

/* Writes the character as UTF-8, and returns what follows it. */
static char *put_code_point(char *to, uint32_t code)
{
    static const unsigned char marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
    int length = 1 + (code >= 0x80) + (code >= 0x800) + (code >= 0x10000);
    for (int i = length - 1; i > 0; i--, code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3F));
    to[0] = (char)(marks[length] | code);
    return to + length;
}

/* Undoes one escape, whose backslash is taken already. */
static int take_escape(struct reader *reader, char **to)
{
    static const char letters[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    char c = peek(reader);
    if (take(reader, 'u')) {
        uint32_t code = 0;
        int r = take_code_point(reader, &code);
        if (r >= 0)
            *to = put_code_point(*to, code);
        return r;
    }
    for (size_t i = 0; c && i + 1 < sizeof(letters); i += 2) {
        if (letters[i] == c) {
            reader->at++;
            *(*to)++ = letters[i + 1];
            return 0;
        }
    }
    return fail_expected(reader, "one of \"\\/bfnrtu after a '\\'");
}

/* Nothing gets longer by being unescaped, so the length of what is written is room enough. */
static int take_string(struct reader *reader, char **ret_text, size_t *ret_length)
{
    size_t length = 0;
    int r = scan_string(reader, &length);
    if (r < 0)
        return r;
    hutch_autofree char *text = malloc(length + 1);
    if (!text)
        return hutch_fail_nomem(reader->err);
    char *to = text;
    while (!take(reader, '"')) {
        if (!take(reader, '\\')) {
            *to++ = *reader->at++;
            continue;
        }
        r = take_escape(reader, &to);
        if (r < 0)
            return r;
    }
    *to = '\0';
    *ret_length = (size_t)(to - text);
    *ret_text = HUTCH_TAKE_PTR(text);
    return 0;
}

static int read_string(struct reader *reader, struct hutch_value *value)
{
    char *text = NULL;
    size_t length = 0;
    reader->at++;
    int r = take_string(reader, &text, &length);
    if (r < 0)
        return r;
    value->type = HUTCH_VALUE_STRING;
    value->string.bytes = text;
    value->string.length = length;
    return 0;
}

static int skip_digits(struct reader *reader)
{
    if (!is_digit(peek(reader)))
        return fail_expected(reader, "a digit");
    while (is_digit(peek(reader)))
        reader->at++;
    return 0;
}

/* Goes to the end of a number: [-] 0 or 1.. [.digits] [e[+-]digits]. */
static int skip_number(struct reader *reader, bool *ret_is_integer)
{
    bool is_integer = true;
    (void)take(reader, '-');
    int r = take(reader, '0') ? 0 : skip_digits(reader);
    if (r >= 0 && take(reader, '.')) {
        is_integer = false;
        r = skip_digits(reader);
    }
    if (r >= 0 && (take(reader, 'e') || take(reader, 'E'))) {
        is_integer = false;
        if (!take(reader, '-'))
            (void)take(reader, '+');
        r = skip_digits(reader);
    }
    *ret_is_integer = is_integer;
    return r;
}

/* As strtod, with a point for the point whatever the locale of the program around hutch says. */
static int to_double(const char *digits, double *ret_number, struct hutch_error *err)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return hutch_fail_nomem(err);
    *ret_number = strtod_l(digits, NULL, plain);
    freelocale(plain);
    return 0;
}

static int read_number(struct reader *reader, struct hutch_value *value)
{
    const char *start = reader->at;
    char digits[NUMBER_MAX_BYTES + 1];
    bool is_integer = true;
    int r = skip_number(reader, &is_integer);
    if (r < 0)
        return r;
    size_t length = (size_t)(reader->at - start);
    if (length > NUMBER_MAX_BYTES)
        return hutch_fail(reader->err, HUTCH_E_INVALID, 0,
                          "line %u: a number has more than %d characters, write fewer digits",
                          reader->line, NUMBER_MAX_BYTES);
    memcpy(digits, start, length);
    digits[length] = '\0';
    errno = 0;
    value->type = is_integer ? HUTCH_VALUE_INTEGER : HUTCH_VALUE_NUMBER;
    if (is_integer)
        value->integer = strtoll(digits, NULL, 10);
    else
        r = to_double(digits, &value->number, reader->err);
    bool fits = is_integer ? !errno : value->number >= -DBL_MAX && value->number <= DBL_MAX;
    if (r >= 0 && !fits)
        return hutch_fail(reader->err, HUTCH_E_INVALID, 0,
                          "line %u: the number '%.60s' is too large", reader->line, digits);
    return r;
}

static int read_word(struct reader *reader, struct hutch_value *value)
{
    static const struct {
        const char *word;
        struct hutch_value value;
    } words[] = {
        {"null", {.type = HUTCH_VALUE_NULL}},
        {"true", {.type = HUTCH_VALUE_BOOL, .boolean = true}},
        {"false", {.type = HUTCH_VALUE_BOOL, .boolean = false}},
    };
    size_t length = 0, left = (size_t)(reader->end - reader->at);
    while (length < left && is_word(reader->at[length]))
        length++;
    for (size_t i = 0; i < HUTCH_COUNT(words); i++) {
        if (strlen(words[i].word) == length && !memcmp(reader->at, words[i].word, length)) {
            value->type = words[i].value.type;
            value->boolean = words[i].value.boolean;
            reader->at += length;
            return 0;
        }
    }
    return fail_expected(reader, "a value");
}

static int read_value(struct reader *reader, struct hutch_value *value);

static int read_member(struct reader *reader, struct hutch_value *value)
{
    size_t length = 0;
    skip_space(reader);
    unsigned line = reader->line;
    if (!take(reader, '"'))
        return fail_expected(reader, "a key in quotes");
    int r = take_string(reader, &value->key, &length);
    if (r < 0)
        return r;
    skip_space(reader);
    if (!take(reader, ':'))
        return fail_expected(reader, "':'");
    r = read_value(reader, value);
    value->line = line;
    return r;
}

/* Reads the items up to the closing bracket. */
static int fill_list(struct reader *reader, struct hutch_value *list, bool is_object)
{
    char close = is_object ? '}' : ']';
    skip_space(reader);
    if (take(reader, close))
        return 0;
    do {
        struct hutch_value *item = hutch_value_add(list);
        if (!item)
            return hutch_fail_nomem(reader->err);
        int r = is_object ? read_member(reader, item) : read_value(reader, item);
        if (r < 0)
            return r;
        skip_space(reader);
    } while (take(reader, ','));
    if (!take(reader, close))
        return fail_expected(reader, is_object ? "',' or '}'" : "',' or ']'");
    return is_object ? hutch_value_check_keys(list, reader->err) : 0;
}

static int read_list(struct reader *reader, struct hutch_value *list)
{
    bool is_object = *reader->at++ == '{';
    if (reader->depth >= HUTCH_DOCUMENT_MAX_DEPTH)
        return fail_at(reader, "the document is nested too deeply");
    list->type = is_object ? HUTCH_VALUE_OBJECT : HUTCH_VALUE_ARRAY;
    reader->depth++;
    int r = fill_list(reader, list, is_object);
    reader->depth--;
    return r;
}

/* What was read before a failure stays in the value, whose owner releases it. */
static int read_value(struct reader *reader, struct hutch_value *value)
{
    skip_space(reader);
    value->line = reader->line;
    char c = peek(reader);
    if (c == '{' || c == '[')
        return read_list(reader, value);
    if (c == '"')
        return read_string(reader, value);
    if (c == '-' || is_digit(c))
        return read_number(reader, value);
    return read_word(reader, value);
}

int hutch_json_parse(const char *text, size_t length, struct hutch_value *ret_value,
                     struct hutch_error *err)
{
    hutch_cleanup(hutch_value_done) struct hutch_value value = {0};
    const char *end = length ? text + length : text; /* of no bytes it may be NULL */
    struct reader reader = {.at = text, .end = end, .line = 1, .err = err};
    int r = hutch_value_check_size(length, err);
    if (r < 0)
        return r;
    if (length >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3))
        return fail_at(&reader, "the document begins with a byte order mark, remove it");
    r = read_value(&reader, &value);
    if (r < 0)
        return r;
    skip_space(&reader);
    if (reader.at != reader.end)
        return fail_expected(&reader, "the end of the document");
    *ret_value = value;
    value = (struct hutch_value){0};
    return 0;
}
