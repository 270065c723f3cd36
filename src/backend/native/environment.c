/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/env_file.h"
#include "core/map.h"
#include "core/secret_spec.h"
#include "init/protocol.h"
#include "util/fs.h"
#include "util/own.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static int set_defaults(struct hutch_map *map, const struct identity *identity, bool terminal,
                        struct hutch_error *err)
{
    const struct {
        const char *key;
        const char *value;
    } defaults[] = {{"PATH", DEFAULT_PATH},
                    {"HOME", identity->home},
                    {"USER", identity->name},
                    {"LANG", "C.UTF-8"},
                    {"TERM", terminal ? "xterm-256color" : NULL}};
    for (size_t i = 0; i < HUTCH_COUNT(defaults); i++)
        if (defaults[i].value && hutch_map_set(map, defaults[i].key, defaults[i].value, err) < 0)
            return -(int)err->code;
    return 0;
}

/* Where programs that do not look into the system's bundle are told of another. */
static int set_trust(struct hutch_map *map, struct hutch_error *err)
{
    static const struct {
        const char *key;
        const char *value;
    } variables[] = {{"SSL_CERT_FILE", "/" INIT_TRUST "/" INIT_TRUST_BUNDLE},
                     {"REQUESTS_CA_BUNDLE", "/" INIT_TRUST "/" INIT_TRUST_BUNDLE},
                     {"CURL_CA_BUNDLE", "/" INIT_TRUST "/" INIT_TRUST_BUNDLE},
                     {"GIT_SSL_CAINFO", "/" INIT_TRUST "/" INIT_TRUST_BUNDLE},
                     {"NODE_EXTRA_CA_CERTS", "/" INIT_TRUST "/" INIT_TRUST_AUTHORITY}};
    for (size_t i = 0; i < HUTCH_COUNT(variables); i++)
        if (hutch_map_set(map, variables[i].key, variables[i].value, err) < 0)
            return -(int)err->code;
    return 0;
}

static int add_image(struct hutch_map *map, const struct image *image, struct hutch_error *err)
{
    for (size_t i = 0; i < image->env.count; i++) {
        const char *pair = image->env.items[i];
        size_t length = strcspn(pair, "=");
        hutch_autofree char *key = strndup(pair, length);
        if (!key)
            return hutch_fail_nomem(err);
        if (pair[length] && hutch_map_set(map, key, pair + length + 1, err) < 0)
            return -(int)err->code;
    }
    return 0;
}

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

static int flatten(struct hutch_strlist *environment, const struct hutch_map *map,
                   struct hutch_error *err)
{
    for (size_t i = 0; i < map->count; i++) {
        char *line = NULL;
        if (asprintf(&line, "%s=%s", map->items[i].key, map->items[i].value) < 0)
            return hutch_fail_nomem(err);
        if (hutch_strlist_take(environment, line, err) < 0)
            return -(int)err->code;
    }
    return 0;
}

int environment_asked(struct hutch_map *map, const struct hutch_spec *spec, struct hutch_error *err)
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

int environment_build(struct hutch_strlist *environment, const struct hutch_spec *spec,
                      const struct image_use *image, const struct identity *identity, bool terminal,
                      struct hutch_error *err)
{
    hutch_cleanup(hutch_map_done) struct hutch_map map = {0};
    if (set_defaults(&map, identity, terminal, err) < 0 ||
        (image && add_image(&map, &image->image, err) < 0) ||
        (hutch_secrets_intercept(spec) && set_trust(&map, err) < 0) ||
        environment_asked(&map, spec, err) < 0)
        return -(int)err->code;
    return flatten(environment, &map, err);
}

const char *environment_get(const struct hutch_strlist *environment, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < environment->count; i++)
        if (!strncmp(environment->items[i], name, length) && environment->items[i][length] == '=')
            return environment->items[i] + length + 1;
    return NULL;
}
