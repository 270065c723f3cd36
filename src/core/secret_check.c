/* SPDX-License-Identifier: Apache-2.0 */
/* What no single secret can know: the rest of the spec. */
#include <stdint.h>
#include <string.h>

#include "core/check.h"
#include "core/enforcement.h"
#include "core/isolation.h"
#include "core/secret_spec.h"
#include "util/own.h"

static int check_variable(const struct hutch_spec *spec, size_t index, struct hutch_error *err)
{
    const struct hutch_secret *secret = &spec->secrets.items[index];
    const char *other = NULL;
    for (size_t i = 0; i < spec->env.count; i++)
        if (!strcmp(spec->env.items[i].key, secret->env))
            other = "env";
    if (hutch_strlist_has(&spec->pass_env, secret->env))
        other = "pass_env";
    for (size_t i = 0; i < index; i++)
        if (spec->secrets.items[i].env && !strcmp(spec->secrets.items[i].env, secret->env))
            other = "another secret";
    if (!other)
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "secret '%s' is to be the variable '%.80s', which %s sets too, leave one of "
                      "them",
                      secret->name, secret->env, other);
}

/* The directory is hutch's own as soon as one secret is a file. */
static int check_directory(const struct hutch_spec *spec, struct hutch_error *err)
{
    const char *found = NULL;
    for (size_t i = 0; i < spec->mounts.count; i++)
        if (hutch_path_is_within(spec->mounts.items[i].target, HUTCH_SECRETS_DIRECTORY))
            found = spec->mounts.items[i].target;
    for (size_t i = 0; i < spec->tmpfs.count; i++)
        if (hutch_path_is_within(spec->tmpfs.items[i].target, HUTCH_SECRETS_DIRECTORY))
            found = spec->tmpfs.items[i].target;
    if (!found)
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "target '%.120s' lies in " HUTCH_SECRETS_DIRECTORY
                      ", where secrets are, choose another such as '/data'",
                      found);
}

/* Elsewhere nobody brings files in before the command, or stands between it and the network. */
static int check_backend(const struct hutch_spec *spec, const struct hutch_secret *secret,
                         struct hutch_error *err)
{
    const char *backend = hutch_spec_backend(spec);
    bool has_gateway = hutch_enforcement_most(backend) & HUTCH_PROMISE_BIT(EGRESS);
    if (secret->env || !strcmp(backend, "native") || (!secret->file && has_gateway))
        return 0;
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "secret '%s' %s needs backend native%s; on backend %s take it as a variable",
                      secret->name, secret->file ? "as a file" : "in requests",
                      secret->file ? "" : " or oci", backend);
}

static bool is_allowed(const struct hutch_spec *spec, const char *name, uint16_t port)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct egress_rule rule;
    for (size_t i = 0; i < spec->egress.count; i++)
        if (egress_rule_parse(spec->egress.items[i], &rule, &ignored) == 0 &&
            egress_rule_allows(&rule, name, port))
            return true;
    return false;
}

/* A secret for a host that the sandbox cannot reach would never be used. */
static int check_bound(const struct hutch_spec *spec, const struct hutch_secret *secret,
                       struct hutch_error *err)
{
    for (size_t i = 0; i < secret->hosts.count; i++) {
        struct egress_rule rule;
        if (hutch_secret_host_parse(secret, secret->hosts.items[i], &rule, err) < 0)
            return -(int)err->code;
        for (size_t p = 0; p < rule.port_count; p++)
            if (!is_allowed(spec, rule.name, rule.ports[p]))
                return hutch_fail(err, HUTCH_E_INVALID, 0,
                                  "secret '%s' is for requests to '%.120s:%u', which no rule of "
                                  "egress allows; add one",
                                  secret->name, rule.name, (unsigned)rule.ports[p]);
    }
    return 0;
}

static bool is_just_below(const char *path)
{
    size_t length = strlen(HUTCH_SECRETS_DIRECTORY);
    return path[length] == '/' && !strchr(path + length + 1, '/');
}

int hutch_secrets_check(const struct hutch_spec *spec, struct hutch_error *err)
{
    for (size_t i = 0; i < spec->secrets.count; i++) {
        const struct hutch_secret *secret = &spec->secrets.items[i];
        if ((secret->env && check_variable(spec, i, err) < 0) ||
            check_backend(spec, secret, err) < 0 || check_bound(spec, secret, err) < 0)
            return -(int)err->code;
        if (!secret->file)
            continue;
        if (check_directory(spec, err) < 0)
            return -(int)err->code;
        if (hutch_path_is_within(secret->file, HUTCH_SECRETS_DIRECTORY) &&
            !is_just_below(secret->file))
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "secret '%s' cannot be the file '%.120s', only a file right "
                              "in " HUTCH_SECRETS_DIRECTORY " or one elsewhere",
                              secret->name, secret->file);
    }
    return 0;
}
