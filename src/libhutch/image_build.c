/* SPDX-License-Identifier: Apache-2.0 */
/* hutch_image_build(): buildah makes the image, and it enters the store as any other archive does.
 */
#include "libhutch/image_build.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/native/subid.h"
#include "hutch/image.h"
#include "image/build.h"
#include "image/build_context.h"
#include "image/reference.h"
#include "image/store.h"
#include "libhutch/image_options.h"
#include "libhutch/scratch.h"
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

static int check_build(const struct hutch_image_build *build, struct hutch_error *err)
{
    struct image_reference reference;
    uint32_t uid;
    uint32_t gid;
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
    if (geteuid() != 0 && !subid_find(&uid, &gid))
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "building an image as an ordinary user takes subordinate ids, for images "
                          "have files of many owners: sudo apt-get install uidmap && sudo usermod "
                          "--add-subuids 100000-165535 --add-subgids 100000-165535 \"$USER\"");
    return 0;
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

static int build_and_load(const struct hutch_image_build *build,
                          const struct build_request *request, const char *buildah,
                          struct build_place *place, const struct hutch_image_options *options,
                          struct hutch_error *err)
{
    char layout[sizeof(place->path) + 16];
    int r = build_image(request, buildah, place, err);
    if (r < 0)
        return r;
    (void)snprintf(layout, sizeof(layout), "%s/out/image", place->path);
    return hutch_image_load(layout, build->reference, NULL, NULL, options, err);
}

/* Standard input is the directory, as an archive. */
static int unpack_directory(const struct build_place *place, struct build_request *request,
                            struct build_context *context, char **ret_buildah,
                            struct hutch_error *err)
{
    int r = build_context_unpack(place, STDIN_FILENO, request->dockerfile, context, err);
    if (r < 0)
        return r;
    request->directory = context->directory;
    request->dockerfile = context->dockerfile;
    return build_check(request, ret_buildah, err);
}

static int build_it(const struct hutch_image_build *build, bool only_missing,
                    struct hutch_image_options *options, struct hutch_error *err)
{
    struct build_place place = BUILD_PLACE_INIT;
    struct build_context context;
    hutch_autofree char *buildah = NULL;
    int r = check_build(build, err);
    if (r < 0)
        return r;
    struct build_request request = {
        .directory = build->directory,
        .dockerfile = build->dockerfile,
        .build_args = build->build_args,
        .platform = options->platform,
        .no_cache = build->no_cache,
        .for_registry = !only_missing, /* the image of a named sandbox stays here */
        .on_line = tell_line,
        .context = options,
    };
    bool is_archive = !strcmp(build->directory, "-");
    if (!is_archive)
        r = build_check(&request, &buildah, err);
    if (r >= 0)
        r = build_place_enter(&place, tell_wait, options, err);
    if (r < 0)
        return r;
    if (is_archive)
        r = unpack_directory(&place, &request, &context, &buildah, err);
    if (r >= 0 && (!only_missing || !image_is_there(build->reference)))
        r = build_and_load(build, &request, buildah, &place, options, err);
    build_place_leave(&place);
    return r;
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
    return build_it(build, false, &own, err);
}

int image_build_missing(const struct hutch_image_build *build,
                        const struct hutch_image_options *options, struct hutch_error *err)
{
    struct hutch_image_options own = *options;
    return build_it(build, true, &own, err);
}
