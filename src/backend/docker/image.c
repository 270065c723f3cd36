/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/docker/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/check.h"
#include "core/json_value.h"
#include "util/own.h"

#define CONFIG_CEILING (4u << 20)

void docker_image_done(struct docker_image *image)
{
    free(image->user);
    free(image->config);
    hutch_strlist_done(&image->volumes);
    *image = (struct docker_image){0};
}

static void copy_member(struct hutch_json_out *out, const char *key, const struct hutch_value *from,
                        const char *name)
{
    const struct hutch_value *member = hutch_value_get(from, name);
    if (member)
        hutch_json_value(out, key, member);
}

/* What the engine tells about an image in its own words, as the document that images have. */
static int write_config(const struct hutch_value *json, char **ret_config, struct hutch_error *err)
{
    struct hutch_buf text = HUTCH_BUF(CONFIG_CEILING);
    struct hutch_json_out out = {&text, false};
    size_t length = 0;
    hutch_json_open(&out, NULL, '{');
    copy_member(&out, "created", json, "Created");
    copy_member(&out, "architecture", json, "Architecture");
    copy_member(&out, "os", json, "Os");
    copy_member(&out, "config", json, "Config");
    hutch_json_open(&out, "rootfs", '{');
    hutch_json_string(&out, "type", "layers");
    copy_member(&out, "diff_ids", hutch_value_get(json, "RootFS"), "Layers");
    hutch_json_close(&out, '}');
    hutch_json_close(&out, '}');
    return hutch_buf_take(&text, ret_config, &length, err);
}

static void read_word(char word[32], const struct hutch_value *json, const char *key)
{
    const char *text = hutch_value_text(hutch_value_get(json, key));
    (void)snprintf(word, 32, "%s", text ? text : "");
}

/* "/data" and "/data/" are one. */
static int read_volumes(const struct hutch_value *json, struct hutch_strlist *volumes,
                        struct hutch_error *err)
{
    const struct hutch_value *all = hutch_value_get(hutch_value_get(json, "Config"), "Volumes");
    size_t count = all && all->type == HUTCH_VALUE_OBJECT ? all->list.count : 0;
    for (size_t i = 0; i < count; i++) {
        hutch_autofree char *path = strdup(all->list.items[i].key);
        if (!path)
            return hutch_fail_nomem(err);
        hutch_path_trim(path);
        if (!hutch_strlist_has(volumes, path) && hutch_strlist_add(volumes, path, err) < 0)
            return -(int)err->code;
    }
    return 0;
}

static int read_image(const struct hutch_value *json, struct docker_image *ret_image,
                      struct hutch_error *err)
{
    const char *user = hutch_value_text(hutch_value_get(hutch_value_get(json, "Config"), "User"));
    struct docker_image image = {0};
    read_word(image.platform.os, json, "Os");
    read_word(image.platform.architecture, json, "Architecture");
    read_word(image.platform.variant, json, "Variant");
    image.user = strdup(user ? user : "");
    if (!image.user)
        return hutch_fail_nomem(err);
    if (write_config(json, &image.config, err) < 0 || read_volumes(json, &image.volumes, err) < 0) {
        docker_image_done(&image);
        return -(int)err->code;
    }
    *ret_image = image;
    return 0;
}

/* HUTCH_E_NOT_FOUND when the engine does not have it. */
static int look(struct docker_engine *engine, const char *name, struct docker_image *ret_image,
                struct hutch_error *err)
{
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    struct hutch_buf path = HUTCH_BUF(8u << 10);
    hutch_buf_puts(&path, "/images/");
    docker_add_escaped(&path, name);
    hutch_buf_puts(&path, "/json");
    int status = path.failed ? hutch_fail_nomem(err) : docker_get(engine, path.data, &answer, err);
    if (status == 0)
        status = read_image(&answer.json, ret_image, err);
    docker_answer_done(&answer);
    hutch_buf_done(&path);
    return status;
}

int docker_image_look(struct docker_engine *engine, const char *name, struct platform *ret_platform,
                      struct hutch_error *err)
{
    struct docker_image image = {0};
    int status = look(engine, name, &image, err);
    if (status == 0 && ret_platform)
        *ret_platform = image.platform;
    docker_image_done(&image);
    return status;
}

static int fail_missing(const char *name, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                      "image '%.120s': neither the engine nor hutch's own store has it, and --pull "
                      "never keeps it from being fetched; fetch it with 'docker pull %.120s'",
                      name, name);
}

/* Brings an image there that the engine does not have. */
static int bring(struct docker_engine *engine, const struct hutch_spec *spec,
                 struct hutch_error *err)
{
    int status = docker_image_load(engine, spec->image, err);
    if (status != -HUTCH_E_NOT_FOUND)
        return status;
    return strcmp(spec->pull, "never") != 0 ? docker_image_pull(engine, spec->image, NULL, err)
                                            : fail_missing(spec->image, err);
}

int docker_image_ready(struct docker_engine *engine, const struct hutch_spec *spec,
                       struct docker_image *ret_image, struct hutch_error *err)
{
    if (!spec->image)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the backend docker has no root without an image; give one with --image");
    if (!strcmp(spec->pull, "always") && docker_image_pull(engine, spec->image, NULL, err) < 0)
        return -(int)err->code;
    int status = look(engine, spec->image, ret_image, err);
    if (status != -HUTCH_E_NOT_FOUND)
        return status;
    status = bring(engine, spec, err);
    return status < 0 ? status : look(engine, spec->image, ret_image, err);
}
