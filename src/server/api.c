/* SPDX-License-Identifier: Apache-2.0 */
/* What a handler sees of its call. */
#include "server/api.h"

#include <string.h>

#include "server/call.h"
#include "server/util.h"

const struct api_route *api_route_of(const struct api_call *call)
{
    return call->route;
}

struct server *api_server(const struct api_call *call)
{
    return call->server;
}

const struct api_who *api_who(const struct api_call *call)
{
    return &call->who;
}

struct http_exchange *api_exchange(const struct api_call *call)
{
    return call->exchange;
}

const char *api_param(const struct api_call *call, const char *name)
{
    for (size_t i = 0; i < call->param_count; i++)
        if (strlen(name) == call->params[i].name_length &&
            !strncmp(name, call->params[i].name, call->params[i].name_length))
            return call->params[i].value;
    return NULL;
}

const char *api_query(const struct api_call *call, const char *name)
{
    for (size_t i = 0; i < call->query_count; i++)
        if (!strcmp(call->route->query[i].name, name))
            return call->query[i];
    return NULL;
}

bool api_query_flag(const struct api_call *call, const char *name)
{
    const char *value = api_query(call, name);
    return value && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}

uint64_t api_query_number(const struct api_call *call, const char *name, uint64_t otherwise)
{
    const char *value = api_query(call, name);
    uint64_t number = otherwise;
    return value && server_number(value, UINT64_MAX, &number) ? number : otherwise;
}

const char *api_header(const struct api_call *call, const char *name)
{
    return http_field(call->exchange, name);
}

const char *api_text(const struct api_call *call, size_t *ret_length)
{
    if (ret_length)
        *ret_length = call->text_length;
    return call->text;
}

const json_t *api_body(const struct api_call *call)
{
    return call->body;
}

const char *api_body_text(const struct api_call *call, const char *field)
{
    return json_string_value(json_object_get(call->body, field));
}

bool api_body_flag(const struct api_call *call, const char *field, bool otherwise)
{
    const json_t *value = json_object_get(call->body, field);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

uint64_t api_body_number(const struct api_call *call, const char *field, uint64_t otherwise)
{
    const json_t *value = json_object_get(call->body, field);
    return json_is_integer(value) ? (uint64_t)json_integer_value(value) : otherwise;
}

/* Looked at when the body was checked: seconds are whole ones or not, texts are durations. */
uint64_t api_body_ms(const struct api_call *call, const char *field, uint64_t otherwise)
{
    const json_t *value = json_object_get(call->body, field);
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    uint64_t ms = otherwise;
    if (json_is_number(value))
        return (uint64_t)(json_number_value(value) * 1000.0 + 0.5);
    if (json_is_string(value) && hutch_duration_parse(json_string_value(value), &ms, &ignored) < 0)
        return otherwise;
    return ms;
}

int api_body_fd(const struct api_call *call)
{
    return call->body_fd;
}

bool api_body_is_whole(const struct api_call *call)
{
    return http_body_is_whole(call->exchange);
}

uint64_t api_body_length(const struct api_call *call)
{
    return http_has_body(call->exchange) ? http_body_length(call->exchange) : 0;
}

int api_gone_fd(struct api_call *call)
{
    return call->gone_fd;
}

/* ---- sandboxes ------------------------------------------------------------------------------- */

bool api_may_see(const struct api_call *call, const struct hutch_sandbox *sandbox)
{
    char tenant[HUTCH_TENANT_BYTES];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (!call->who.tenant)
        return true;
    return hutch_sandbox_tenant(sandbox, tenant, &ignored) == 0 &&
           !strcmp(tenant, call->who.tenant);
}

static void fail_unknown(struct api_call *call, const char *name)
{
    api_problem(call, 404, "not_found",
                "there is no sandbox '%.80s'; GET /api/sandboxes/ lists those there are", name);
}

int api_sandbox(struct api_call *call, struct hutch_sandbox **ret_sandbox)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_sandbox *sandbox = NULL;
    const char *name = api_param(call, "id");
    if (!name || hutch_sandbox_open(name, &sandbox, &err) < 0) {
        if (name && err.code != HUTCH_E_NOT_FOUND && !call->who.tenant)
            api_fail(call, &err);
        else /* what is wrong with one that may not be theirs is not told to tenants */
            fail_unknown(call, name ? name : "");
        return -1;
    }
    if (!api_may_see(call, sandbox)) {
        hutch_sandbox_free(sandbox);
        fail_unknown(call, name);
        return -1;
    }
    hutch_sandbox_use_policy(sandbox, call->server->policy, call->who.tenant);
    *ret_sandbox = sandbox;
    return 0;
}
