/* SPDX-License-Identifier: Apache-2.0 */
/* Every request takes the same way: does it mean us (Host, Origin), which route is it, who asks and
 * may they, is its query in order; then its body, then its turn, then the handler. Each step either
 * goes on or has answered. */
#include "server/dispatch.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/admission.h"
#include "server/authority.h"
#include "server/body.h"
#include "server/util.h"

/* ---- which route ----------------------------------------------------------------------------- */

static bool find_route(struct api_call *call)
{
    char allow[ALLOW_BYTES];
    bool is_whole = match_route(call, allow);
    bool is_public = call->route && call->route->scope == API_PUBLIC;
    call->who = (struct api_who){.uid = -1, .name = "-"};
    if (!is_public && !authority_check_who(call->server->authority, call))
        return false;
    http_set_note(call->exchange, call->who.name);
    if (!is_whole) {
        api_problem(call, 400, "invalid", "the path is not percent-encoded UTF-8 without NUL");
        return false;
    }
    if (call->route)
        return is_public || authority_check_scope(call, call->route->scope);
    if (*allow) {
        api_add_header(call, "Allow", allow);
        api_problem(call, 405, "method_not_allowed", "this path knows %s, not %.20s", allow,
                    http_method(call->exchange));
        return false;
    }
    api_problem(call, 404, "not_found", "there is nothing at '%.120s'; GET /openapi.json tells all",
                http_path(call->exchange));
    return false;
}

/* What says how the daemon is must be told also when it can do no more. */
static bool has_room(struct api_call *call)
{
    struct server *server = call->server;
    if (call->route->scope == API_PUBLIC)
        return true;
    bool is_draining = atomic_load(&server->is_draining);
    if (!is_draining && atomic_load(&server->requests) <= server->limits.requests)
        return true;
    api_add_header(call, "Retry-After", "1");
    if (is_draining)
        api_problem(call, 503, "unavailable", "the daemon is about to end; ask again soon");
    else
        api_problem(call, 503, "unavailable", "%llu requests are being answered; ask again soon",
                    (unsigned long long)server->limits.requests);
    return false;
}

static bool read_query(struct api_call *call)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    call->query_count = field_count(call->route->query);
    call->query = calloc(call->query_count + 1, sizeof(*call->query));
    if (!call->query) {
        call->query_count = 0;
        (void)server_fail_nomem(&err);
    } else if (query_parse(http_query(call->exchange), call->route->query, call->query, &err) ==
               0) {
        return true;
    }
    api_fail(call, &err);
    return false;
}

/* ---- its turn -------------------------------------------------------------------------------- */

void dispatch_turn(struct api_call *call)
{
    if (http_is_gone(call->exchange)) /* nobody waits for it any more */
        call_free(call);
    else
        call_start(call);
}

static void take_turn(struct api_call *call)
{
    unsigned flags = call->route->flags;
    enum admission_line line = flags & API_RUNS      ? ADMISSION_RUNNING
                               : flags & API_CREATES ? ADMISSION_CREATING
                                                     : ADMISSION_NONE;
    if (line == ADMISSION_NONE) {
        call_start(call);
        return;
    }
    if (admission_enter(call->server->admission, line, call))
        return;
    api_add_header(call, "Retry-After", "1");
    api_problem(call, 429, "too_many_requests",
                "%llu requests of yours wait for their turn already; ask again when they are "
                "answered",
                (unsigned long long)call->server->limits.queue);
    call_finish(call);
}

/* ---- its body -------------------------------------------------------------------------------- */

static void on_body(struct http_exchange *exchange, const char *data, size_t length)
{
    struct api_call *call = http_userdata(exchange);
    if (!data) { /* answered already, or the client is gone */
        call_free(call);
        return;
    }
    call->text = malloc(length + 1);
    if (!call->text) {
        api_problem(call, 503, "no_memory", "out of memory");
        call_finish(call);
        return;
    }
    memcpy(call->text, data, length);
    call->text[length] = '\0';
    call->text_length = length;
    take_turn(call);
}

/* "application/json", also with parameters behind it, of which the charset must be UTF-8. */
static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    if (!type || strncasecmp(type, json, sizeof(json) - 1) != 0)
        return false;
    const char *rest = type + sizeof(json) - 1;
    if (!strchr("; \t", *rest))
        return false;
    const char *charset = strcasestr(rest, "charset=");
    return !charset || !strncasecmp(charset + 8 + (charset[8] == '"'), "utf-8", 5);
}

static bool check_type(struct api_call *call)
{
    if (!call->route->fields) {
        api_problem(call, 400, "invalid", "this request takes no body");
        return false;
    }
    if (is_json(http_field(call->exchange, "content-type")))
        return true;
    api_problem(call, 415, "unsupported_media_type",
                "the body must be JSON, with 'Content-Type: application/json'");
    return false;
}

static bool pipe_body(struct api_call *call)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (http_pipe_body(call->exchange, &call->body_fd, &err) == 0)
        return true;
    call->body_fd = SERVER_NO_FD;
    api_fail(call, &err);
    return false;
}

static bool is_websocket(const struct api_call *call)
{
    const char *upgrade = http_field(call->exchange, "upgrade");
    return call->route->flags & API_WEBSOCKET && upgrade && !strcasecmp(upgrade, "websocket");
}

static void take_body(struct api_call *call)
{
    bool has_body = http_has_body(call->exchange);
    if (is_websocket(call)) {
        call_enter_websocket(call);
        return;
    }
    bool is_pipe = call->route->flags & API_BODY_PIPE;
    if (has_body && (is_pipe ? !pipe_body(call) : !check_type(call))) {
        call_finish(call);
        return;
    }
    if (!has_body || is_pipe) {
        take_turn(call);
        return;
    }
    http_set_userdata(call->exchange, call);
    http_read_body(call->exchange, call->server->limits.body_bytes, on_body);
}

void dispatch(void *userdata, struct http_exchange *exchange)
{
    struct server *server = userdata;
    struct api_call *call = call_new(server, exchange);
    if (!call) {
        static const char empty[] = "";
        http_answer(exchange, 503, NULL, empty, 0);
        return;
    }
    if (authority_check_way(server->authority, call) && find_route(call) && has_room(call) &&
        read_query(call))
        take_body(call);
    else
        call_finish(call);
}
