/* SPDX-License-Identifier: Apache-2.0 */
#include "server/openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "hutch/host.h"
#include "server/api.h"
#include "server/schemas.h"
#include "server/util.h"

#define TAG_BYTES 32

static const struct {
    const char *name;
    const char *doc;
} tags[] = {
    {"sandboxes", "Sandboxes that stay, what runs in them and what they hold."},
    {"run", "Commands in sandboxes of their own."},
    {"batch", "Many of them."},
    {"images", "What sandboxes are made of."},
    {"templates", "Named sandboxes."},
    {"events", "What happens."},
    {"audit", "What happened."},
    {"usage", "What it cost."},
    {"daemon", "The daemon itself."},
};

/* The word behind "/api/". */
static const char *tag_of(const char *path)
{
    static const char prefix[] = "/api/";
    const char *word = path + sizeof(prefix) - 1;
    for (size_t i = 0; !strncmp(path, prefix, sizeof(prefix) - 1) && i < SERVER_COUNT(tags); i++)
        if (strlen(tags[i].name) == strcspn(word, "/") &&
            !strncmp(word, tags[i].name, strlen(tags[i].name)))
            return tags[i].name;
    return tags[SERVER_COUNT(tags) - 1].name;
}

/* ---- answers --------------------------------------------------------------------------------- */

static json_t *text_content(void)
{
    return json_pack("{s:{s:s}}", "schema", "type", "string");
}

static json_t *content_of(const struct api_route *route)
{
    json_t *content = json_object();
    int failed = 0;
    if (route->schema)
        failed |= json_object_set_new(content, "application/json",
                                      json_pack("{s:o}", "schema", schema_of_type(route->schema)));
    if (route->flags & API_BYTES)
        failed |= json_object_set_new(content, "*/*", text_content());
    if (route->flags & API_STREAMS) {
        failed |= json_object_set_new(content, "text/event-stream", text_content());
        failed |= json_object_set_new(content, "application/x-ndjson", text_content());
    }
    if (!failed)
        return content;
    json_decref(content);
    return NULL;
}

static json_t *responses_of(const struct api_route *route)
{
    char status[16];
    json_t *content = content_of(route);
    json_t *good = json_pack("{s:s}", "description", "It went well.");
    (void)snprintf(status, sizeof(status), "%d", route->status);
    if (json_object_size(content))
        (void)json_object_set(good, "content", content);
    json_decref(content);
    json_t *responses = json_pack("{s:o,s:{s:s}}", status, good, "default", "$ref",
                                  "#/components/responses/Problem");
    if (route->flags & API_WEBSOCKET)
        (void)json_object_set_new(responses, "101",
                                  json_pack("{s:s}", "description", "It is a WebSocket now."));
    return responses;
}

/* ---- requests -------------------------------------------------------------------------------- */

static json_t *request_of(const struct api_route *route)
{
    if (route->flags & API_BODY_PIPE)
        return json_pack("{s:b,s:{s:{s:{s:s}}}}", "required", 0, "content", "*/*", "schema", "type",
                         "string");
    return route->fields ? openapi_body(route->fields) : NULL;
}

/* Which scope a token has to have. */
static const char *const scopes[] = {
    [API_PUBLIC] = "public", [API_READ] = "read", [API_WRITE] = "write", [API_ADMIN] = "admin"};

static json_t *security_of(const struct api_route *route)
{
    return route->scope == API_PUBLIC ? json_array() : json_pack("[{s:[]}]", "bearer");
}

static json_t *operation_of(const struct api_route *route)
{
    json_t *request = request_of(route);
    json_t *operation = json_pack(
        "{s:s,s:s,s:s,s:[s],s:s,s:o,s:o,s:o}", "operationId", route->operation, "summary",
        route->operation, "description", route->doc, "tags", tag_of(route->path), "x-scope",
        scopes[route->scope], "parameters", openapi_parameters(route->path, route->query),
        "security", security_of(route), "responses", responses_of(route));
    if (request)
        (void)json_object_set_new(operation, "requestBody", request);
    return operation;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* A '/' at the end may be given or left out; here it is left out. */
static int add_route(json_t *paths, const struct api_route *route)
{
    char method[16];
    size_t length = 0;
    for (; route->method[length] && length + 1 < sizeof(method); length++)
        method[length] = (char)tolower((unsigned char)route->method[length]);
    method[length] = '\0';
    length = strlen(route->path);
    length -= length > 1 && route->path[length - 1] == '/';
    json_t *item = json_object_getn(paths, route->path, length);
    if (!item) {
        item = json_object();
        if (json_object_setn_new(paths, route->path, length, item) < 0)
            return -1;
    }
    return json_object_set_new(item, method, operation_of(route));
}

static json_t *paths_of_all(void)
{
    json_t *paths = json_object();
    for (size_t i = 0; api_tables[i]; i++)
        for (const struct api_route *route = api_tables[i]; route->method; route++)
            if (add_route(paths, route) < 0) {
                json_decref(paths);
                return NULL;
            }
    return paths;
}

static json_t *tag_list(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < SERVER_COUNT(tags); i++)
        (void)json_array_append_new(
            list, json_pack("{s:s,s:s}", "name", tags[i].name, "description", tags[i].doc));
    return list;
}

static json_t *components(void)
{
    return json_pack("{s:o,s:{s:{s:s,s:{s:{s:{s:s}}}}},s:{s:{s:s,s:s,s:s}}}", "schemas",
                     schemas_to_json(), "responses", "Problem", "description", "It did not.",
                     "content", "application/problem+json", "schema", "$ref",
                     "#/components/schemas/Problem", "securitySchemes", "bearer", "type", "http",
                     "scheme", "bearer", "description",
                     "A token that 'hutch token create' made. By the unix socket none is needed.");
}

json_t *openapi_document(void)
{
    return json_pack("{s:s,s:{s:s,s:s,s:s,s:{s:s,s:s}},s:[{s:s,s:s}],s:o,s:o,s:o}", "openapi",
                     "3.1.0", "info", "title", "hutch", "version", hutch_version(), "description",
                     "Sandboxes: made, used, looked at and removed.", "license", "name",
                     "Apache-2.0", "url", "https://www.apache.org/licenses/LICENSE-2.0", "servers",
                     "url", "/", "description", "This daemon.", "tags", tag_list(), "paths",
                     paths_of_all(), "components", components());
}
