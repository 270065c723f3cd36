/* SPDX-License-Identifier: Apache-2.0 */
/* hutch_image_build(): the engine of a backend that has images of its own makes it; else buildah
 * does, and it enters the store as any other archive does. */
#include "libhutch/image_build.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/native/subid.h"
#include "hutch/image.h"
#include "image/build.h"
#include "image/build_context.h"
#include "image/reference.h"
#include "image/store.h"
#include "libhutch/image_options.h"
#include "libhutch/scratch.h"
#include "util/fs.h"
#include "util/own.h"

static void tell(const struct hutch_image_options *options, const char *action, const char *item)
{
    struct hutch_image_progress progress = {.action = action, .item = item};
    if (options->on_progress)
        options->on_progress(options->userdata, &progress);
}

static void tell_line(void *context, const char *line)
{
    tell(context, "build", line);
}

static void tell_wait(void *context)
{
    tell(context, "wait", "for another build to end");
}

static int check_build(const struct hutch_image_build *build,
                       char ret_reference[IMAGE_REFERENCE_BYTES], struct hutch_error *err)
{
    struct image_reference reference;
    if (build->size != sizeof(*build))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "hutch_image_build has size %zu instead of %zu; set it to sizeof, with "
                          "the header of this library",
                          build->size, sizeof(*build));
    if (!build->directory || !build->reference)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "a build takes a directory and a name");
    int r = image_reference_parse(build->reference, &reference, err);
    if (r < 0)
        return r;
    if (*reference.digest)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.200s' names an image by its digest, which only its content can give "
                          "it; name it by a tag",
                          build->reference);
    image_reference_format(&reference, ret_reference);
    return 0;
}

/* What buildah takes. */
static int find_buildah(char **ret_buildah, struct hutch_error *err)
{
    uint32_t uid;
    uint32_t gid;
    if (geteuid() != 0 && !subid_find(&uid, &gid))
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "building an image as an ordinary user takes subordinate ids, for images "
                          "have files of many owners: sudo apt-get install uidmap && sudo usermod "
                          "--add-subuids 100000-165535 --add-subgids 100000-165535 \"$USER\"");
    return build_process_find("buildah", ret_buildah, err);
}

bool image_is_there(const char *reference)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct image_reference parsed;
    struct image_store store;
    struct image image = IMAGE_INIT;
    if (image_reference_parse(reference, &parsed, &ignored) < 0 ||
        image_store_open(&store, false, &ignored) < 0)
        return false;
    bool is_there = image_find(&store, &parsed, &image, &ignored) == 0;
    image_done(&image);
    image_store_close(&store);
    return is_there;
}

static int build_and_load(const struct build_request *request, const char *buildah,
                          struct build_place *place, const struct hutch_image_options *options,
                          struct hutch_error *err)
{
    char layout[sizeof(place->path) + 16];
    int r = build_image(request, buildah, place, err);
    if (r < 0)
        return r;
    (void)snprintf(layout, sizeof(layout), "%s/out/image", place->path);
    return hutch_image_load(layout, request->reference, NULL, NULL, options, err);
}

/* What the Dockerfile says is read here: it may be a file that nobody else can open. */
static int build_in_engine(const struct hutch_backend_ops *backend,
                           const struct build_request *request, struct hutch_error *err)
{
    hutch_autofree char *path = NULL;
    hutch_autofree char *text = NULL;
    struct build_request whole = *request;
    int r = build_dockerfile_path(request, &path, err);
    if (r >= 0)
        r = hutch_read_file(path, BUILD_DOCKERFILE_MAX_BYTES, &text, NULL, err);
    if (r < 0)
        return r;
    whole.dockerfile = path;
    whole.text = text;
    return backend->build(&whole, err);
}

/* Standard input is the directory, as an archive. */
static int unpack_directory(const struct build_place *place, struct build_request *request,
                            struct build_context *context, struct hutch_error *err)
{
    int r = build_context_unpack(place, STDIN_FILENO, request->dockerfile, context, err);
    if (r < 0)
        return r;
    request->directory = context->directory;
    request->dockerfile = context->dockerfile;
    return build_check(request, err);
}

/* Where an archive was unpacked is nothing to whoever has sent it. */
static void forget_place(const struct build_context *context, struct hutch_error *err)
{
    size_t length = strlen(context->directory) + 1;
    char *found = strstr(err->msg, context->directory);
    if (found && strlen(found) > length)
        memmove(found, found + length, strlen(found + length) + 1);
}

static int build_it(const struct hutch_backend_ops *backend, struct build_request *request,
                    struct hutch_image_options *options, struct hutch_error *err)
{
    struct build_place place = BUILD_PLACE_INIT;
    struct build_context context = {0};
    hutch_autofree char *buildah = NULL;
    bool is_archive = !strcmp(request->directory, "-");
    int r = is_archive ? 0 : build_check(request, err);
    if (r >= 0 && !backend->build)
        r = find_buildah(&buildah, err);
    if (r >= 0 && (is_archive || !backend->build))
        r = build_place_enter(&place, tell_wait, options, err);
    if (r < 0)
        return r;
    if (is_archive)
        r = unpack_directory(&place, request, &context, err);
    if (r >= 0 && backend->build)
        r = build_in_engine(backend, request, err);
    else if (r >= 0 && (!request->is_named || !image_is_there(request->reference)))
        r = build_and_load(request, buildah, &place, options, err);
    if (r < 0 && context.directory[0])
        forget_place(&context, err);
    build_place_leave(&place);
    return r;
}

static int build_as(const struct hutch_image_build *build, bool is_named,
                    struct hutch_image_options *options, struct hutch_error *err)
{
    char reference[IMAGE_REFERENCE_BYTES];
    int r = check_build(build, reference, err);
    if (r < 0 || !build->directory)
        return r;
    const struct hutch_backend_ops *backend =
        hutch_backend_find(build->backend ? build->backend : "native", err);
    if (!backend)
        return -(int)err->code;
    struct build_request request = {
        .directory = build->directory,
        .dockerfile = build->dockerfile,
        .reference = reference,
        .build_args = build->build_args,
        .platform = options->platform,
        .no_cache = build->no_cache,
        .is_named = is_named,
        .on_line = tell_line,
        .context = options,
    };
    return build_it(backend, &request, options, err);
}

int hutch_image_build(const struct hutch_image_build *build,
                      const struct hutch_image_options *options, struct hutch_error *err)
{
    struct hutch_image_options own = HUTCH_IMAGE_OPTIONS_INIT;
    OR_SCRATCH(err);
    int r = image_options_check(options, IMAGE_PLATFORM_IS_ASKED, err);
    if (r < 0)
        return r;
    if (options)
        own = *options;
    return build_as(build, false, &own, err);
}

int image_build_missing(const struct hutch_image_build *build,
                        const struct hutch_image_options *options, struct hutch_error *err)
{
    struct hutch_image_options own = *options;
    return build_as(build, true, &own, err);
}
