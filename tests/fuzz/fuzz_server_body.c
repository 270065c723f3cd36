/* SPDX-License-Identifier: Apache-2.0 */
/* Every JSON body and every query of the daemon, by its table of routes: the first byte says which
 * route, the first line is the query, the rest the body. What is refused is refused with a sentence
 * that a problem document can have; what is taken has only known fields, and no spec that comes of
 * it says whose it is. */
#include <jansson.h>

#include "fuzz.h"
#include "server/body.h"
#include "server/problem.h"
#include "server/util.h"

#define DEPTH 32

static const struct api_route *route_of(uint8_t number)
{
    size_t count = 0;
    for (const struct api_route *const *table = api_tables; *table; table++)
        for (const struct api_route *route = *table; route->method; route++)
            count++;
    size_t left = count ? number % count : 0;
    for (const struct api_route *const *table = api_tables; *table; table++)
        for (const struct api_route *route = *table; route->method; route++)
            if (left-- == 0)
                return route;
    abort();
}

static void check_refusal(int status, const struct hutch_error *err)
{
    fuzz_check_failure(status, err);
    char *text = problem_text(400, "invalid", err->msg, "id");
    json_t *problem = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    REQUIRE(problem, "%s", err->msg);
    json_decref(problem);
    free(text);
}

static void look_at_query(const struct api_route *route, const char *query)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    size_t count = field_count(route->query);
    char **values = calloc(count + 1, sizeof(*values));
    REQUIRE(values, "out of memory");
    int status = query_parse(query, route->query, values, &err);
    if (status < 0)
        check_refusal(status, &err);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(!values[i] || server_is_utf8(values[i], strlen(values[i])), "%s", query);
        free(values[i]);
    }
    free(values);
}

static void look_at_spec(const struct api_route *route, const json_t *body)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = fuzz_spec_new();
    hutch_autofree char *text = NULL;
    REQUIRE(body_spec_text(body, route->fields, &text, &err) == 0, "%s", err.msg);
    int status = hutch_spec_parse(spec, text, strlen(text), HUTCH_FORMAT_JSON, &err);
    if (status < 0)
        check_refusal(status, &err);
    REQUIRE(!spec->policy.tenant && !spec->policy.hash && !spec->policy.audit, "%s", text);
    REQUIRE(!spec->egress_policy.opened.count && !spec->egress_policy.proxy, "%s", text);
    hutch_spec_free(spec);
}

static void look_at_body(const struct api_route *route, const char *text, size_t length)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    json_t *body = NULL;
    int status = body_parse(text, length, DEPTH, &body, &err);
    if (status == 0)
        status = body_check(body, route->fields, &err);
    if (status < 0)
        check_refusal(status, &err);
    else
        look_at_spec(route, body);
    json_decref(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    const struct api_route *route = route_of(data[0]);
    hutch_autofree char *text = fuzz_text(data + 1, size - 1);
    char *body = memchr(text, '\n', size - 1);
    if (body)
        *body++ = '\0';
    look_at_query(route, text);
    if (body && route->fields)
        look_at_body(route, body, size - 1 - (size_t)(body - text));
    return 0;
}
