/* SPDX-License-Identifier: Apache-2.0 */
#include "core/check.h"

#include <limits.h>
#include <string.h>

#include "core/promise.h"
#include "util/json_out.h"

/* The native backend maps this many ids, as every container image expects. */
#define LARGEST_ID 65535
#define IMAGE_MAX_BYTES 720 /* the longest name, with a tag and a digest */
#define HOSTNAME_MAX 64     /* __NEW_UTS_LEN */

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_letter(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int hutch_check_anything(char *text, struct hutch_error *err)
{
    (void)text;
    (void)err;
    return 0;
}

int hutch_check_name(char *text, struct hutch_error *err)
{
    size_t length = 0;
    for (const char *at = text; *at; at++, length++) {
        bool inner = *at == '_' || *at == '.' || *at == '-';
        if (!is_lower(*at) && !is_digit(*at) && !(inner && length))
            break;
    }
    if (!length || text[length] || length > 63)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.80s' is not a name, write 1 to 63 of a-z 0-9 _ . - beginning with a "
                          "letter or a digit, such as 'build-1'",
                          text);
    return 0;
}

/* One label of a host name: letters, digits and inner hyphens. Returns its length, 0 when wrong. */
static size_t label_length(const char *text)
{
    size_t length = 0;
    while (is_letter(text[length]) || is_digit(text[length]) || text[length] == '-')
        length++;
    if (!length || length > 63 || text[0] == '-' || text[length - 1] == '-')
        return 0;
    return length;
}

int hutch_check_hostname(char *text, struct hutch_error *err)
{
    const char *at = text;
    size_t length = label_length(at);
    while (length && at[length] == '.') {
        at += length + 1;
        length = label_length(at);
    }
    if (!length || at[length] || strlen(text) > HOSTNAME_MAX)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.80s' is not a host name, write at most %d letters, digits, '-' and "
                          "'.', such as 'build-1'",
                          text, HOSTNAME_MAX);
    return 0;
}

/* All digits: an id, whatever its size; it is never looked up as a name. */
static bool is_number(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!is_digit(text[i]))
            return false;
    return length > 0;
}

static bool id_fits(const char *text, size_t length)
{
    unsigned id = 0;
    for (size_t i = 0; i < length && id <= LARGEST_ID; i++)
        id = id * 10 + (unsigned)(text[i] - '0');
    return id <= LARGEST_ID;
}

static bool is_account(const char *text, size_t length)
{
    if (!length || length > 32 || !(is_letter(text[0]) || text[0] == '_'))
        return false;
    for (size_t i = 1; i < length; i++)
        if (!is_letter(text[i]) && !is_digit(text[i]) && !strchr("_.-", text[i]))
            return false;
    return true;
}

static int check_account(const char *all, const char *part, size_t length, struct hutch_error *err)
{
    if (is_number(part, length)) {
        if (id_fits(part, length))
            return 0;
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.80s' has an id above %d, the largest there is in a sandbox", all,
                          LARGEST_ID);
    }
    if (is_account(part, length))
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.80s' is not a user, write it like '1000', '1000:1000' or 'nobody'", all);
}

int hutch_check_user(char *text, struct hutch_error *err)
{
    size_t length = strcspn(text, ":");
    int r = check_account(text, text, length, err);
    if (r < 0 || !text[length])
        return r;
    const char *group = text + length + 1;
    return check_account(text, group, strlen(group), err);
}

void hutch_path_trim(char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
}

static bool component_is_normal(const char *text, size_t length)
{
    return length && !(length == 1 && text[0] == '.') && !(length == 2 && !memcmp(text, "..", 2));
}

bool hutch_path_is_normal(const char *path)
{
    if (path[0] != '/')
        return false;
    if (!path[1])
        return true;
    for (const char *at = path + 1;;) {
        size_t length = strcspn(at, "/");
        if (!component_is_normal(at, length))
            return false;
        if (!at[length])
            return true;
        at += length + 1;
    }
}

bool hutch_path_is_within(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    if (!strcmp(directory, "/")) /* it ends with the slash that follows every other */
        return path[0] == '/';
    return !strncmp(path, directory, length) && (!path[length] || path[length] == '/');
}

int hutch_check_host_path(char *text, struct hutch_error *err)
{
    if (!*text)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'' is not a path, write it like '/srv/data' or './data'");
    if (strlen(text) >= PATH_MAX)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.60s...' is too long for a path, the most is %d bytes", text,
                          PATH_MAX - 1);
    return 0;
}

/* /proc is refused because a directory there may be a descriptor that leads out of the sandbox. */
int hutch_check_workdir(char *text, struct hutch_error *err)
{
    int r = hutch_check_host_path(text, err);
    if (r < 0)
        return r;
    hutch_path_trim(text);
    if (!hutch_path_is_normal(text))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.80s' is not an absolute path without '.', '..' and '//', write it "
                          "like '/workspace/src'",
                          text);
    if (hutch_path_is_within(text, "/proc"))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.80s' lies in /proc, choose another directory, such as '/workspace'",
                          text);
    return 0;
}

int hutch_check_image(char *text, struct hutch_error *err)
{
    size_t length = strlen(text);
    for (const char *at = text; *at; at++)
        if (*at <= ' ' || *at >= 0x7f)
            length = 0;
    if (!length || length > IMAGE_MAX_BYTES)
        return hutch_fail(
            err, HUTCH_E_INVALID, 0,
            "'%.80s' is not the name of an image, write it like 'python:3.11-slim' or "
            "'ghcr.io/owner/name@sha256:...'",
            text);
    return 0;
}

static bool is_one_of(const char *text, const char *const *choices, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(text, choices[i]))
            return true;
    return false;
}

int hutch_check_isolation(char *text, struct hutch_error *err)
{
    static const char *const choices[] = {"namespaces", "container", "gvisor"};
    if (is_one_of(text, choices, sizeof(choices) / sizeof(choices[0])))
        return 0;
    return hutch_fail(
        err, HUTCH_E_INVALID, 0,
        "'%.80s' is not a level of isolation, write 'namespaces', 'container' or 'gvisor'", text);
}

int hutch_check_digest(char *text, struct hutch_error *err)
{
    if (strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64)
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.80s' is not a digest of 64 hexadecimal digits",
                      text);
}

int hutch_check_pull(char *text, struct hutch_error *err)
{
    static const char *const choices[] = {"always", "missing", "never"};
    if (is_one_of(text, choices, sizeof(choices) / sizeof(choices[0])))
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.80s' is not when to pull, write 'always', 'missing' or 'never'", text);
}

int hutch_check_key(char *text, struct hutch_error *err)
{
    if (!*text)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'' is not a key, write it like 'LANG'");
    if (strchr(text, '='))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.80s' is not a key, leave out the '=' and what follows", text);
    return 0;
}

/* A character of the first or the second set of controls in UTF-8: U+0000 to U+001F, U+007F to
 * U+009F. */
static bool is_control(const char *at)
{
    unsigned char byte = (unsigned char)at[0], next = (unsigned char)at[1];
    return byte < 0x20 || byte == 0x7f || (byte == 0xc2 && next >= 0x80 && next < 0xa0);
}

int hutch_check_label(const char *text, struct hutch_error *err)
{
    if (!hutch_utf8_valid(text, strlen(text)))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "a label is not UTF-8, write it in letters such as 'team=red'");
    for (const char *at = text; *at; at++)
        if (is_control(at))
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "a label has a control character after '%.*s', leave it out",
                              (int)(at - text < 80 ? at - text : 80), text);
    return 0;
}

int hutch_check_label_key(char *text, struct hutch_error *err)
{
    int r = hutch_check_key(text, err);
    return r < 0 ? r : hutch_check_label(text, err);
}

int hutch_check_promise(char *text, struct hutch_error *err)
{
    hutch_promise_set set;
    return hutch_promise_parse(text, &set, err);
}
