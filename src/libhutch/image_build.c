/* SPDX-License-Identifier: Apache-2.0 */
/* hutch_image_build(): buildah makes the image, and it enters the store as any other archive does.
 */
#include <stdio.h>

#include "backend/native/subid.h"
#include "hutch/image.h"
#include "image/build.h"
#include "image/reference.h"
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

int hutch_image_build(const struct hutch_image_build *build,
                      const struct hutch_image_options *given, struct hutch_error *err)
{
    struct hutch_image_options options = HUTCH_IMAGE_OPTIONS_INIT;
    struct build_place place = BUILD_PLACE_INIT;
    hutch_autofree char *buildah = NULL;
    char layout[sizeof(place.path) + 16];
    if (given)
        options = *given;
    struct build_request request = {build->directory, build->dockerfile, build->build_args,
                                    options.platform, build->no_cache,   tell_line,
                                    &options};
    int r = check_build(build, err);
    if (r >= 0)
        r = build_check(&request, &buildah, err);
    if (r >= 0)
        r = build_place_enter(&place, tell_wait, &options, err);
    if (r < 0)
        return r;
    r = build_image(&request, buildah, &place, err);
    (void)snprintf(layout, sizeof(layout), "%s/out/image", place.path);
    if (r >= 0)
        r = hutch_image_load(layout, build->reference, NULL, NULL, &options, err);
    build_place_leave(&place);
    return r;
}
