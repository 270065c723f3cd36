/* SPDX-License-Identifier: Apache-2.0 */
/* Images: which there are, other names, removal. What is fetched, sent and built is in
 * images_work.c. */
#include <stdlib.h>
#include <string.h>

#include "hutch/image.h"
#include "server/images.h"
#include "server/routes.h"
#include "server/server.h"
#include "server/util.h"

/* ---- who may --------------------------------------------------------------------------------- */

bool images_may_use(struct api_call *call, const char *reference, const char *digest)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (hutch_policy_image(api_server(call)->policy, api_who(call)->tenant, reference, digest,
                           &err) == 0)
        return true;
    api_fail(call, &err);
    return false;
}

bool images_may_change(struct api_call *call)
{
    if (!api_who(call)->tenant)
        return true;
    api_problem(call, 403, "permission",
                "an image's name is everybody's, so only whoever runs the daemon gives and takes "
                "names; a tenant may pull what its policy allows, or snapshot a sandbox by name");
    return false;
}

/* ---- one ------------------------------------------------------------------------------------- */

/* Of an image's names a tenant hears those that it may use. */
static void hide_names(const struct api_call *call, json_t *image)
{
    json_t *names = json_object_get(image, "references");
    const char *tenant = api_who(call)->tenant;
    const char *digest = json_string_value(json_object_get(image, "digest"));
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    for (size_t i = json_array_size(names); tenant && i > 0; i--) {
        const char *name = json_string_value(json_array_get(names, i - 1));
        if (hutch_policy_image(api_server(call)->policy, tenant, name, digest, &ignored) < 0)
            (void)json_array_remove(names, i - 1);
    }
}

json_t *images_inspect(struct api_call *call, const char *reference)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    server_autofree char *text = NULL;
    if (hutch_image_inspect(reference, &text, &err) < 0) {
        api_fail(call, &err);
        return NULL;
    }
    json_t *image = json_loads(text, JSON_ALLOW_NUL, NULL);
    if (!image) {
        api_problem(call, 500, "system",
                    "the configuration of image '%.150s' is no JSON; pull it again", reference);
        return NULL;
    }
    if (!images_may_use(call, reference, json_string_value(json_object_get(image, "digest")))) {
        json_decref(image);
        return NULL;
    }
    hide_names(call, image);
    return image;
}

static void handle_inspect(struct api_call *call)
{
    json_t *image = images_inspect(call, api_query(call, "reference"));
    if (image)
        api_reply(call, 200, image);
}

/* ---- all ------------------------------------------------------------------------------------- */

struct listing {
    const struct api_call *call;
    json_t *images;
};

static int list_one(void *userdata, const struct hutch_image_info *info)
{
    const struct listing *listing = userdata;
    const struct api_who *who = api_who(listing->call);
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (who->tenant && hutch_policy_image(api_server(listing->call)->policy, who->tenant,
                                          info->reference, info->digest, &ignored) < 0)
        return 0;
    return json_array_append_new(
        listing->images,
        json_pack("{s:s,s:s,s:s,s:s,s:s?,s:I,s:I,s:I}", "reference", info->reference, "name",
                  info->name, "digest", info->digest, "platform", info->platform, "created",
                  info->created, "layers", (json_int_t)info->layers, "bytes",
                  (json_int_t)info->bytes, "changed_us", (json_int_t)info->changed_us));
}

static void handle_list(struct api_call *call)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct listing listing = {call, json_array()};
    if (hutch_image_list(list_one, &listing, &err) < 0) {
        json_decref(listing.images);
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200, json_pack("{s:o}", "images", listing.images));
}

/* ---- names ----------------------------------------------------------------------------------- */

json_t *images_done(const char *reference, const char *status, json_t *log)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    server_autofree char *text = NULL;
    json_t *image = hutch_image_inspect(reference, &text, &ignored) == 0
                        ? json_loads(text, JSON_ALLOW_NUL, NULL)
                        : NULL;
    json_t *done = json_pack("{s:s,s:O?,s:s,s:o}", "reference", reference, "digest",
                             json_object_get(image, "digest"), "status", status, "log",
                             log ? log : json_array());
    json_decref(image);
    return done;
}

static void handle_tag(struct api_call *call)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    const char *name = api_body_text(call, "new_reference");
    if (!images_may_change(call))
        return;
    if (hutch_image_tag(api_body_text(call, "reference"), name, &err) < 0)
        api_fail(call, &err);
    else
        api_reply(call, 200, images_done(name, "tagged", NULL));
}

static void handle_remove(struct api_call *call)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    const char *name = api_query(call, "reference");
    if (!images_may_change(call))
        return;
    if (hutch_image_remove(name, &err) < 0)
        api_fail(call, &err);
    else
        api_reply(call, 200, images_done(name, "removed", NULL));
}

static void note_pruned(void *userdata, const char *kind, const char *name)
{
    (void)json_array_append_new(userdata, json_pack("{s:s,s:s}", "kind", kind, "name", name));
}

static void handle_prune(struct api_call *call)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_image_pruned pruned = {0};
    bool dry_run = api_body_flag(call, "dry_run", false);
    if (!images_may_change(call))
        return;
    json_t *items = json_array();
    if (hutch_image_prune(api_body_flag(call, "all", false), dry_run, note_pruned, items, &pruned,
                          &err) < 0) {
        json_decref(items);
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200,
              json_pack("{s:o,s:I,s:b}", "items", items, "bytes", (json_int_t)pruned.bytes,
                        "dry_run", dry_run));
}

/* ---- the table ------------------------------------------------------------------------------- */

#define STREAM_ROW                                                                                \
    {                                                                                             \
        "stream", API_FORM, false, "sse or ndjson: its log as it comes, and the answer at last.", \
            0                                                                                     \
    }
#define PLATFORM_ROW                                                                     \
    {                                                                                    \
        "platform", API_TEXT, false, "OS/ARCH[/VARIANT]; without it, this machine's.", 0 \
    }

static const struct api_field reference_query[] = {
    {"reference", API_TEXT, true, "The image, by a name or its digest.", 0},
    {0},
};
static const struct api_field stream_query[] = {STREAM_ROW, {0}};
static const struct api_field pull_fields[] = {
    {"reference", API_TEXT, true, "The image, as everybody writes it: python:3.11-slim.", 0},
    PLATFORM_ROW,
    {0},
};
static const struct api_field tag_fields[] = {
    {"reference", API_TEXT, true, "The image, by a name or its digest.", 0},
    {"new_reference", API_TEXT, true, "The name it gets as well.", 0},
    {0},
};
static const struct api_field push_fields[] = {
    {"reference", API_TEXT, true, "The image, by a name that is here.", 0},
    {"to", API_TEXT, false, "Where it goes; without it, the name's own registry.", 0},
    {0},
};
static const struct api_field prune_fields[] = {
    {"all", API_BOOLEAN, false, "Also names that no sandbox uses.", 0},
    {"dry_run", API_BOOLEAN, false, "Only tell.", 0},
    {0},
};
static const struct api_field import_query[] = {
    {"reference", API_TEXT, true, "The name it gets.", 0},
    PLATFORM_ROW,
    STREAM_ROW,
    {0},
};
static const struct api_field load_query[] = {
    {"name", API_TEXT, false, "For an image that has no name in the archive.", 0},
    PLATFORM_ROW,
    STREAM_ROW,
    {0},
};
static const struct api_field save_query[] = {
    {"reference", API_TEXT, true, "The image, by a name or its digest.", 0},
    {"format", API_TEXT, false, "oci, or docker for Docker before version 25.", 0},
    {0},
};
static const struct api_field build_query[] = {
    {"reference", API_TEXT, true, "The name it gets.", 0},
    {"dockerfile", API_TEXT, false, "Its path in the archive; without it, Dockerfile.", 0},
    {"no_cache", API_BOOLEAN, false, "Do every step again.", 0},
    {"backend", API_TEXT, false,
     "docker: its engine builds and keeps it; otherwise it is hutch's own store that gets it.", 0},
    PLATFORM_ROW,
    STREAM_ROW,
    {0},
};

const struct api_route routes_of_images[] = {
    {"GET", "/api/images", "listImages", "The images that are here.", API_READ, 0, NULL, NULL, 200,
     "ImageList", handle_list, NULL},
    {"DELETE", "/api/images", "removeImage",
     "Take a name away, and what no other name or sandbox needs.", API_ADMIN, 0, reference_query,
     NULL, 200, "ImageDone", handle_remove, NULL},
    {"GET", "/api/images/inspect", "inspectImage", "Everything about an image.", API_READ, 0,
     reference_query, NULL, 200, "ImageDetail", handle_inspect, NULL},
    {"POST", "/api/images/pull", "pullImage", "Fetch an image from its registry.", API_ADMIN,
     API_STREAMS, stream_query, pull_fields, 200, "ImageDone", images_pull, NULL},
    {"POST", "/api/images/push", "pushImage",
     "Send an image to a registry, with the credentials that are kept on the host.", API_ADMIN,
     API_STREAMS, stream_query, push_fields, 200, "ImageDone", images_push, NULL},
    {"POST", "/api/images/tag", "tagImage", "Give an image one more name.", API_ADMIN, 0, NULL,
     tag_fields, 200, "ImageDone", handle_tag, NULL},
    {"POST", "/api/images/prune", "pruneImages", "Remove what no name leads to.", API_ADMIN, 0,
     NULL, prune_fields, 200, "ImagesPruned", handle_prune, NULL},
    {"POST", "/api/images/import", "importImage",
     "Make an image of one layer of a tar archive, which is the body.", API_ADMIN,
     API_STREAMS | API_BODY_PIPE, import_query, NULL, 200, "ImageDone", images_import, NULL},
    {"POST", "/api/images/load", "loadImages", "Take images from an archive, which is the body.",
     API_ADMIN, API_STREAMS | API_BODY_PIPE, load_query, NULL, 200, "ImageDone", images_load, NULL},
    {"GET", "/api/images/save", "saveImage", "An image with its names and layers, as an archive.",
     API_READ, API_BYTES, save_query, NULL, 200, NULL, images_save, NULL},
    {"GET", "/api/images/export", "exportImage", "An image's whole tree of files, as one archive.",
     API_READ, API_BYTES, reference_query, NULL, 200, NULL, images_export, NULL},
    {"POST", "/api/images/build", "buildImage",
     "Build an image of a Dockerfile; the body is an archive of its directory.", API_ADMIN,
     API_STREAMS | API_BODY_PIPE, build_query, NULL, 200, "ImageDone", images_build, NULL},
    {0},
};
