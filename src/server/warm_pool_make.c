/* SPDX-License-Identifier: Apache-2.0 */
#include "server/warm_pool_make.h"

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>

#include "hutch/host.h"
#include "hutch/named.h"
#include "server/pool.h"
#include "server/util.h"

#define NAME_PREFIX "pool-"

static int apply(struct hutch_spec *spec, const char *template, struct hutch_error *err)
{
    return strcmp(template, POOL_DEFAULT) != 0 ? hutch_named_apply(spec, template, NULL, err) : 0;
}

static int fill(struct hutch_spec *spec, const char *template, struct hutch_error *err)
{
    char name[32], label[128];
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return server_fail_errno(err, "get random bytes");
    (void)snprintf(name, sizeof(name), NAME_PREFIX "%016" PRIx64, number);
    (void)snprintf(label, sizeof(label), POOL_LABEL "=%s", template);
    if (apply(spec, template, err) < 0 || hutch_spec_set(spec, "name", name, err) < 0)
        return -(int)err->code;
    return hutch_spec_set(spec, "labels", label, err);
}

int warm_pool_make(struct hutch_policy *policy, const char *template,
                   struct hutch_sandbox **ret_sandbox, struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    if (hutch_spec_new(&spec, err) < 0)
        return -(int)err->code;
    int status = fill(spec, template, err);
    if (status == 0) {
        hutch_spec_use_policy(spec, policy, NULL);
        status = hutch_sandbox_create(spec, ret_sandbox, err);
    }
    hutch_spec_free(spec);
    return status;
}

char *warm_pool_describe(const char *template)
{
    struct hutch_named_options options = HUTCH_NAMED_OPTIONS_INIT;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = NULL;
    char *text = NULL;
    options.no_build = true;
    if (!strcmp(template, POOL_DEFAULT))
        return strdup("");
    if (hutch_spec_new(&spec, &ignored) < 0)
        return NULL;
    if (hutch_named_apply(spec, template, &options, &ignored) == 0 &&
        hutch_spec_to_json(spec, &text, &ignored) < 0)
        text = NULL;
    hutch_spec_free(spec);
    return text;
}

/* ---- what an earlier daemon left ------------------------------------------------------------- */

/* The directory's own lock: no file is left of a daemon that was killed. */
int warm_pool_lock(void)
{
    char directory[400];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (hutch_state_directory("run", directory, sizeof(directory), &ignored) < 0)
        return SERVER_NO_FD;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
        server_closep(&fd);
    return fd;
}

struct found {
    char (*names)[72];
    size_t count;
};

static json_t *spec_of(const struct hutch_sandbox *sandbox)
{
    struct hutch_spec *spec = NULL;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    server_autofree char *text = NULL;
    if (hutch_sandbox_spec(sandbox, &spec, &ignored) < 0)
        return NULL;
    int status = hutch_spec_to_json(spec, &text, &ignored);
    hutch_spec_free(spec);
    return status == 0 ? json_loads(text, 0, NULL) : NULL;
}

/* By what its spec says: a keeper that was killed in the middle of a claim leaves it under the name
 * that somebody wanted. */
static bool is_left(const struct hutch_sandbox *sandbox)
{
    char tenant[HUTCH_TENANT_BYTES];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (!hutch_sandbox_has_label(sandbox, POOL_LABEL) ||
        hutch_sandbox_tenant(sandbox, tenant, &ignored) < 0 || *tenant)
        return false;
    json_t *spec = spec_of(sandbox);
    const char *name = json_string_value(json_object_get(spec, "name"));
    bool is_pools = name && !strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX));
    json_decref(spec);
    return is_pools;
}

static int note_left(void *userdata, struct hutch_sandbox *sandbox)
{
    struct found *found = userdata;
    if (!is_left(sandbox))
        return 0;
    void *more = reallocarray(found->names, found->count + 1, sizeof(*found->names));
    if (!more)
        return 1;
    found->names = more;
    (void)snprintf(found->names[found->count++], sizeof(*found->names), "%s",
                   hutch_sandbox_name(sandbox));
    return 0;
}

/* The value of its label. */
static bool template_of(const struct hutch_sandbox *sandbox, char *template, size_t size)
{
    json_t *whole = spec_of(sandbox);
    const char *value =
        json_string_value(json_object_get(json_object_get(whole, "labels"), POOL_LABEL));
    if (value)
        (void)snprintf(template, size, "%s", value);
    json_decref(whole);
    return value != NULL;
}

void warm_pool_find_left(warm_pool_left_fn on_left, void *userdata)
{
    struct found found = {0};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    (void)!hutch_sandbox_list(note_left, &found, &ignored);
    for (size_t i = 0; i < found.count; i++) {
        char template[80];
        struct hutch_sandbox *sandbox = NULL;
        if (hutch_sandbox_open(found.names[i], &sandbox, &ignored) < 0)
            continue;
        if (is_left(sandbox) && template_of(sandbox, template, sizeof(template)))
            on_left(userdata, template, sandbox);
        else
            hutch_sandbox_free(sandbox);
    }
    free(found.names);
}
