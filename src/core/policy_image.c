/* SPDX-License-Identifier: Apache-2.0 */
/* Which images may be used. A pattern is a name as people write it, completed in the same way
 * (docker.io, library/, latest), in which '*' stands for anything within one part of the name and
 * "**" for any number of parts; or a digest; or a name with a digest. Parts are what slashes
 * separate, and the tag is one of its own, so that no star reaches beyond what it was put into. */
#include <stdio.h>
#include <string.h>

#include "core/policy.h"

#define DIGEST_LENGTH 71 /* "sha256:" and 64 digits */

/* Where to go on when what follows a star does not match after so much of the text. */
struct star {
    const char *pattern; /* NULL: there is no such star */
    const char *text;
};

static bool widen(struct star *star, const char *stops, const char **pattern, const char **text)
{
    if (!star->pattern || !*star->text || strchr(stops, *star->text))
        return false;
    *text = ++star->text;
    *pattern = star->pattern;
    return true;
}

/* To widen the last star of each kind is enough: what an earlier one could reach by taking more,
 * the last one reaches too. */
bool policy_glob(const char *pattern, const char *text, const char *stops)
{
    struct star narrow = {0}, wide = {0};
    for (;;) {
        if (*pattern == '*') {
            bool is_wide = pattern[1] == '*';
            pattern += strspn(pattern, "*");
            *(is_wide ? &wide : &narrow) = (struct star){pattern, text};
            if (is_wide)
                narrow = (struct star){0};
        } else if (*pattern && *pattern == *text) {
            pattern++;
            text++;
        } else if (!*pattern && !*text) {
            return true;
        } else if (!widen(&narrow, stops, &pattern, &text)) {
            narrow = (struct star){0};
            if (!widen(&wide, "", &pattern, &text))
                return false;
        }
    }
}

static bool is_digest(const char *text)
{
    return strlen(text) == DIGEST_LENGTH && !strncmp(text, "sha256:", 7) &&
           strspn(text + 7, "0123456789abcdef") == DIGEST_LENGTH - 7;
}

/* A pattern's parts. */
struct pattern {
    char name[512];
    char tag[160];      /* empty: it has a digest */
    const char *digest; /* NULL: none */
};

/* The same rule as for names: the first part is a registry when it has a dot or a colon, or is
 * localhost. */
static bool names_registry(const char *text)
{
    size_t first = strcspn(text, "/");
    if (!text[first])
        return false;
    return memchr(text, '.', first) || memchr(text, ':', first) ||
           (first == 9 && !strncmp(text, "localhost", 9)) ||
           (first == 2 && !strncmp(text, "**", 2));
}

static bool split(const char *text, struct pattern *ret_pattern)
{
    const char *at = strchr(text, '@');
    size_t length = at ? (size_t)(at - text) : strlen(text);
    const char *slash = memrchr(text, '/', length);
    const char *last = slash ? slash + 1 : text;
    const char *colon = memchr(last, ':', length - (size_t)(last - text));
    size_t name = colon ? (size_t)(colon - text) : length;
    bool ends_in_star = name > 0 && text[name - 1] == '*';
    const char *prefix = !strncmp(text, "**", 2) || names_registry(text) ? ""
                         : slash                                         ? "docker.io/"
                                                                         : "docker.io/library/";
    int n =
        snprintf(ret_pattern->name, sizeof(ret_pattern->name), "%s%.*s", prefix, (int)name, text);
    int t = colon ? snprintf(ret_pattern->tag, sizeof(ret_pattern->tag), "%.*s",
                             (int)(length - name - 1), colon + 1)
                  : snprintf(ret_pattern->tag, sizeof(ret_pattern->tag), "%s",
                             at             ? ""
                             : ends_in_star ? "*"
                                            : "latest");
    ret_pattern->digest = at ? at + 1 : NULL;
    return name > 0 && n > 0 && (size_t)n < sizeof(ret_pattern->name) && t >= 0 &&
           (size_t)t < sizeof(ret_pattern->tag) && (!colon || t > 0);
}

int policy_check_image_pattern(char *text, struct hutch_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-/:@*";
    struct pattern pattern = {0};
    if (is_digest(text))
        return 0;
    if (*text && strspn(text, letters) == strlen(text) && *text != '/' && !strstr(text, "//") &&
        split(text, &pattern) && (!pattern.digest || is_digest(pattern.digest)))
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.100s' is not a pattern of images, write it like 'python:3.*', "
                      "'ghcr.io/owner/**', 'sha256:...' or 'python@sha256:...'",
                      text);
}

/* A request by digest may be anything that the name ever meant: only a pattern for every tag has
 * it. */
bool policy_image_matches(const char *text, const char *name, const char *tag, const char *digest)
{
    struct pattern pattern = {0};
    if (is_digest(text))
        return digest && !strcmp(text, digest);
    if (!split(text, &pattern) || !policy_glob(pattern.name, name, "/"))
        return false;
    if (pattern.digest)
        return digest && !strcmp(pattern.digest, digest);
    if (!tag)
        return pattern.tag[strspn(pattern.tag, "*")] == '\0';
    return policy_glob(pattern.tag, tag, "");
}

/* A pattern with a digest is asked as if that were the image's. */
static bool might_match(const char *text, const char *name, const char *tag)
{
    const char *at = strchr(text, '@');
    const char *digest = is_digest(text) ? text : at ? at + 1 : NULL;
    return policy_image_matches(text, name, tag, digest);
}

bool policy_awaits_digest(const struct policy_view *view, const char *name, const char *tag)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct policy_list *list = policy_list(&view->layers[i], POLICY_IMAGES);
        bool might = !list;
        for (size_t k = 0; list && k < list->count && !might; k++)
            might = might_match(list->items[k].text, name, tag);
        if (!might)
            return false;
    }
    return true;
}

int policy_check_image(const struct policy_view *view, const char *name, const char *tag,
                       const char *digest, struct hutch_error *err)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct policy_list *list = policy_list(&view->layers[i], POLICY_IMAGES);
        bool matches = !list;
        for (size_t k = 0; list && k < list->count && !matches; k++)
            matches = policy_image_matches(list->items[k].text, name, tag, digest);
        if (!matches)
            return policy_refuse(&view->layers[i], list->line, "images", err,
                                 "image '%.90s%s%.40s%s%.71s' is not among the allowed ones", name,
                                 tag ? ":" : "", tag ? tag : "", digest ? "@" : "",
                                 digest ? digest : "");
    }
    return 0;
}
