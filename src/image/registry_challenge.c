/* SPDX-License-Identifier: Apache-2.0 */
#include "image/registry_challenge.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "util/own.h"

#define TOKEN_CHARACTERS \
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static const struct {
    const char *name;
    enum challenge_kind kind;
} schemes[] = {
    {"Basic", CHALLENGE_BASIC},
    {"Bearer", CHALLENGE_BEARER},
};

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t");
}

static enum challenge_kind scheme_of(const char *name, size_t length)
{
    for (size_t i = 0; i < HUTCH_COUNT(schemes); i++)
        if (strlen(schemes[i].name) == length && !strncasecmp(schemes[i].name, name, length))
            return schemes[i].kind;
    return CHALLENGE_NONE;
}

/* "text", in which \ makes the next character an ordinary one. Returns what follows, or NULL. */
static const char *read_quoted(const char *at, char value[CHALLENGE_VALUE_BYTES])
{
    size_t length = 0;
    for (at++; *at != '"'; at++) {
        if (*at == '\\')
            at++;
        if ((unsigned char)*at < ' ' || *at == 127 || length == CHALLENGE_VALUE_BYTES - 1)
            return NULL;
        value[length++] = *at;
    }
    value[length] = '\0';
    return at + 1;
}

static const char *read_value(const char *at, char value[CHALLENGE_VALUE_BYTES])
{
    if (*at == '"')
        return read_quoted(at, value);
    size_t length = strspn(at, TOKEN_CHARACTERS);
    if (length == 0 || length >= CHALLENGE_VALUE_BYTES)
        return NULL;
    memcpy(value, at, length);
    value[length] = '\0';
    return at + length;
}

/* Keeps a parameter that we know. False: it was there before. */
static bool keep_parameter(struct challenge *challenge, const char *name, size_t length,
                           const char *value)
{
    char *slot = NULL;
    if (length == 5 && !strncasecmp(name, "realm", 5))
        slot = challenge->realm;
    else if (length == 7 && !strncasecmp(name, "service", 7))
        slot = challenge->service;
    if (!slot)
        return true;
    if (*slot)
        return false;
    memcpy(slot, value, strlen(value) + 1);
    return true;
}

/* One "name=value" if the next thing is one: what follows it, `at` itself when it is something
 * else, NULL when it is torn. */
static const char *read_parameter(const char *at, struct challenge *challenge)
{
    char value[CHALLENGE_VALUE_BYTES];
    size_t length = strspn(at, TOKEN_CHARACTERS);
    const char *equals = skip_space(at + length);
    if (length == 0 || *equals != '=')
        return at;
    const char *end = read_value(skip_space(equals + 1), value);
    if (!end || !keep_parameter(challenge, at, length, value))
        return NULL;
    return skip_space(end);
}

static const char *skip_commas(const char *at)
{
    while (*at == ',' || *at == ' ' || *at == '\t')
        at++;
    return at;
}

/* A scheme and its parameters. Returns what follows, or NULL. */
static const char *read_challenge(const char *at, struct challenge *challenge)
{
    size_t length = strspn(at, TOKEN_CHARACTERS);
    if (length == 0)
        return NULL;
    challenge->kind = scheme_of(at, length);
    at += length;
    if (*at && *at != ' ' && *at != '\t' && *at != ',')
        return NULL;
    at = skip_space(at);
    while (*at && *at != ',') {
        const char *next = read_parameter(at, challenge);
        if (!next || next == at || (*next && *next != ','))
            return NULL;
        const char *after = skip_commas(next);
        /* the next word is another parameter, or another scheme */
        size_t word = strspn(after, TOKEN_CHARACTERS);
        if (*skip_space(after + word) != '=')
            return after;
        at = after;
    }
    return skip_commas(at);
}

int challenge_parse(const char *header, struct challenge *challenge, struct hutch_error *err)
{
    struct challenge best = *challenge;
    const char *at = skip_commas(header);
    while (*at) {
        struct challenge one = {0};
        const char *next = read_challenge(at, &one);
        if (!next || (one.kind == CHALLENGE_BEARER && !*one.realm))
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "it asks for a login in a way that cannot be understood "
                              "(WWW-Authenticate)");
        if (one.kind > best.kind)
            best = one;
        at = next;
    }
    *challenge = best;
    return 0;
}
