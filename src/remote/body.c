/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/body.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/env_file.h"
#include "remote/client.h"
#include "util/fs.h"
#include "util/own.h"

/* hutch_named_apply() has a spec and no other place for a name that only the daemon knows. */
#define TEMPLATE_VARIABLE "HUTCH_REMOTE_TEMPLATE"

const char *remote_template(void)
{
    return getenv(TEMPLATE_VARIABLE);
}

int remote_template_set(const char *name, struct hutch_error *err)
{
    return setenv(TEMPLATE_VARIABLE, name, 1) < 0 ? hutch_fail_errno(err, errno, "keep the name")
                                                  : 0;
}

/* ---- the environment ------------------------------------------------------------------------- */

static int add_file(struct hutch_map *map, const char *path, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    size_t length = 0;
    if (hutch_read_file(path, HUTCH_ENV_FILE_MAX_BYTES, &text, &length, err) < 0)
        return -(int)err->code;
    if (hutch_env_file_parse(text, length, map, err) < 0)
        return hutch_wrap(err, "env file '%.200s': ", path);
    return 0;
}

/* In the order that a run here has: files, what is passed on, what is given. */
static int gather_env(const struct hutch_spec *spec, struct hutch_map *map, struct hutch_error *err)
{
    for (size_t i = 0; i < spec->env_files.count; i++)
        if (add_file(map, spec->env_files.items[i], err) < 0)
            return -(int)err->code;
    for (size_t i = 0; i < spec->pass_env.count; i++) {
        const char *value = getenv(spec->pass_env.items[i]);
        if (value && hutch_map_set(map, spec->pass_env.items[i], value, err) < 0)
            return -(int)err->code;
    }
    for (size_t i = 0; i < spec->env.count; i++)
        if (hutch_map_set(map, spec->env.items[i].key, spec->env.items[i].value, err) < 0)
            return -(int)err->code;
    return 0;
}

static int settle_env(const struct hutch_spec *spec, json_t *body, struct hutch_error *err)
{
    struct hutch_map map = {0};
    json_t *env = json_object();
    int failed = gather_env(spec, &map, err);
    for (size_t i = 0; !failed && i < map.count; i++)
        if (json_object_set_new(env, map.items[i].key, json_string(map.items[i].value)) < 0)
            failed = hutch_fail(err, HUTCH_E_INVALID, 0,
                                "the variable '%.60s' is no UTF-8; the daemon takes text alone",
                                map.items[i].key);
    if (!failed && map.count)
        (void)json_object_set(body, "env", env);
    json_decref(env);
    hutch_map_done(&map);
    (void)json_object_del(body, "env_files");
    (void)json_object_del(body, "pass_env");
    return failed;
}

/* ---- paths ----------------------------------------------------------------------------------- */

const char *remote_sent_workspace(const struct hutch_spec *spec)
{
    struct remote_client *client = NULL;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    bool is_sent = spec->workspace.path && spec->workspace.mode == HUTCH_WORKSPACE_COPY &&
                   remote_client(&client, &ignored) == 0 && !client->host.socket;
    return is_sent ? spec->workspace.path : NULL;
}

/* Which of the spec's fields are paths of this machine; a socket leads to the same one. */
static int check_paths(const struct hutch_spec *spec, struct hutch_error *err)
{
    const struct {
        const char *flag;
        bool is_given;
        const char *remedy;
    } paths[] = {
        {"rootfs", spec->rootfs != NULL, "give an image instead"},
        {"workspace", spec->workspace.path && spec->workspace.mode != HUTCH_WORKSPACE_COPY,
         "'--workspace DIR:copy' sends the files along"},
        {"mount", spec->mounts.count > 0, "'hutch cp' brings files into a sandbox"},
        {"artifacts", spec->artifacts != NULL, "'hutch cp' brings files out of a sandbox"},
    };
    struct remote_client *client = NULL;
    if (remote_client(&client, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < HUTCH_COUNT(paths) && !client->host.socket; i++)
        if (paths[i].is_given)
            return hutch_fail(
                err, HUTCH_E_UNSUPPORTED, 0,
                "'--%s' names a path of this machine, and the daemon at '%.150s' may be "
                "on another; %s",
                paths[i].flag, client->host.name, paths[i].remedy);
    return 0;
}

/* "." is this process's directory, not the daemon's. */
static int make_absolute(json_t *object, const char *key, struct hutch_error *err)
{
    const char *path = remote_text(object, key);
    char here[PATH_MAX];
    hutch_autofree char *whole = NULL;
    if (!path || *path == '/')
        return 0;
    if (!getcwd(here, sizeof(here)))
        return hutch_fail_errno(err, errno, "see which directory this is");
    if (asprintf(&whole, "%s/%s", strcmp(here, "/") != 0 ? here : "", path) < 0)
        return hutch_fail_nomem(err);
    if (json_object_set_new(object, key, json_string(whole)) < 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.200s' is no UTF-8", whole);
    return 0;
}

static int settle_paths(const struct hutch_spec *spec, json_t *body, struct hutch_error *err)
{
    size_t index;
    json_t *mount;
    if (check_paths(spec, err) < 0 || make_absolute(body, "rootfs", err) < 0 ||
        make_absolute(body, "artifacts", err) < 0 ||
        make_absolute(json_object_get(body, "workspace"), "path", err) < 0)
        return -(int)err->code;
    json_array_foreach(json_object_get(body, "mounts"), index, mount)
    {
        if (make_absolute(mount, "source", err) < 0)
            return -(int)err->code;
    }
    if (remote_sent_workspace(spec))
        (void)json_object_del(body, "workspace");
    return 0;
}

/* A policy that the caller names and nobody looks at would be a promise that does not hold. */
static int check_policy(struct hutch_error *err)
{
    const char *path = getenv("HUTCH_POLICY");
    if (!path || !*path)
        return 0;
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "the policy '%.200s' is of this machine and the daemon looks at its own; "
                      "leave out '--policy' and HUTCH_POLICY",
                      path);
}

int remote_body_of_spec(const struct hutch_spec *spec, json_t **ret_body, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    const char *template = remote_template();
    if (check_policy(err) < 0 || hutch_spec_to_json_set(spec, &text, err) < 0)
        return -(int)err->code;
    json_t *body = json_loads(text, 0, NULL);
    if (!body)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the spec has bytes that are no UTF-8; the daemon takes text alone");
    int failed = settle_env(spec, body, err);
    if (!failed)
        failed = settle_paths(spec, body, err);
    if (!failed && template && json_object_set_new(body, "template", json_string(template)) < 0)
        failed = hutch_fail(err, HUTCH_E_INVALID, 0, "the sandbox's name is no UTF-8");
    if (failed)
        json_decref(body);
    else
        *ret_body = body;
    return failed;
}
