/* SPDX-License-Identifier: Apache-2.0 */
/* Images of the daemon's machine: listed, fetched, named, removed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hutch/image.h"
#include "remote/client.h"
#include "util/own.h"

static bool is_digest(const char *text)
{
    static const char prefix[] = "sha256:";
    return text && !strncmp(text, prefix, sizeof(prefix) - 1) &&
           strspn(text + sizeof(prefix) - 1, "0123456789abcdef") == 64 &&
           strlen(text) == sizeof(prefix) - 1 + 64;
}

static int list_one(const json_t *row, hutch_image_fn on_image, void *userdata,
                    struct hutch_error *err)
{
    struct hutch_image_info info = {
        .reference = remote_text(row, "reference"),
        .name = remote_text(row, "name"),
        .digest = remote_text(row, "digest"),
        .platform = remote_text(row, "platform"),
        .created = remote_text(row, "created"),
        .bytes = remote_number(row, "bytes", 0),
        .changed_us = remote_number(row, "changed_us", 0),
        .layers = (size_t)remote_number(row, "layers", 0),
    };
    if (!info.reference || !info.name || !info.platform || !info.digest ||
        strncmp(info.digest, "sha256:", strlen("sha256:")) != 0)
        return remote_fail_strange(err, "an image without a name or a digest");
    return on_image(userdata, &info);
}

int hutch_image_list(hutch_image_fn on_image, void *userdata, struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    struct remote_call call = REMOTE_CALL(remote_path("/api/images"));
    size_t index;
    const json_t *row;
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    const json_t *list = remote_list(answer, "images", err);
    if (!list)
        return -(int)err->code;
    json_array_foreach(list, index, row)
    {
        int status = list_one(row, on_image, userdata, err);
        if (status)
            return status;
    }
    return 0;
}

int hutch_image_inspect(const char *reference, char **ret_json, struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    struct remote_call call =
        REMOTE_CALL(remote_path_add(remote_path("/api/images/inspect"), "reference", reference));
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    *ret_json = json_dumps(answer, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    return *ret_json ? 0 : hutch_fail_nomem(err);
}

/* ---- what changes ---------------------------------------------------------------------------- */

static int change(const char *path, json_t *body, json_t **ret_answer, struct hutch_error *err)
{
    struct remote_call call = REMOTE_CALL(remote_path(path), .method = "POST", .body = body);
    return remote_do(&call, ret_answer, err);
}

int hutch_image_pull(const char *reference, const struct hutch_image_options *options,
                     char ret_digest[HUTCH_IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    json_t *body = json_pack("{s:s}", "reference", reference);
    if (options->platform)
        (void)json_object_set_new(body, "platform", json_string(options->platform));
    if (change("/api/images/pull", body, &answer, err) < 0)
        return -(int)err->code;
    const char *digest = remote_text(answer, "digest");
    if (!is_digest(digest))
        return remote_fail_strange(err, "a pull without a digest");
    (void)snprintf(ret_digest, HUTCH_IMAGE_DIGEST_BYTES, "%s", digest);
    return 0;
}

int hutch_image_push(const char *reference, const char *to,
                     const struct hutch_image_options *options, struct hutch_error *err)
{
    json_t *body = json_pack("{s:s}", "reference", reference);
    (void)options; /* how far it is, only the daemon sees */
    if (to)
        (void)json_object_set_new(body, "to", json_string(to));
    return change("/api/images/push", body, NULL, err);
}

int hutch_image_tag(const char *reference, const char *new_reference, struct hutch_error *err)
{
    return change("/api/images/tag",
                  json_pack("{s:s,s:s}", "reference", reference, "new_reference", new_reference),
                  NULL, err);
}

int hutch_image_remove(const char *reference, struct hutch_error *err)
{
    struct remote_call call = REMOTE_CALL(
        remote_path_add(remote_path("/api/images"), "reference", reference), .method = "DELETE");
    return remote_do(&call, NULL, err);
}

int hutch_image_snapshot(const char *sandbox, const char *reference,
                         const struct hutch_image_options *options,
                         char ret_digest[HUTCH_IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    struct remote_call call =
        REMOTE_CALL(remote_path("/api/sandboxes/{}/snapshot", sandbox), .method = "POST",
                    .body = json_pack("{s:s}", "reference", reference));
    (void)options;
    ret_digest[0] = '\0'; /* the daemon tells its name alone */
    return remote_do(&call, NULL, err);
}

int hutch_image_prune(bool all, bool dry_run, hutch_image_pruned_fn on_item, void *userdata,
                      struct hutch_image_pruned *ret_pruned, struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    size_t index;
    const json_t *row;
    if (change("/api/images/prune", json_pack("{s:b,s:b}", "all", all, "dry_run", dry_run), &answer,
               err) < 0)
        return -(int)err->code;
    const json_t *items = remote_list(answer, "items", err);
    if (!items)
        return -(int)err->code;
    json_array_foreach(items, index, row)
    {
        const char *kind = remote_text(row, "kind"), *name = remote_text(row, "name");
        if (on_item && kind && name)
            on_item(userdata, kind, name);
    }
    if (ret_pruned)
        *ret_pruned = (struct hutch_image_pruned){.items = json_array_size(items),
                                                  .bytes = remote_number(answer, "bytes", 0)};
    return 0;
}
