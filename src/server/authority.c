/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks. By the unix socket that is known from the kernel; by TCP, and whenever a token is
 * given, the token says it. Tokens are kept in memory; the directory is watched, and whatever has
 * happened to it is looked at before each decision, so that one that was taken back is good for
 * nothing from the moment on at which 'hutch token rm' returns. */
#include "server/authority.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/inotify.h>

#include "server/authority_parts.h"
#include "server/util.h"

#define WATCHED (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_ATTRIB)

static const struct {
    const char *name;
    enum api_scope scope;
} scopes[] = {{"read", API_READ}, {"write", API_WRITE}, {"admin", API_ADMIN}};

int authority_new(struct server *server, struct authority **ret_authority, struct hutch_error *err)
{
    char path[48];
    struct authority *authority = calloc(1, sizeof(*authority));
    if (!authority)
        return server_fail_nomem(err);
    authority->server = server;
    authority->directory = authority->watch = SERVER_NO_FD;
    if (token_directory(&authority->directory, err) < 0) {
        authority_free(authority);
        return -(int)err->code;
    }
    /* where it cannot be watched, it is read each time */
    authority->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", authority->directory);
    if (authority->watch >= 0 && inotify_add_watch(authority->watch, path, WATCHED) < 0)
        server_closep(&authority->watch);
    if (token_load(authority->directory, &authority->tokens, &authority->token_count, err) < 0) {
        authority_free(authority);
        return -(int)err->code;
    }
    *ret_authority = authority;
    return 0;
}

void authority_free(struct authority *authority)
{
    if (!authority)
        return;
    for (size_t i = 0; i < authority->host_count; i++)
        free(authority->hosts[i]);
    free(authority->hosts);
    free(authority->tokens);
    server_closep(&authority->directory);
    server_closep(&authority->watch);
    free(authority);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool has_changed(const struct authority *authority)
{
    char events[4096] __attribute__((aligned(8)));
    bool is_changed = authority->watch < 0;
    while (authority->watch >= 0 && read(authority->watch, events, sizeof(events)) > 0)
        is_changed = true;
    return is_changed;
}

/* When they cannot be read, nobody has one. */
static void refresh(struct authority *authority)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (!has_changed(authority))
        return;
    free(authority->tokens);
    authority->tokens = NULL;
    authority->token_count = 0;
    if (token_load(authority->directory, &authority->tokens, &authority->token_count, &err) < 0)
        server_say("tokens cannot be read, and so nobody has one: %s", err.msg);
}

static bool fail_unknown(struct api_call *call, const char *error, const char *detail)
{
    char challenge[160];
    (void)snprintf(challenge, sizeof(challenge), "Bearer realm=\"hutch\"%s%s%s",
                   *error ? ", error=\"" : "", error, *error ? "\"" : "");
    api_add_header(call, "WWW-Authenticate", challenge);
    api_problem(call, 401, "unauthorized", "%s", detail);
    return false;
}

static bool take_token(struct api_call *call, const struct token *token)
{
    for (size_t i = 0; i < SERVER_COUNT(scopes); i++)
        if (!strcmp(scopes[i].name, token->scope))
            call->who.scope = scopes[i].scope;
    (void)snprintf(call->tenant, sizeof(call->tenant), "%s", token->tenant);
    (void)snprintf(call->name, sizeof(call->name), "token %s",
                   *token->name ? token->name : token->id);
    call->who.tenant = *token->tenant ? call->tenant : NULL;
    if (!call->who.tenant || hutch_policy_knows(call->server->policy, call->who.tenant))
        return true;
    api_problem(call, 403, "permission", "no policy has a tenant '%.64s'", call->who.tenant);
    return false;
}

static bool check_token(struct authority *authority, struct api_call *call, const char *field)
{
    static const char scheme[] = "bearer ";
    refresh(authority);
    if (strncasecmp(field, scheme, sizeof(scheme) - 1) != 0)
        return fail_unknown(call, "invalid_request",
                            "the Authorization field must be 'Bearer' and a token");
    const char *text = field + sizeof(scheme) - 1;
    text += strspn(text, " ");
    const struct token *token = token_find(authority->tokens, authority->token_count, text);
    if (!token)
        return fail_unknown(call, "invalid_token",
                            "the token is not known here; 'hutch token create' makes one");
    if (token_is_expired(token, server_time_us() / 1000000))
        return fail_unknown(call, "invalid_token",
                            "the token has expired; 'hutch token create' makes a new one");
    return take_token(call, token);
}

/* ---- the unix socket ------------------------------------------------------------------------- */

static bool check_uid(struct api_call *call, const struct http_peer *peer)
{
    (void)snprintf(call->name, sizeof(call->name), "uid %u", (unsigned)peer->uid);
    call->who.uid = peer->uid;
    call->who.scope = API_ADMIN;
    if (peer->uid == 0 || peer->uid == geteuid())
        return true;
    hutch_policy_tenant_of(call->server->policy, peer->uid, call->tenant);
    call->who.tenant = call->tenant;
    call->who.scope = API_WRITE;
    if (*call->tenant)
        return true;
    api_problem(call, 403, "permission",
                "uid %u is none of the policy's tenants; add it to a tenant's uids, or use a token",
                (unsigned)peer->uid);
    return false;
}

bool authority_check_who(struct authority *authority, struct api_call *call)
{
    const struct http_peer *peer = http_peer(call->exchange);
    const char *field = http_field(call->exchange, "authorization");
    call->who = (struct api_who){.uid = -1, .name = call->name};
    if (field)
        return check_token(authority, call, field);
    if (peer->is_unix)
        return check_uid(call, peer);
    if (!call->server->options->insecure_no_auth || !peer->is_loopback)
        return fail_unknown(call, "",
                            "a token is needed: 'hutch token create' makes one, and it goes into "
                            "the field Authorization, behind 'Bearer'");
    (void)snprintf(call->name, sizeof(call->name), "anybody");
    call->who.scope = API_ADMIN;
    return true;
}

bool authority_check_scope(struct api_call *call, enum api_scope scope)
{
    static const char *const names[] = {
        [API_PUBLIC] = "", [API_READ] = "read", [API_WRITE] = "write", [API_ADMIN] = "admin"};
    if (call->who.scope >= scope)
        return true;
    api_problem(call, 403, "permission", "this takes a token of scope %s", names[scope]);
    return false;
}
