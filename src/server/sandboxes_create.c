/* SPDX-License-Identifier: Apache-2.0 */
/* Making a sandbox: from the warm pool where one fits, anew otherwise. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "server/pool.h"
#include "server/project_name.h"
#include "server/request.h"
#include "server/sandboxes.h"
#include "server/server.h"
#include "server/util.h"

#define NAME_TRIES 8

const struct api_field create_fields[] = {
    {"project_name", API_TEXT, false,
     "Name of the sandbox, changed where a sandbox cannot have it or has it already.", 0},
    REQUEST_LIMIT_FIELDS,
    REQUEST_TEMPLATE_FIELD,
    {"spec", API_SPEC, false, "", HUTCH_USE_CREATE},
    {0},
};

/* Whatever else a request has makes another sandbox of it than those that wait. */
static const char *const pooled_fields[] = {"name", "project_name", "labels", "template"};

static bool fits_pool(const json_t *body)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)body, key, value)
    {
        bool is_known = false;
        for (size_t i = 0; i < SERVER_COUNT(pooled_fields); i++)
            is_known |= !strcmp(key, pooled_fields[i]);
        if (!is_known)
            return false;
    }
    return true;
}

struct creation {
    struct api_call *call;
    const json_t *body;
    const char *template;
    char project[PROJECT_NAME_BYTES]; /* "": the request names no project */
    bool uses_pool;
    struct hutch_spec *claimed; /* of a sandbox from the pool, as it is now */
};

static int begin(struct creation *creation, struct hutch_error *err)
{
    const char *project = json_string_value(json_object_get(creation->body, "project_name"));
    if (project && json_is_string(json_object_get(creation->body, "name")))
        return server_fail(err, HUTCH_E_INVALID,
                           "name and project_name both name the sandbox: give one of them");
    if (project && !project_name(project, creation->project))
        return server_fail(err, HUTCH_E_INVALID,
                           "project_name: '%.60s' has no letter and no digit, of which a name is "
                           "made; choose another",
                           project);
    creation->template = json_string_value(json_object_get(creation->body, "template"));
    creation->uses_pool = fits_pool(creation->body) &&
                          warm_pool_has(api_server(creation->call)->pool, creation->template);
    return 0;
}

static int prepare(const struct creation *creation, int try, struct hutch_spec **ret_spec,
                   struct hutch_error *err)
{
    char name[PROJECT_NAME_BYTES];
    uint32_t number = 0;
    struct hutch_spec *spec = NULL;
    if (request_spec(creation->call, creation->body, create_fields, &spec, err) < 0)
        return -(int)err->code;
    int status = 0;
    if (creation->project[0] && try == 0) {
        status = hutch_spec_set(spec, "name", creation->project, err);
    } else if (creation->project[0]) {
        (void)!getrandom(&number, sizeof(number), 0);
        project_name_with(creation->project, number, name);
        status = hutch_spec_set(spec, "name", name, err);
    }
    if (status == 0)
        *ret_spec = spec;
    else
        hutch_spec_free(spec);
    return status;
}

static bool is_taken(const struct creation *creation, const struct hutch_error *err)
{
    return creation->project[0] && err->code == HUTCH_E_CONFLICT && err->os_errno == EEXIST;
}

/* A claim completes its spec, so what is made anew has one of its own. */
static int claim(struct creation *creation, int try, struct hutch_sandbox **ret_sandbox,
                 struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    if (!creation->uses_pool)
        return POOL_NONE;
    if (prepare(creation, try, &spec, err) < 0)
        return -(int)err->code;
    int status = warm_pool_claim(api_server(creation->call)->pool, creation->template, spec,
                                 ret_sandbox, err);
    if (status == 0)
        creation->claimed = spec;
    else
        hutch_spec_free(spec);
    return status;
}

static int create_once(struct creation *creation, int try, struct hutch_sandbox **ret_sandbox,
                       struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    int status = claim(creation, try, ret_sandbox, err);
    if (status == 0 || (status < 0 && is_taken(creation, err)))
        return status;
    *err = (struct hutch_error)HUTCH_ERROR_INIT; /* making it anew says what is wrong, if it is */
    if (prepare(creation, try, &spec, err) < 0)
        return -(int)err->code;
    status = hutch_sandbox_create(spec, ret_sandbox, err);
    hutch_spec_free(spec);
    return status;
}

/* What nobody waits for: handles are closed, and the pool gets another. */
struct created {
    struct pool *pool; /* NULL: it was made anew */
    struct hutch_sandbox *sandbox;
    struct hutch_spec *spec;
};

static void leave(void *argument)
{
    struct created *created = argument;
    if (created->pool)
        warm_pool_refill(created->pool);
    hutch_sandbox_free(created->sandbox);
    hutch_spec_free(created->spec);
    free(created);
}

static int create(struct creation *creation, struct hutch_sandbox **ret_sandbox,
                  struct hutch_error *err)
{
    int status = begin(creation, err);
    for (int try = 0; status == 0 && try < NAME_TRIES && !*ret_sandbox; try++) {
        status = create_once(creation, try, ret_sandbox, err);
        if (status < 0 && is_taken(creation, err) && try < NAME_TRIES - 1)
            status = 0;
    }
    return status;
}

void handle_create(struct api_call *call)
{
    struct creation creation = {.call = call, .body = api_body(call)};
    struct created *created = calloc(1, sizeof(*created));
    struct hutch_error err = HUTCH_ERROR_INIT;
    char place[96];
    if (!created)
        (void)server_fail_nomem(&err);
    if (!created || create(&creation, &created->sandbox, &err) < 0) {
        free(created);
        api_fail(call, &err);
        return;
    }
    created->spec = creation.claimed;
    created->pool = creation.claimed ? api_server(call)->pool : NULL;
    (void)snprintf(place, sizeof(place), "/api/sandboxes/%s", hutch_sandbox_name(created->sandbox));
    api_add_header(call, "Location", place);
    sandbox_reply_made(call, created->sandbox, creation.claimed);
    api_afterwards(call, leave, created);
}
