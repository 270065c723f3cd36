/* SPDX-License-Identifier: Apache-2.0 */
#include "core/secret_spec.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/check.h"
#include "core/egress.h"
#include "util/own.h"

#define VALUE_PLACE "{}"
#define HEADER_MAX_BYTES 512

bool hutch_secret_name_is_valid(const char *name)
{
    size_t length =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return length && !name[length] && length < HUTCH_SECRET_NAME_BYTES && *name != '.' &&
           *name != '-';
}

int hutch_check_secret(char *text, struct hutch_error *err)
{
    if (hutch_secret_name_is_valid(text))
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.80s' is not the name of a secret, use up to 64 letters, digits, '.', "
                      "'_' and '-'",
                      text);
}

void hutch_secret_done(struct hutch_secret *secret)
{
    free(secret->name);
    free(secret->env);
    free(secret->file);
    free(secret->header);
    hutch_strlist_done(&secret->hosts);
    *secret = (struct hutch_secret){0};
}

/* ---- the text form --------------------------------------------------------------------------- */

static int fail_form(const char *text, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.120s' is not a secret, write it like 'token', 'token:env=TOKEN', "
                      "'token:file=/run/secrets/token' or "
                      "'token:edge-tls=api.example.com:Authorization: Bearer {}'",
                      text);
}

/* The colon behind the last host: one that no port follows. */
static const char *end_of_hosts(const char *text)
{
    for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
        size_t digits = strspn(colon + 1, "0123456789");
        if (!digits || !colon[1 + digits] || !strchr(",:", colon[1 + digits]))
            return colon;
    }
    return NULL;
}

static int parse_edge(const char *text, struct hutch_secret *secret, struct hutch_error *err)
{
    const char *end = end_of_hosts(text);
    if (!end)
        return fail_form(text, err);
    while (text < end) {
        size_t length = strcspn(text, ",");
        if (length > (size_t)(end - text))
            length = (size_t)(end - text);
        if (hutch_strlist_addn(&secret->hosts, text, length, err) < 0)
            return -(int)err->code;
        text += length + (text[length] == ',');
    }
    secret->header = strdup(end + 1);
    return secret->header ? 0 : hutch_fail_nomem(err);
}

static int parse_env(const char *text, struct hutch_secret *secret, struct hutch_error *err)
{
    secret->env = strdup(text);
    return secret->env ? 0 : hutch_fail_nomem(err);
}

static int parse_file(const char *text, struct hutch_secret *secret, struct hutch_error *err)
{
    secret->file = strdup(text);
    return secret->file ? 0 : hutch_fail_nomem(err);
}

static int parse_edge_tls(const char *text, struct hutch_secret *secret, struct hutch_error *err)
{
    secret->intercepts_tls = true;
    return parse_edge(text, secret, err);
}

int hutch_secret_parse(const char *text, struct hutch_secret *secret, struct hutch_error *err)
{
    static const struct {
        const char *key;
        int (*parse)(const char *text, struct hutch_secret *secret, struct hutch_error *err);
    } forms[] = {
        {"env=", parse_env},
        {"file=", parse_file},
        {"edge=", parse_edge},
        {"edge-tls=", parse_edge_tls},
    };
    size_t length = strcspn(text, ":");
    const char *how = text[length] ? text + length + 1 : NULL;
    secret->name = strndup(text, length);
    if (!secret->name)
        return hutch_fail_nomem(err);
    if (!how)
        return hutch_secret_complete(secret, err);
    int r = 1;
    if (!strcmp(how, "file")) {
        r = asprintf(&secret->file, "%s/%s", HUTCH_SECRETS_DIRECTORY, secret->name) < 0
                ? hutch_fail_nomem(err)
                : 0;
    }
    for (size_t i = 0; i < HUTCH_COUNT(forms) && r > 0; i++)
        if (!strncmp(how, forms[i].key, strlen(forms[i].key)))
            r = forms[i].parse(how + strlen(forms[i].key), secret, err);
    if (r > 0)
        return fail_form(text, err);
    return r < 0 ? r : hutch_secret_complete(secret, err);
}

/* ---- what is well formed --------------------------------------------------------------------- */

/* "api-key" is API_KEY. */
static int default_variable(struct hutch_secret *secret, struct hutch_error *err)
{
    bool starts_with_digit = isdigit((unsigned char)*secret->name);
    if (asprintf(&secret->env, "%s%s", starts_with_digit ? "_" : "", secret->name) < 0) {
        secret->env = NULL;
        return hutch_fail_nomem(err);
    }
    for (char *at = secret->env; *at; at++)
        *at = (char)(isalnum((unsigned char)*at) ? toupper((unsigned char)*at) : '_');
    return 0;
}

/* The name of a header that frames a message, or says where it goes, is not for others to set. */
static bool is_reserved_header(const char *name, size_t length)
{
    static const char *const reserved[] = {"host",
                                           "content-length",
                                           "transfer-encoding",
                                           "connection",
                                           "upgrade",
                                           "te",
                                           "trailer",
                                           "expect",
                                           "proxy-connection",
                                           "keep-alive",
                                           "via",
                                           "forwarded",
                                           "http2-settings",
                                           "proxy-authenticate"};
    for (size_t i = 0; i < HUTCH_COUNT(reserved); i++)
        if (strlen(reserved[i]) == length && !strncasecmp(reserved[i], name, length))
            return true;
    return false;
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

static int check_header(const char *header, struct hutch_error *err)
{
    size_t name = strspn(header, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "!#$%&'*+-.^_`|~");
    const char *first = strstr(header, VALUE_PLACE);
    if (!name || header[name] != ':' || !first || strstr(first + 1, VALUE_PLACE) ||
        !is_printable(header) || strlen(header) > HEADER_MAX_BYTES || first < header + name)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.120s' is not a header, write it like 'Authorization: Bearer {}', "
                          "with one {} for the value",
                          header);
    if (is_reserved_header(header, name))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "header '%.*s' says where a request goes or where it ends, take another",
                          (int)name, header);
    return 0;
}

/* Bound to a host, not to whatever somebody may name below it. */
int hutch_secret_host_parse(const struct hutch_secret *secret, const char *host,
                            struct egress_rule *ret_rule, struct hutch_error *err)
{
    struct egress_rule rule;
    if (egress_rule_parse(host, &rule, err) < 0)
        return -(int)err->code;
    if (rule.is_wildcard)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.120s' is not one host, write it like 'api.example.com' or "
                          "'api.example.com:8443'",
                          host);
    if (!strchr(host, ':')) {
        rule.ports[0] = secret->intercepts_tls ? 443 : 80;
        rule.port_count = 1;
    }
    *ret_rule = rule;
    return 0;
}

static int check_edge(const struct hutch_secret *secret, struct hutch_error *err)
{
    if (!secret->hosts.count && (secret->header || secret->intercepts_tls))
        return hutch_fail(
            err, HUTCH_E_INVALID, 0,
            "header and tls are for requests to hosts and no host is given, add hosts");
    if (!secret->hosts.count)
        return 0;
    if (!secret->header)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "hosts are given and no header, add one such as 'Authorization: Bearer "
                          "{}'");
    struct egress_rule rule;
    for (size_t i = 0; i < secret->hosts.count; i++)
        if (hutch_secret_host_parse(secret, secret->hosts.items[i], &rule, err) < 0)
            return -(int)err->code;
    return check_header(secret->header, err);
}

int hutch_secret_complete(struct hutch_secret *secret, struct hutch_error *err)
{
    if (hutch_check_secret(secret->name, err) < 0)
        return -(int)err->code;
    if (!!secret->env + !!secret->file + !!secret->hosts.count > 1)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "secret '%s' goes to more than one of env, file and hosts, give it once "
                          "for each",
                          secret->name);
    if (check_edge(secret, err) < 0)
        return hutch_wrap(err, "secret '%s': ", secret->name);
    if (!secret->env && !secret->file && !secret->hosts.count)
        return default_variable(secret, err);
    if (secret->env && hutch_check_key(secret->env, err) < 0)
        return hutch_wrap(err, "secret '%s': ", secret->name);
    if (secret->file && hutch_check_host_path(secret->file, err) < 0)
        return hutch_wrap(err, "secret '%s': ", secret->name);
    return 0;
}
