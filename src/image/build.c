/* SPDX-License-Identifier: Apache-2.0 */
#include "image/build.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "image/build_registries.h"
#include "image/build_step.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/strlist.h"

#define DOCKERFILE_MAX_BYTES (1u << 20)

/* One build, while it goes on. */
struct build {
    const struct build_request *request;
    const char *buildah;
    const struct build_place *place;
    struct build_step step; /* the last one that was announced */
    char problem[320];      /* what buildah said last about why it gives up */
};

/* ---- before ---- */

static int dockerfile_path(const struct build_request *request, char **ret_path,
                           struct hutch_error *err)
{
    int length = request->dockerfile ? asprintf(ret_path, "%s", request->dockerfile)
                                     : asprintf(ret_path, "%s/Dockerfile", request->directory);
    if (length >= 0)
        return 0;
    *ret_path = NULL;
    return hutch_fail_nomem(err);
}

int build_check(const struct build_request *request, char **ret_buildah, struct hutch_error *err)
{
    hutch_autofree char *path = NULL;
    struct stat info;
    if (stat(request->directory, &info) < 0)
        return hutch_fail_errno(err, errno, "build the image of '%.200s'", request->directory);
    if (!S_ISDIR(info.st_mode))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.200s' is no directory; give the one that holds the Dockerfile",
                          request->directory);
    int r = dockerfile_path(request, &path, err);
    if (!path)
        return r;
    if (stat(path, &info) < 0)
        return errno != ENOENT ? hutch_fail_errno(err, errno, "read '%.200s'", path)
                               : hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                                            "there is no '%.300s'; write one, or name another "
                                            "with -f FILE",
                                            path);
    return build_process_find("buildah", ret_buildah, err);
}

/* ---- buildah's surroundings ---- */

/* Where docker keeps logins; buildah fails when the file is not there yet. */
static bool leads_nowhere(const char *variable)
{
    static const char name[] = "DOCKER_CONFIG=";
    char path[PATH_MAX];
    if (strncmp(variable, name, sizeof(name) - 1) != 0)
        return false;
    (void)snprintf(path, sizeof(path), "%s/config.json", variable + sizeof(name) - 1);
    return access(path, F_OK) < 0;
}

/* What would lead it elsewhere than the flags do. */
static bool is_kept(const char *variable)
{
    static const char *const dropped[] = {"TMPDIR=", "CONTAINERS_", "BUILDAH_", "STORAGE_DRIVER",
                                          "STORAGE_OPTS"};
    for (size_t i = 0; i < HUTCH_COUNT(dropped); i++)
        if (!strncmp(variable, dropped[i], strlen(dropped[i])))
            return false;
    return !leads_nowhere(variable);
}

/* The words of a call. One that could not be added makes the call fail, so that only that is
 * checked. */
struct words {
    struct hutch_strlist list;
    bool failed;
};

static void words_done(struct words *words)
{
    hutch_strlist_done(&words->list);
}

__attribute__((format(printf, 2, 3))) static void add(struct words *words, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0 || hutch_strlist_take(&words->list, text, NULL) < 0)
        words->failed = true;
    va_end(arguments);
}

static void add_environment(const struct build *build, struct words *words)
{
    for (char **variable = environ; *variable; variable++)
        if (is_kept(*variable))
            add(words, "%s", *variable);
    add(words, "TMPDIR=%s/tmp", build->place->path);
    add(words, "CONTAINERS_REGISTRIES_CONF=%s/tmp/" BUILD_REGISTRIES, build->place->path);
}

/* "buildah" and where it works. */
static void add_place(const struct build *build, struct words *words)
{
    const struct build_place *place = build->place;
    add(words, "buildah");
    add(words, "--storage-driver=%s", place->driver);
    add(words, "--root=%s/%s", place->path, place->driver);
    add(words, "--runroot=%s/run", place->path);
}

static int call(struct build *build, const struct words *words, build_line_fn *on_line,
                int *ret_status, struct hutch_error *err)
{
    hutch_cleanup(words_done) struct words environment = {0};
    add_environment(build, &environment);
    if (words->failed || environment.failed)
        return hutch_fail_nomem(err);
    struct build_process process = {build->buildah, words->list.items, environment.list.items,
                                    on_line, build};
    return build_process_run(&process, ret_status, err);
}

/* ---- what it says ---- */

static void hear_problem(struct build *build, const char *line)
{
    static const char error[] = "Error: ";
    if (!strncmp(line, error, sizeof(error) - 1))
        (void)snprintf(build->problem, sizeof(build->problem), "%s", line + sizeof(error) - 1);
}

static void hear_build(void *context, const char *line)
{
    struct build *build = context;
    (void)build_step_hear(&build->step, line);
    hear_problem(build, line);
    if (build->request->on_line)
        build->request->on_line(build->request->context, line);
}

static void hear_quietly(void *context, const char *line)
{
    hear_problem(context, line);
}

/* buildah repeats the step, which is told already, before the cause. */
static const char *cause_of(const struct build *build)
{
    static const char before[] = "building at STEP \"";
    const char *problem = build->problem;
    if (!*problem)
        return "buildah says no more";
    if (strncmp(problem, before, sizeof(before) - 1) != 0)
        return problem;
    const char *cause = strstr(problem + sizeof(before) - 1, "\": ");
    return cause ? cause + 3 : problem;
}

static int fail_build(const struct build *build, struct hutch_error *err)
{
    hutch_autofree char *path = NULL;
    hutch_autofree char *text = NULL;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    unsigned line = 0;
    int r = dockerfile_path(build->request, &path, err);
    if (r < 0)
        return r;
    if (!build->step.stage)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "%.160s: %.300s", path, cause_of(build));
    if (hutch_read_file(path, DOCKERFILE_MAX_BYTES, &text, NULL, &ignored) == 0)
        line = build_step_line(&build->step, text);
    if (!line)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "%.160s: step %u, '%.100s': %.200s", path,
                          build->step.number, build->step.text, cause_of(build));
    return hutch_fail(err, HUTCH_E_INVALID, 0, "%.160s:%u: '%.100s': %.200s", path, line,
                      build->step.text, cause_of(build));
}

/* ---- its calls ---- */

/* A build that was killed has left working containers, each with a layer. */
static int remove_containers(struct build *build, struct hutch_error *err)
{
    hutch_cleanup(words_done) struct words words = {0};
    int status = 0;
    add_place(build, &words);
    add(&words, "rm");
    add(&words, "--all");
    int r = call(build, &words, hear_quietly, &status, err);
    if (r >= 0 && status)
        return hutch_fail(
            err, HUTCH_E_SYSTEM, 0,
            "remove what a killed build has left: %.300s; 'hutch image prune' empties "
            "the build cache",
            cause_of(build));
    return r;
}

static void add_build(const struct build *build, struct words *words)
{
    const struct build_request *request = build->request;
    add(words, "build");
    add(words, "--isolation=chroot"); /* needs no container runtime */
    add(words, "--network=host");
    /* knows instructions that OCI's ignores, such as SHELL; the layout is OCI's all the same */
    add(words, "--format=docker");
    add(words, "--layers");
    add(words, "--force-rm");
    add(words, "--retry=1");
    /* a base that is there is taken as it is: no network where there is no use for it */
    add(words, "--pull=%s", request->no_cache ? "true" : "false");
    if (faccessat(build->place->dir, "tmp/" BUILD_AUTHORITIES, F_OK, 0) == 0)
        add(words, "--cert-dir=%s/tmp/" BUILD_AUTHORITIES, build->place->path);
    if (request->no_cache)
        add(words, "--no-cache");
    if (request->platform)
        add(words, "--platform=%s", request->platform);
    for (const char *const *arg = request->build_args; arg && *arg; arg++)
        add(words, "--build-arg=%s", *arg);
    add(words, "--iidfile=%s/tmp/id", build->place->path);
}

static int run_build(struct build *build, struct hutch_error *err)
{
    hutch_cleanup(words_done) struct words words = {0};
    hutch_autofree char *dockerfile = NULL;
    int status = 0;
    int r = dockerfile_path(build->request, &dockerfile, err);
    if (r < 0)
        return r;
    add_place(build, &words);
    add_build(build, &words);
    add(&words, "--file=%s", dockerfile);
    add(&words, "--");
    add(&words, "%s", build->request->directory);
    r = call(build, &words, hear_build, &status, err);
    return r >= 0 && status ? fail_build(build, err) : r;
}

static int run_push(struct build *build, struct hutch_error *err)
{
    hutch_cleanup(words_done) struct words words = {0};
    char id[128];
    int status = 0;
    if (hutch_read_at(build->place->dir, "tmp/id", id, sizeof(id)) < 0)
        return hutch_fail_errno(err, errno, "learn from buildah what it has built");
    id[strcspn(id, "\n")] = '\0';
    add_place(build, &words);
    add(&words, "push");
    add(&words, "--quiet");
    add(&words, "%s", id);
    /* of the two, only the first compresses layers */
    add(&words, "%s:%s/out/image", build->request->for_registry ? "oci" : "docker-archive",
        build->place->path);
    int r = call(build, &words, hear_quietly, &status, err);
    if (r >= 0 && status)
        return hutch_fail(err, HUTCH_E_SYSTEM, 0, "take the built image out of buildah: %.300s",
                          cause_of(build));
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
    r = run_build(&build, err);
    return r < 0 ? r : run_push(&build, err);
}
