/* SPDX-License-Identifier: Apache-2.0 */
/* An image's configuration. Volumes, ports, health checks, history and whatever else it may hold
 * are not for us: nothing of an image reaches the host. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_in.h"
#include "image/manifest.h"
#include "image/members.h"
#include "util/own.h"

static int check_env(const struct hutch_strlist *env, struct hutch_error *err)
{
    for (size_t i = 0; i < env->count; i++) {
        size_t length = strcspn(env->items[i], "=");
        if (!length || !env->items[i][length])
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "'Env' holds '%.80s', which is not NAME=VALUE", env->items[i]);
    }
    return 0;
}

static int check_workdir(const char *workdir, struct hutch_error *err)
{
    if (workdir[0] && workdir[0] != '/')
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'WorkingDir' is '%.80s', which is not an absolute path", workdir);
    if (strlen(workdir) >= PATH_MAX)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'WorkingDir' is too long for a path");
    return 0;
}

static int read_labels(const struct hutch_value *config, struct hutch_strlist *labels,
                       struct hutch_error *err)
{
    const struct hutch_value *object = NULL;
    int r = member_of_type(config, "Labels", HUTCH_VALUE_OBJECT, &object, err);
    for (size_t i = 0; r >= 0 && object && i < object->list.count; i++) {
        const struct hutch_value *member = &object->list.items[i];
        const char *value = hutch_value_text(member);
        char *label = NULL;
        if (!value)
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "line %u: the label '%.80s' is %s, it must be a string", member->line,
                              member->key, hutch_value_kind(member));
        if (asprintf(&label, "%s=%s", member->key, value) < 0)
            return hutch_fail_nomem(err);
        r = hutch_strlist_take(labels, label, err);
    }
    return r;
}

/* How its commands run. */
static int read_run_config(const struct hutch_value *config, struct image *image,
                           struct hutch_error *err)
{
    int r = member_new_text(config, "User", &image->user, err);
    if (r >= 0)
        r = member_new_text(config, "WorkingDir", &image->workdir, err);
    if (r >= 0)
        r = check_workdir(image->workdir, err);
    if (r >= 0)
        r = member_new_text(config, "StopSignal", &image->stop_signal, err);
    if (r >= 0)
        r = member_texts(config, "Env", &image->env, err);
    if (r >= 0)
        r = check_env(&image->env, err);
    if (r >= 0)
        r = member_texts(config, "Entrypoint", &image->entrypoint, err);
    if (r >= 0)
        r = member_texts(config, "Cmd", &image->cmd, err);
    return r < 0 ? r : read_labels(config, &image->labels, err);
}

static int read_platform(const struct hutch_value *document, struct image *image,
                         struct hutch_error *err)
{
    const struct hutch_value *created = NULL;
    int r = member_text(document, "os", image->os, sizeof(image->os), err);
    if (r >= 0)
        r = member_text(document, "architecture", image->architecture, sizeof(image->architecture),
                        err);
    if (r >= 0)
        r = member_text(document, "variant", image->variant, sizeof(image->variant), err);
    if (r >= 0)
        r = member_of_type(document, "created", HUTCH_VALUE_STRING, &created, err);
    if (r < 0 || !created)
        return r;
    image->created = strdup(created->string.bytes);
    return image->created ? 0 : hutch_fail_nomem(err);
}

static int read_diff_ids(const struct hutch_value *document, struct hutch_strlist *diff_ids,
                         struct hutch_error *err)
{
    const struct hutch_value *rootfs = NULL;
    char type[32] = "";
    int r = member_of_type(document, "rootfs", HUTCH_VALUE_OBJECT, &rootfs, err);
    if (r < 0)
        return r;
    if (!rootfs)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "it has no 'rootfs'");
    r = member_text(rootfs, "type", type, sizeof(type), err);
    if (r < 0)
        return r;
    if (strcmp(type, "layers") != 0)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "its file system is of the type '%s', hutch knows 'layers'", type);
    r = member_texts(rootfs, "diff_ids", diff_ids, err);
    if (r < 0)
        return r;
    if (diff_ids->count > MANIFEST_MAX_LAYERS)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "it has %zu layers, the most that can be stacked are %d", diff_ids->count,
                          MANIFEST_MAX_LAYERS);
    for (size_t i = 0; i < diff_ids->count; i++)
        if (!image_digest_is_valid(diff_ids->items[i]))
            return hutch_fail(err, HUTCH_E_INVALID, 0, "'diff_ids' holds '%.80s', no digest",
                              diff_ids->items[i]);
    return 0;
}

static int read_document(const struct hutch_value *document, struct image *image,
                         struct hutch_strlist *diff_ids, struct hutch_error *err)
{
    const struct hutch_value nothing = {.type = HUTCH_VALUE_OBJECT};
    const struct hutch_value *config = NULL;
    if (document->type != HUTCH_VALUE_OBJECT)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "it is %s, not an object",
                          hutch_value_kind(document));
    int r = read_platform(document, image, err);
    if (r >= 0)
        r = member_of_type(document, "config", HUTCH_VALUE_OBJECT, &config, err);
    if (r >= 0)
        r = read_run_config(config ? config : &nothing, image, err);
    return r < 0 ? r : read_diff_ids(document, diff_ids, err);
}

int config_parse(const char *text, size_t length, struct image *image,
                 struct hutch_strlist *diff_ids, struct hutch_error *err)
{
    hutch_cleanup(hutch_value_done) struct hutch_value document = {0};
    int r = hutch_json_parse(text, length, &document, err);
    if (r >= 0)
        r = read_document(&document, image, diff_ids, err);
    return r < 0 ? hutch_wrap(err, "configuration: ") : 0;
}
