/* SPDX-License-Identifier: Apache-2.0 */
/* The target of a request: a path and a query, or a whole URL that says the same as Host. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "http/parse.h"

/* %41, and never %00: what is behind a NUL is not there to half of all code. */
static bool escape_is_valid(const char *at)
{
    return isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2]) &&
           !(at[1] == '0' && at[2] == '0');
}

/* RFC 3986 has no other letters. Brackets are let through in a query, where everybody writes them
 * and nobody reads them in two ways. */
static bool letters_are_valid(const char *text, const char *others)
{
    for (; *text; text++) {
        if (*text == '%' && !escape_is_valid(text))
            return false;
        if (!isalnum((unsigned char)*text) && !strchr(others, *text))
            return false;
    }
    return true;
}

static int split(struct head *head, const char *from, struct refusal *refusal)
{
    const char *question = strchr(from, '?');
    size_t length = question ? (size_t)(question - from) : strlen(from);
    memcpy(head->path, from, length);
    head->path[length] = '\0';
    head->query = question ? question + 1 : "";
    if (!letters_are_valid(head->path, "-._~!$&'()*+,;=:@%/") ||
        !letters_are_valid(head->query, "-._~!$&'()*+,;=:@%/?[]"))
        return refuse(refusal, 400,
                      "The target has a letter that must be percent-encoded, or is so wrongly.");
    return 0;
}

/* "http://host/path": as a proxy is asked. */
static int read_absolute(struct head *head, const char *host, bool has_tls, struct refusal *refusal)
{
    const char *scheme = has_tls ? "https://" : "http://";
    size_t skip = strlen(scheme);
    if (strncasecmp(head->target, scheme, skip) != 0)
        return refuse(refusal, 400, "The target is not a path, nor a URL of this server.");
    const char *authority = head->target + skip;
    size_t length = strcspn(authority, "/?");
    if (!host || strlen(host) != length || strncasecmp(authority, host, length) != 0)
        return refuse(refusal, 400, "The target names another host than Host does.");
    if (authority[length] != '/')
        return refuse(refusal, 400, "The target has no path.");
    return split(head, authority + length, refusal);
}

int head_read_target(struct head *head, const char *host, bool has_tls, struct refusal *refusal)
{
    static const char *const not_here[] = {"CONNECT", "TRACE", "PRI", NULL};
    for (const char *const *method = not_here; *method; method++)
        if (!strcmp(head->method, *method))
            return refuse(refusal, 501, "The method of the request is not known here.");
    if (head->target[0] == '/')
        return split(head, head->target, refusal);
    if (strcmp(head->target, "*") != 0)
        return read_absolute(head, host, has_tls, refusal);
    if (strcmp(head->method, "OPTIONS") != 0)
        return refuse(refusal, 400, "The target '*' is for OPTIONS only.");
    memcpy(head->path, "*", 2);
    head->query = "";
    return 0;
}
