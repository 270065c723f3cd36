/* SPDX-License-Identifier: Apache-2.0 */
#include "image/build.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "image/build_call.h"
#include "image/build_registries.h"
#include "util/fs.h"
#include "util/own.h"

/* ---- before ---- */

int build_dockerfile_path(const struct build_request *request, char **ret_path,
                          struct hutch_error *err)
{
    int length = request->dockerfile ? asprintf(ret_path, "%s", request->dockerfile)
                                     : asprintf(ret_path, "%s/Dockerfile", request->directory);
    if (length >= 0)
        return 0;
    *ret_path = NULL;
    return hutch_fail_nomem(err);
}

int build_check(const struct build_request *request, struct hutch_error *err)
{
    hutch_autofree char *path = NULL;
    struct stat info;
    if (stat(request->directory, &info) < 0)
        return hutch_fail_errno(err, errno, "build the image of '%.200s'", request->directory);
    if (!S_ISDIR(info.st_mode))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.200s' is no directory; give the one that holds the Dockerfile",
                          request->directory);
    int r = build_dockerfile_path(request, &path, err);
    if (!path)
        return r;
    if (stat(path, &info) < 0)
        return errno != ENOENT ? hutch_fail_errno(err, errno, "read '%.200s'", path)
                               : hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                                            "there is no '%.300s'; write one, or name another "
                                            "with -f FILE",
                                            path);
    return 0;
}

/* ---- what it says ---- */

static void hear_build(void *context, const char *line)
{
    struct build *build = context;
    (void)build_step_hear(&build->step, line);
    build_hear_problem(build, line);
    if (build->request->on_line)
        build->request->on_line(build->request->context, line);
}

static int fail_build(const struct build *build, struct hutch_error *err)
{
    hutch_autofree char *path = NULL;
    hutch_autofree char *text = NULL;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    int r = build_dockerfile_path(build->request, &path, err);
    if (r < 0)
        return r;
    if (build->step.stage)
        (void)!hutch_read_file(path, BUILD_DOCKERFILE_MAX_BYTES, &text, NULL, &ignored);
    return build_step_fail(&build->step, path, text, build_cause(build), err);
}

/* ---- its calls ---- */

/* A build that was killed has left working containers, each with a layer. */
static int remove_containers(struct build *build, struct hutch_error *err)
{
    hutch_cleanup(build_words_done) struct build_words words = {0};
    int status = 0;
    build_words_begin(build, &words);
    build_words_add(&words, "rm");
    build_words_add(&words, "--all");
    int r = build_call(build, &words, build_hear_quietly, &status, err);
    if (r >= 0 && status)
        return hutch_fail(
            err, HUTCH_E_SYSTEM, 0,
            "remove what a killed build has left: %.300s; 'hutch image prune' empties "
            "the build cache",
            build_cause(build));
    return r;
}

/* A Dockerfile that cannot be read is for buildah to complain about, and what can be read only once
 * is for buildah to read. */
static int give_bases(struct build *build, struct hutch_error *err)
{
    hutch_autofree char *path = NULL;
    hutch_autofree char *text = NULL;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct stat info;
    int r = build_dockerfile_path(build->request, &path, err);
    if (r < 0 || !path || stat(path, &info) < 0 || !S_ISREG(info.st_mode) ||
        hutch_read_file(path, BUILD_DOCKERFILE_MAX_BYTES, &text, NULL, &ignored) < 0)
        return r;
    return build_give_bases(build, text, err);
}

static void add_build(const struct build *build, struct build_words *words)
{
    const struct build_request *request = build->request;
    build_words_add(words, "build");
    build_words_add(words, "--isolation=chroot"); /* needs no container runtime */
    build_words_add(words, "--network=host");
    /* knows instructions that OCI's ignores, such as SHELL; the layout is OCI's all the same */
    build_words_add(words, "--format=docker");
    build_words_add(words, "--layers");
    build_words_add(words, "--force-rm");
    build_words_add(words, "--retry=1");
    /* a base that is there is taken as it is: no network where there is no use for it */
    build_words_add(words, "--pull=%s", request->no_cache ? "true" : "false");
    if (faccessat(build->place->dir, "tmp/" BUILD_AUTHORITIES, F_OK, 0) == 0)
        build_words_add(words, "--cert-dir=%s/tmp/" BUILD_AUTHORITIES, build->place->path);
    if (request->no_cache)
        build_words_add(words, "--no-cache");
    if (request->platform)
        build_words_add(words, "--platform=%s", request->platform);
    for (const char *const *arg = request->build_args; arg && *arg; arg++)
        build_words_add(words, "--build-arg=%s", *arg);
    build_words_add(words, "--iidfile=%s/tmp/id", build->place->path);
}

static int run_build(struct build *build, struct hutch_error *err)
{
    hutch_cleanup(build_words_done) struct build_words words = {0};
    hutch_autofree char *dockerfile = NULL;
    int status = 0;
    int r = build_dockerfile_path(build->request, &dockerfile, err);
    if (r < 0)
        return r;
    build_words_begin(build, &words);
    add_build(build, &words);
    build_words_add(&words, "--file=%s", dockerfile);
    build_words_add(&words, "--");
    build_words_add(&words, "%s", build->request->directory);
    r = build_call(build, &words, hear_build, &status, err);
    return r >= 0 && status ? fail_build(build, err) : r;
}

static int run_push(struct build *build, struct hutch_error *err)
{
    hutch_cleanup(build_words_done) struct build_words words = {0};
    char id[128];
    int status = 0;
    if (hutch_read_at(build->place->dir, "tmp/id", id, sizeof(id)) < 0)
        return hutch_fail_errno(err, errno, "learn from buildah what it has built");
    id[strcspn(id, "\n")] = '\0';
    build_words_begin(build, &words);
    build_words_add(&words, "push");
    build_words_add(&words, "--quiet");
    build_words_add(&words, "%s", id);
    /* of the two, only the second compresses layers */
    build_words_add(&words, "%s:%s/out/image", build->request->is_named ? "docker-archive" : "oci",
                    build->place->path);
    int r = build_call(build, &words, build_hear_quietly, &status, err);
    if (r >= 0 && status)
        return hutch_fail(err, HUTCH_E_SYSTEM, 0, "take the built image out of buildah: %.300s",
                          build_cause(build));
    return r;
}

int build_image(const struct build_request *request, const char *buildah, struct build_place *place,
                struct hutch_error *err)
{
    struct build build = {.request = request, .buildah = buildah, .place = place};
    hutch_autofd int tmp = openat(place->dir, "tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tmp < 0)
        return hutch_fail_errno(err, errno, "open '%s/tmp'", place->path);
    int r = build_registries_write(tmp, err);
    if (r >= 0 && place->was_killed)
        r = remove_containers(&build, err);
    if (r < 0)
        return r;
    build_place_is_clean(place);
    r = give_bases(&build, err);
    if (r >= 0)
        r = run_build(&build, err);
    return r < 0 ? r : run_push(&build, err);
}
