/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern is a list of pieces, and a path is compared with all of them at once: after each of its
 * bytes a row says which beginnings of the pattern fit what was read. So no pattern, however it is
 * written, takes longer than its length times the path's. */
#include "image/ignore.h"

#include <stdlib.h>
#include <string.h>

#include "util/own.h"

#define LINE_MAX_BYTES 4096

enum piece_kind {
    PIECE_ONE,  /* a character of the set */
    PIECE_STAR, /* "*": any that are in one name */
    PIECE_DEEP, /* "**" before something: nothing, or whole directories */
    PIECE_ALL,  /* "**" at the end */
};

struct piece {
    enum piece_kind kind;
    bool is_wide;          /* the further bytes of a character of UTF-8 belong to it */
    unsigned char set[32]; /* a bit for each byte */
};

struct ignore_pattern {
    bool is_exception;
    char *text; /* as it was cleaned */
    struct piece *pieces;
    size_t count;
};

void ignore_done(struct ignore *ignore)
{
    for (size_t i = 0; i < ignore->count; i++) {
        free(ignore->patterns[i].text);
        free(ignore->patterns[i].pieces);
    }
    free(ignore->patterns);
    free(ignore->scratch);
    *ignore = (struct ignore){0};
}

/* ---- reading a line ---- */

/* "a//b/./c/../d/" is "a/b/d"; what leads out stays, and matches nothing. Nothing leads out of "/",
 * which is the directory: "/../a" is "a". */
static void clean(char *text)
{
    bool is_absolute = *text == '/';
    char *out = text, *first;
    const char *in = text + strspn(text, "/");
    first = out;
    while (*in) {
        size_t length = strcspn(in, "/");
        bool is_up = length == 2 && !strncmp(in, "..", 2);
        char *last = out > first ? memrchr(first, '/', (size_t)(out - first)) : NULL;
        const char *name = last ? last + 1 : first;
        if (is_up && out > first && !(out - name == 2 && !strncmp(name, "..", 2))) {
            out = last ? last : first;
        } else if (!(length == 1 && *in == '.') && !(is_up && is_absolute)) {
            if (out > first)
                *out++ = '/';
            memmove(out, in, length);
            out += length;
        }
        in += length;
        in += strspn(in, "/");
    }
    *out = '\0';
}

static void set_add(struct piece *piece, unsigned from, unsigned to)
{
    for (; from <= to; from++)
        piece->set[from / 8] |= (unsigned char)(1u << from % 8);
}

static bool set_has(const struct piece *piece, unsigned char byte)
{
    return piece->set[byte / 8] & 1u << byte % 8;
}

/* One member of a class, which may be written with a backslash. False: there is none. */
static bool take_member(const char **text, unsigned *ret_byte)
{
    if (**text == '\\')
        (*text)++;
    if (!**text)
        return false;
    *ret_byte = (unsigned char)*(*text)++;
    return true;
}

/* What follows a '['. False: it has no end, or nothing in it. */
static bool take_class(const char **text, struct piece *piece)
{
    bool is_negated = **text == '^';
    bool is_empty = true;
    *text += is_negated;
    for (; is_empty || **text != ']'; is_empty = false) {
        unsigned from, to;
        if (**text == ']' || **text == '-' || !take_member(text, &from))
            return false;
        to = from;
        if (**text == '-' && (++*text, **text == ']' || !take_member(text, &to) || to < from))
            return false;
        set_add(piece, from, to);
    }
    (*text)++;
    for (size_t i = 0; is_negated && i < sizeof(piece->set); i++)
        piece->set[i] = (unsigned char)~piece->set[i];
    piece->is_wide = true;
    piece->set['/' / 8] &= (unsigned char)~(1u << '/' % 8);
    return true;
}

static void take_stars(const char **text, struct piece *piece)
{
    piece->kind = PIECE_STAR;
    if (**text != '*')
        return;
    (*text)++;
    *text += **text == '/';
    piece->kind = **text ? PIECE_DEEP : PIECE_ALL;
}

static bool take_piece(const char **text, struct piece *piece)
{
    unsigned char byte = (unsigned char)*(*text)++;
    if (byte == '*') {
        take_stars(text, piece);
        return true;
    }
    if (byte == '[')
        return take_class(text, piece);
    if (byte == '?') {
        set_add(piece, 0, 255);
        piece->set['/' / 8] &= (unsigned char)~(1u << '/' % 8);
        piece->is_wide = true;
        return true;
    }
    if (byte == '\\') {
        byte = (unsigned char)**text;
        if (!byte)
            return false;
        (*text)++;
    }
    set_add(piece, byte, byte);
    return true;
}

static int read_pattern(struct ignore_pattern *pattern, unsigned line, struct hutch_error *err)
{
    const char *text = pattern->text;
    pattern->pieces = calloc(strlen(text) + 1, sizeof(*pattern->pieces));
    if (!pattern->pieces)
        return hutch_fail_nomem(err);
    while (*text)
        if (!take_piece(&text, &pattern->pieces[pattern->count++]))
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "line %u is no pattern: a '[' needs its ']' with something between "
                              "them, a '\\' something behind it",
                              line);
    return 0;
}

static int add_pattern(struct ignore *ignore, const char *text, size_t length, unsigned line,
                       struct hutch_error *err)
{
    bool is_exception = *text == '!';
    struct ignore_pattern *longer =
        reallocarray(ignore->patterns, ignore->count + 1, sizeof(*longer));
    if (!longer)
        return hutch_fail_nomem(err);
    ignore->patterns = longer;
    struct ignore_pattern *pattern = &longer[ignore->count];
    size_t skip = is_exception ? 1 + strspn(text + 1, " \t\v\f\r") : 0;
    if (length <= skip)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "line %u is a '!' and no pattern", line);
    *pattern = (struct ignore_pattern){.is_exception = is_exception,
                                       .text = strndup(text + skip, length - skip)};
    if (!pattern->text)
        return hutch_fail_nomem(err);
    ignore->count++;
    clean(pattern->text);
    return read_pattern(pattern, line, err);
}

static int add_line(struct ignore *ignore, const char *text, size_t length, unsigned line,
                    struct hutch_error *err)
{
    static const char blanks[] = " \t\v\f\r";
    if (*text == '#')
        return 0;
    for (; length && strchr(blanks, *text); length--)
        text++;
    while (length && strchr(blanks, text[length - 1]))
        length--;
    if (!length)
        return 0;
    if (length > LINE_MAX_BYTES)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "line %u is longer than %d bytes", line,
                          LINE_MAX_BYTES);
    return add_pattern(ignore, text, length, line, err);
}

int ignore_parse(const char *text, struct ignore *ret_ignore, struct hutch_error *err)
{
    struct ignore ignore = {0};
    size_t longest = 0;
    int r = 0;
    if (!strncmp(text, "\xef\xbb\xbf", 3))
        text += 3;
    for (unsigned line = 1; r >= 0 && *text; line++) {
        size_t length = strcspn(text, "\n");
        r = add_line(&ignore, text, length, line, err);
        text += length;
        text += *text == '\n';
    }
    for (size_t i = 0; i < ignore.count; i++)
        if (ignore.patterns[i].count > longest)
            longest = ignore.patterns[i].count;
    if (r >= 0 && !(ignore.scratch = malloc(3 * (longest + 1))))
        r = hutch_fail_nomem(err);
    if (r < 0) {
        ignore_done(&ignore);
        return r;
    }
    *ret_ignore = ignore;
    return 0;
}

/* ---- comparing ---- */

/* Which beginnings fit: of nothing, of what was read before the last byte, of all of it. */
struct rows {
    unsigned char *now;
    unsigned char *before;
    unsigned char *ever; /* at any byte before the last */
};

static void take_byte(const struct ignore_pattern *pattern, const struct rows *rows, char byte)
{
    bool is_more = ((unsigned char)byte & 0xc0) == 0x80;
    rows->now[0] = 0;
    for (size_t i = 0; i < pattern->count; i++) {
        const struct piece *piece = &pattern->pieces[i];
        switch (piece->kind) {
        case PIECE_ONE:
            rows->now[i + 1] = (rows->before[i] && set_has(piece, (unsigned char)byte)) ||
                               (rows->before[i + 1] && piece->is_wide && is_more);
            break;
        case PIECE_STAR:
            rows->now[i + 1] = rows->now[i] || (rows->before[i + 1] && byte != '/');
            break;
        case PIECE_DEEP:
            rows->now[i + 1] = rows->now[i] || (rows->ever[i] && byte == '/');
            break;
        case PIECE_ALL:
            rows->now[i + 1] = rows->now[i] || rows->before[i + 1];
            break;
        }
    }
}

/* The path itself, or a directory above it. */
static bool matches(const struct ignore_pattern *pattern, unsigned char *scratch, const char *path)
{
    size_t width = pattern->count + 1;
    struct rows rows = {scratch, scratch + width, scratch + 2 * width};
    memset(scratch, 0, 3 * width);
    rows.now[0] = 1;
    for (size_t i = 0; i < pattern->count && pattern->pieces[i].kind != PIECE_ONE; i++)
        rows.now[i + 1] = 1;
    for (; *path; path++) {
        if (*path == '/' && rows.now[pattern->count])
            return true;
        for (size_t i = 0; i < width; i++)
            rows.ever[i] |= rows.now[i];
        unsigned char *now = rows.before;
        rows.before = rows.now;
        rows.now = now;
        take_byte(pattern, &rows, *path);
    }
    return rows.now[pattern->count];
}

bool ignore_excludes(const struct ignore *ignore, const char *path)
{
    for (size_t i = ignore->count; i > 0; i--)
        if (matches(&ignore->patterns[i - 1], ignore->scratch, path))
            return !ignore->patterns[i - 1].is_exception;
    return false;
}

bool ignore_may_hold(const struct ignore *ignore, const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < ignore->count; i++) {
        const struct ignore_pattern *pattern = &ignore->patterns[i];
        if (pattern->is_exception && !strncmp(pattern->text, path, length) &&
            pattern->text[length] == '/')
            return true;
    }
    return false;
}
