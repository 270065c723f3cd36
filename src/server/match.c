/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "server/body.h"
#include "server/dispatch.h"
#include "server/util.h"

struct part {
    const char *text;
    size_t length;
};

/* The next piece between two '/'; false at the end. One '/' at the end is nothing. */
static bool next_part(const char **path, struct part *part)
{
    if (**path != '/' || !(*path)[1])
        return false;
    part->text = *path + 1;
    part->length = strcspn(part->text, "/");
    *path = part->text + part->length;
    return true;
}

struct found {
    const struct api_route *route;
    struct part names[CALL_PARAMS];
    struct part values[CALL_PARAMS];
    size_t count;
};

static bool fits(const char *pattern, const char *path, struct found *found)
{
    struct part wanted, given;
    found->count = 0;
    for (;;) {
        bool has_more = next_part(&pattern, &wanted);
        if (has_more != next_part(&path, &given))
            return false;
        if (!has_more)
            return *path == '\0' || !strcmp(path, "/");
        if (*wanted.text == '{' && given.length && found->count < CALL_PARAMS) {
            found->names[found->count] = (struct part){wanted.text + 1, wanted.length - 2};
            found->values[found->count++] = given;
        } else if (wanted.length != given.length ||
                   strncmp(wanted.text, given.text, given.length) != 0) {
            return false;
        }
    }
}

static void add_method(char allow[ALLOW_BYTES], const char *method)
{
    size_t used = strlen(allow);
    if (!strstr(allow, method))
        (void)snprintf(allow + used, ALLOW_BYTES - used, "%s%s", used ? ", " : "", method);
}

/* HEAD is what a GET would answer with, without its body; it may have a row of its own. */
static int rank(const struct api_route *route, const char *method)
{
    if (!strcmp(route->method, method))
        return 2;
    return !strcmp(method, "HEAD") && !strcmp(route->method, "GET") ? 1 : 0;
}

static void consider(const struct api_route *route, const char *method, const char *path,
                     struct found *best, char allow[ALLOW_BYTES])
{
    struct found found = {.route = route};
    if (!fits(route->path, path, &found))
        return;
    add_method(allow, route->method);
    if (!strcmp(route->method, "GET"))
        add_method(allow, "HEAD");
    int own = rank(route, method), other = best->route ? rank(best->route, method) : 0;
    if (own > other || (own && own == other && found.count < best->count))
        *best = found;
}

static bool take_params(struct api_call *call, const struct found *found)
{
    for (size_t i = 0; i < found->count; i++) {
        char *value = percent_decode(found->values[i].text, found->values[i].length, false);
        if (!value || strchr(value, '/')) {
            free(value);
            return false;
        }
        call->params[call->param_count++] =
            (struct api_param){found->names[i].text, found->names[i].length, value};
    }
    return true;
}

bool match_route(struct api_call *call, char ret_allow[ALLOW_BYTES])
{
    const char *method = http_method(call->exchange), *path = http_path(call->exchange);
    struct found best = {0};
    *ret_allow = '\0';
    for (const struct api_route *const *table = api_tables; *table; table++)
        for (const struct api_route *route = *table; route->method; route++)
            consider(route, method, path, &best, ret_allow);
    call->route = best.route;
    return !best.route || take_params(call, &best);
}
