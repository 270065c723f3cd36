/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "image/archive_save.h"
#include "image/build_call.h"
#include "image/dockerfile.h"
#include "image/manifest.h"
#include "image/store.h"
#include "util/own.h"

#define BASE_ARCHIVE "tmp/base.tar"

/* A base that is there, by the name that buildah knows it by. */
struct base {
    struct image image;
    char name[IMAGE_REFERENCE_BYTES];
};

static void base_done(struct base *base)
{
    image_done(&base->image);
}

static bool fits(const struct image *image, const char *platform_text)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct platform of_image = {0}, wanted;
    platform_here(&wanted);
    if (platform_text && platform_parse(platform_text, &wanted, &ignored) < 0)
        return false;
    (void)snprintf(of_image.os, sizeof(of_image.os), "%s", image->os);
    (void)snprintf(of_image.architecture, sizeof(of_image.architecture), "%s", image->architecture);
    (void)snprintf(of_image.variant, sizeof(of_image.variant), "%s", image->variant);
    return platform_check(&of_image, &wanted, &ignored) == 0;
}

/* What the store has not, has not whole, or not for this platform is for buildah to fetch; and so
 * is what is named by its digest, which an archive of docker's kind cannot say. */
static bool find_base(const struct image_store *store, const char *text, const char *platform,
                      struct base *ret_base)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct image_reference reference;
    if (image_reference_parse(text, &reference, &ignored) < 0 || reference.digest[0] ||
        image_find(store, &reference, &ret_base->image, &ignored) < 0)
        return false;
    image_reference_format(&reference, ret_base->name);
    return fits(&ret_base->image, platform);
}

/* ---- what buildah has ---- */

static void hear_id(void *context, const char *line)
{
    struct build *build = context;
    (void)snprintf(build->problem, sizeof(build->problem), "%s", line);
}

/* One that was given before, or built here, is not given again, unless its name has come to mean
 * another. */
static int ask(struct build *build, const struct base *base, bool *ret_is_there,
               struct hutch_error *err)
{
    hutch_cleanup(build_words_done) struct build_words words = {0};
    int status = 0;
    build_words_begin(build, &words);
    build_words_add(&words, "inspect");
    build_words_add(&words, "--type=image");
    build_words_add(&words, "--format={{.FromImageID}}");
    build_words_add(&words, "%s", base->name);
    int r = build_call(build, &words, hear_id, &status, err);
    *ret_is_there = !status && !strcmp(build->problem, IMAGE_DIGEST_HEX(base->image.config_digest));
    build->problem[0] = '\0';
    return r;
}

/* ---- giving ---- */

static int save_base(const struct build *build, const struct image_store *store,
                     const struct base *base, struct hutch_error *err)
{
    const char *name = base->name;
    hutch_autofd int fd = openat(build->place->dir, BASE_ARCHIVE,
                                 O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "write '%s/" BASE_ARCHIVE "'", build->place->path);
    return save_images(store, 1, &name, HUTCH_IMAGE_DOCKER, fd, err);
}

static int pull_base(struct build *build, const struct base *base, struct hutch_error *err)
{
    hutch_cleanup(build_words_done) struct build_words words = {0};
    int status = 0;
    build_words_begin(build, &words);
    build_words_add(&words, "pull");
    build_words_add(&words, "--quiet");
    build_words_add(&words, "docker-archive:%s/" BASE_ARCHIVE, build->place->path);
    int r = build_call(build, &words, build_hear_quietly, &status, err);
    if (r >= 0 && status)
        return hutch_fail(err, HUTCH_E_SYSTEM, 0, "give the image '%.150s' to buildah: %.300s",
                          base->name, build_cause(build));
    return r;
}

static int give(struct build *build, const struct image_store *store, const struct base *base,
                struct hutch_error *err)
{
    bool is_there = false;
    int r = ask(build, base, &is_there, err);
    if (r < 0 || is_there)
        return r;
    r = save_base(build, store, base, err);
    if (r >= 0)
        r = pull_base(build, base, err);
    (void)unlinkat(build->place->dir, BASE_ARCHIVE, 0);
    return r;
}

int build_give_bases(struct build *build, const char *dockerfile, struct hutch_error *err)
{
    hutch_cleanup(image_store_close) struct image_store store = {.dir = HUTCH_NO_FD};
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
    int r = dockerfile_bases(dockerfile, build->request->build_args, &names, err);
    if (r >= 0 && names.count)
        r = image_store_open(&store, false, err);
    for (size_t i = 0; r >= 0 && i < names.count; i++) {
        hutch_cleanup(base_done) struct base base = {.image = IMAGE_INIT};
        if (find_base(&store, names.items[i], build->request->platform, &base))
            r = give(build, &store, &base, err);
    }
    return r;
}
