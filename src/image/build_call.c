/* SPDX-License-Identifier: Apache-2.0 */
#include "image/build_call.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "image/build_registries.h"
#include "util/own.h"

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

void build_words_done(struct build_words *words)
{
    hutch_strlist_done(&words->list);
}

void build_words_add(struct build_words *words, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0 || hutch_strlist_take(&words->list, text, NULL) < 0)
        words->failed = true;
    va_end(arguments);
}

static void add_environment(const struct build *build, struct build_words *words)
{
    for (char **variable = environ; *variable; variable++)
        if (is_kept(*variable))
            build_words_add(words, "%s", *variable);
    build_words_add(words, "TMPDIR=%s/tmp", build->place->path);
    build_words_add(words, "CONTAINERS_REGISTRIES_CONF=%s/tmp/" BUILD_REGISTRIES,
                    build->place->path);
}

void build_words_begin(const struct build *build, struct build_words *words)
{
    const struct build_place *place = build->place;
    build_words_add(words, "buildah");
    build_words_add(words, "--storage-driver=%s", place->driver);
    build_words_add(words, "--root=%s/%s", place->path, place->driver);
    build_words_add(words, "--runroot=%s/run", place->path);
}

int build_call(struct build *build, const struct build_words *words, build_line_fn *on_line,
               int *ret_status, struct hutch_error *err)
{
    hutch_cleanup(build_words_done) struct build_words environment = {0};
    add_environment(build, &environment);
    if (words->failed || environment.failed)
        return hutch_fail_nomem(err);
    struct build_process process = {build->buildah, words->list.items, environment.list.items,
                                    on_line, build};
    return build_process_run(&process, ret_status, err);
}

/* ---- what it says ---- */

void build_hear_problem(struct build *build, const char *line)
{
    static const char error[] = "Error: ";
    if (!strncmp(line, error, sizeof(error) - 1))
        (void)snprintf(build->problem, sizeof(build->problem), "%s", line + sizeof(error) - 1);
}

void build_hear_quietly(void *context, const char *line)
{
    build_hear_problem(context, line);
}

const char *build_cause(const struct build *build)
{
    return *build->problem ? build_step_cause(build->problem) : "buildah says no more";
}
