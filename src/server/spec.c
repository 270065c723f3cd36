/* SPDX-License-Identifier: Apache-2.0 */
/* The spec of a request. */
#include <string.h>

#include "server/body.h"
#include "server/call.h"
#include "server/util.h"

/* ---- what belongs to the host ---------------------------------------------------------------- */

/* Fields by which a spec gets at what is the host's. The operator may use them; a tenant only where
 * the policy has a list that says which: without one, a token would be good for the host's files
 * and secrets. */
static const struct {
    const char *field;
    const char *rule; /* NULL: never */
} host_fields[] = {
    {"rootfs", "mounts.read"}, {"artifacts", "mounts.write"}, {"workspace", "mounts.read"},
    {"mounts", "mounts.read"}, {"secrets", "secrets"},        {"pass_env", NULL},
};

struct search {
    const char *rule;
    bool is_found;
};

static int look(void *userdata, const struct hutch_policy_rule *rule)
{
    struct search *search = userdata;
    search->is_found = search->is_found || !strcmp(search->rule, rule->name);
    return 0;
}

static bool has_rule(const struct api_call *call, const char *name)
{
    struct search search = {.rule = name};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    return name &&
           hutch_policy_show(call->server->policy, call->who.tenant, look, &search, &ignored) ==
               0 &&
           search.is_found;
}

static int check_host_fields(const struct api_call *call, struct hutch_error *err)
{
    for (size_t i = 0; call->who.tenant && i < SERVER_COUNT(host_fields); i++) {
        const char *field = host_fields[i].field;
        if (!json_object_get(call->body, field) || has_rule(call, host_fields[i].rule))
            continue;
        if (!host_fields[i].rule)
            return server_fail(err, HUTCH_E_PERMISSION,
                               "field '%s' takes what is the daemon's own, which a tenant may not",
                               field);
        return server_fail(err, HUTCH_E_PERMISSION,
                           "field '%s' gets at what is the host's, which tenant '%.64s' may only "
                           "where a policy lists it in '%s'",
                           field, call->who.tenant, host_fields[i].rule);
    }
    return 0;
}

/* ---- the spec -------------------------------------------------------------------------------- */

static int read_spec(struct api_call *call, struct hutch_spec *spec, struct hutch_error *err)
{
    server_autofree char *text = NULL;
    if (check_host_fields(call, err) < 0 ||
        body_spec_text(call->body, call->route->fields, &text, err) < 0)
        return -(int)err->code;
    return hutch_spec_parse(spec, text, strlen(text), HUTCH_FORMAT_JSON, err);
}

int api_spec(struct api_call *call, struct hutch_spec **ret_spec)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = NULL;
    if (hutch_spec_new(&spec, &err) < 0 || read_spec(call, spec, &err) < 0) {
        hutch_spec_free(spec);
        api_fail(call, &err);
        return -1;
    }
    hutch_spec_use_policy(spec, call->server->policy, call->who.tenant);
    *ret_spec = spec;
    return 0;
}
