/* SPDX-License-Identifier: Apache-2.0 */
/* Which images a Dockerfile asks for. What is read otherwise than buildah reads it costs nothing
 * worse than an image that is looked for in vain, or one that buildah fetches by itself. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "image/dockerfile.h"
#include "util/buf.h"
#include "util/own.h"

#define VALUE_MAX_BYTES 1024

struct bases {
    const char *const *build_args;
    struct hutch_strlist args; /* "NAME=VALUE" before the first FROM, the latest last */
    struct hutch_strlist stages;
    struct hutch_strlist *names;
};

static void bases_done(struct bases *bases)
{
    hutch_strlist_done(&bases->args);
    hutch_strlist_done(&bases->stages);
}

/* ---- variables ---- */

static const char *value_in(const char *pair, const char *name, size_t length)
{
    return !strncmp(pair, name, length) && pair[length] == '=' ? pair + length + 1 : NULL;
}

static const char *build_arg(const struct bases *bases, const char *name, size_t length)
{
    const char *value = NULL;
    for (const char *const *pair = bases->build_args; pair && *pair; pair++)
        if (value_in(*pair, name, length))
            value = value_in(*pair, name, length);
    return value;
}

static const char *value_of(const struct bases *bases, const char *name, size_t length)
{
    for (size_t i = bases->args.count; i > 0; i--) {
        const char *value = value_in(bases->args.items[i - 1], name, length);
        if (value)
            return value;
    }
    return "";
}

static size_t name_length(const char *text)
{
    return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
}

/* "{NAME}", "{NAME:-word}" or "{NAME:+word}", without what a word may have in it. Returns what
 * follows. */
static const char *expand_braces(const struct bases *bases, const char *text, struct hutch_buf *buf)
{
    const char *end = strchr(text, '}');
    size_t length = name_length(++text);
    if (!end)
        return text + strlen(text);
    const char *value = value_of(bases, text, length), *rest = text + length;
    bool replaces = (!strncmp(rest, ":-", 2) && !*value) || (!strncmp(rest, ":+", 2) && *value);
    if (replaces)
        hutch_buf_append(buf, rest + 2, (size_t)(end - rest) - 2);
    else if (strncmp(rest, ":+", 2) != 0)
        hutch_buf_puts(buf, value);
    return end + 1;
}

/* A word with the values of its variables, without quotes. */
static int expand(const struct bases *bases, const char *text, size_t length, char **ret_text,
                  struct hutch_error *err)
{
    struct hutch_buf buf = HUTCH_BUF(VALUE_MAX_BYTES);
    const char *end = text + length;
    hutch_buf_puts(&buf, "");
    while (text < end) {
        size_t name = *text == '$' ? name_length(text + 1) : 0;
        if (name) {
            hutch_buf_puts(&buf, value_of(bases, text + 1, name));
            text += 1 + name;
        } else if (text[0] == '$' && text[1] == '{') {
            text = expand_braces(bases, text + 1, &buf);
        } else {
            hutch_buf_append(&buf, text, !strchr("\"'", *text));
            text++;
        }
    }
    if (buf.failed) { /* no name is that long */
        hutch_buf_done(&buf);
        *ret_text = strdup("");
        return *ret_text ? 0 : hutch_fail_nomem(err);
    }
    return hutch_buf_take(&buf, ret_text, NULL, err);
}

/* ---- words ---- */

/* The next word of an instruction; false: there is none. */
static bool next_word(const char **text, const char **ret_word, size_t *ret_length)
{
    *text += strspn(*text, " \t");
    *ret_word = *text;
    *ret_length = strcspn(*text, " \t");
    *text += *ret_length;
    return *ret_length > 0;
}

static int add_name(const struct bases *bases, const char *name, struct hutch_error *err)
{
    if (!*name || !strcmp(name, "scratch") || strspn(name, "0123456789") == strlen(name) ||
        hutch_strlist_has(bases->names, name))
        return 0;
    for (size_t i = 0; i < bases->stages.count; i++)
        if (!strcasecmp(bases->stages.items[i], name))
            return 0;
    return hutch_strlist_add(bases->names, name, err);
}

/* ARG NAME[=VALUE]...; what the build says counts more. */
static int read_arg(struct bases *bases, const char *text, struct hutch_error *err)
{
    const char *word;
    size_t length;
    int r = 0;
    while (r >= 0 && next_word(&text, &word, &length)) {
        hutch_autofree char *value = NULL, *pair = NULL;
        size_t name = name_length(word), skip = name + (word[name] == '=');
        const char *given = build_arg(bases, word, name);
        r = expand(bases, word + skip, length - skip, &value, err);
        if (r < 0)
            break;
        if (asprintf(&pair, "%.*s=%s", (int)name, word, given ? given : value) < 0) {
            pair = NULL;
            return hutch_fail_nomem(err);
        }
        r = hutch_strlist_take(&bases->args, HUTCH_TAKE_PTR(pair), err);
    }
    return r;
}

/* FROM [--platform=P] IMAGE [AS STAGE] */
static int read_from(struct bases *bases, const char *text, struct hutch_error *err)
{
    hutch_autofree char *name = NULL;
    const char *word;
    size_t length;
    do {
        if (!next_word(&text, &word, &length))
            return 0;
    } while (!strncmp(word, "--", 2));
    int r = expand(bases, word, length, &name, err);
    if (r >= 0)
        r = add_name(bases, name, err);
    if (r >= 0 && next_word(&text, &word, &length) && length == 2 && !strncasecmp(word, "AS", 2) &&
        next_word(&text, &word, &length))
        r = hutch_strlist_addn(&bases->stages, word, length, err);
    return r;
}

/* --from=IMAGE of a COPY, and from=IMAGE of a RUN's --mount. */
static int read_flags(struct bases *bases, const char *text, struct hutch_error *err)
{
    const char *word;
    size_t length;
    int r = 0;
    while (r >= 0 && next_word(&text, &word, &length) && !strncmp(word, "--", 2)) {
        hutch_autofree char *flag = strndup(word + 2, length - 2);
        if (!flag)
            return hutch_fail_nomem(err);
        char *from = !strncmp(flag, "mount=", 6) ? strstr(flag, "from=") : flag;
        if (!from || strncmp(from, "from=", 5) != 0 || (from > flag && !strchr(",=", from[-1])))
            continue;
        from[strcspn(from, ",")] = '\0';
        r = add_name(bases, from + 5, err);
    }
    return r;
}

int dockerfile_bases(const char *dockerfile, const char *const *build_args,
                     struct hutch_strlist *ret_names, struct hutch_error *err)
{
    hutch_cleanup(bases_done) struct bases bases = {.build_args = build_args, .names = ret_names};
    struct dockerfile_walk walk = {.next = dockerfile};
    bool has_begun = false;
    int r = 0;
    while (r >= 0 && dockerfile_next(&walk)) {
        const char *rest = walk.text + strcspn(walk.text, " \t");
        if (dockerfile_is(walk.text, "FROM")) {
            has_begun = true;
            r = read_from(&bases, rest, err);
        } else if (dockerfile_is(walk.text, "ARG") && !has_begun) {
            r = read_arg(&bases, rest, err);
        } else if (dockerfile_is(walk.text, "COPY") || dockerfile_is(walk.text, "RUN")) {
            r = read_flags(&bases, rest, err);
        }
    }
    return r;
}
