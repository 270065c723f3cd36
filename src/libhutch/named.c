/* SPDX-License-Identifier: Apache-2.0 */
/* Named sandboxes. The image of one is called hutch.local/sandbox/NAME:WHERE-WHAT, after the
 * directory it comes from and what is in there. So whether it has to be built is one look into the
 * store, and nothing else has to be remembered. */
#include "hutch/named.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "core/spec.h"
#include "image/folder.h"
#include "libhutch/decision.h"
#include "libhutch/image_build.h"
#include "libhutch/named_path.h"
#include "libhutch/scratch.h"
#include "util/fs.h"
#include "util/own.h"

#define SPEC_MAX_BYTES (4u << 20)
/* Hexadecimal digits of the two parts of a tag, which has at most 128 characters. */
#define WHERE_DIGITS 12
#define WHAT_DIGITS 40

/* *options has the defaults. */
static int take_options(const struct hutch_named_options *given,
                        struct hutch_named_options *options, struct hutch_error *err)
{
    if (!given)
        return 0;
    if (given->size != sizeof(*given))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "hutch_named_options has size %zu instead of %zu; start from "
                          "HUTCH_NAMED_OPTIONS_INIT, with the header of this library",
                          given->size, sizeof(*given));
    *options = *given;
    return 0;
}

/* ---- finding ---- */

static int fail_unknown(const struct hutch_strlist *path, const char *name, struct hutch_error *err)
{
    char places[280] = "";
    for (size_t i = 0; i < path->count; i++) {
        size_t used = strlen(places);
        (void)snprintf(places + used, sizeof(places) - used, "%s'%s'", i ? ", " : "",
                       path->items[i]);
    }
    return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                      "there is no sandbox '%s' ('hutch sandboxes' lists those there are); looked "
                      "in %s",
                      name, places);
}

static int find_named(const struct hutch_named_options *options, const char *name,
                      char **ret_sandbox, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist path = {0};
    int r = named_check(name, err);
    if (r >= 0)
        r = named_path(options->directories, &path, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < path.count; i++) {
        *ret_sandbox = named_in(path.items[i], name);
        if (*ret_sandbox)
            return 0;
    }
    return fail_unknown(&path, name, err);
}

/* ---- sandbox.yml ---- */

/* "line 3: limits: ..." of the reader becomes "FILE:3: limits: ...", which editors can follow. */
static int fail_spec(const char *path, struct hutch_error *err)
{
    struct hutch_error cause = *err;
    unsigned line;
    int used = 0;
    if (sscanf(cause.msg, "line %u: %n", &line, &used) == 1 && used)
        return hutch_fail(err, cause.code, cause.os_errno, "%.200s:%u: %s", path, line,
                          cause.msg + used);
    return hutch_fail(err, cause.code, cause.os_errno, "%.200s: %s", path, cause.msg);
}

static int read_spec(struct hutch_spec *spec, const char *sandbox, struct hutch_error *err)
{
    hutch_autofree char *path = NULL;
    hutch_autofree char *text = NULL;
    size_t length = 0;
    if (!named_has(sandbox, "sandbox.yml"))
        return 0;
    if (asprintf(&path, "%s/sandbox.yml", sandbox) < 0) {
        path = NULL;
        return hutch_fail_nomem(err);
    }
    int r = hutch_read_file(path, SPEC_MAX_BYTES, &text, &length, err);
    if (r < 0)
        return r;
    r = hutch_spec_parse(spec, text, length, HUTCH_FORMAT_YAML, err);
    return r < 0 ? fail_spec(path, err) : 0;
}

/* ---- its image ---- */

struct named_image {
    char repository[128]; /* hutch.local/sandbox/NAME */
    char where[WHERE_DIGITS + 1];
    char reference[256];
};

static int name_image(const char *name, const char *sandbox, const char *const *build_args,
                      struct named_image *image, struct hutch_error *err)
{
    char where[IMAGE_DIGEST_BYTES];
    char what[IMAGE_DIGEST_BYTES];
    int r = hash_of(sandbox, strlen(sandbox), where, err);
    if (r >= 0)
        r = folder_digest(sandbox, build_args, what, err);
    if (r < 0)
        return r;
    (void)snprintf(image->repository, sizeof(image->repository), "hutch.local/sandbox/%s", name);
    (void)snprintf(image->where, sizeof(image->where), "%.*s", WHERE_DIGITS,
                   IMAGE_DIGEST_HEX(where));
    (void)snprintf(image->reference, sizeof(image->reference), "%s:%s-%.*s", image->repository,
                   image->where, WHAT_DIGITS, IMAGE_DIGEST_HEX(what));
    return 0;
}

struct older {
    const struct named_image *image;
    struct hutch_strlist references;
};

static int note_older(void *userdata, const struct hutch_image_info *info)
{
    struct older *older = userdata;
    char prefix[sizeof(older->image->reference)];
    int length =
        snprintf(prefix, sizeof(prefix), "%s:%s-", older->image->repository, older->image->where);
    if (strncmp(info->reference, prefix, (size_t)length) != 0 ||
        !strcmp(info->reference, older->image->reference))
        return 0;
    return hutch_strlist_add(&older->references, info->reference, NULL);
}

/* What the directory held before. That it stays when something goes wrong is no failure of the
 * sandbox that is there now: a prune finds it. */
static void remove_older(const struct named_image *image)
{
    struct older older = {.image = image};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (hutch_image_list(note_older, &older, &ignored) == 0)
        for (size_t i = 0; i < older.references.count; i++)
            if (hutch_image_remove(older.references.items[i], &ignored) < 0)
                break;
    hutch_strlist_done(&older.references);
}

/* For the backend that the sandbox will have. Where a policy refuses that, nothing is built: what
 * is to use the image is refused, and that is on record. Where it refuses the image, no step runs
 * and no base is fetched; who allows the image allows what its Dockerfile takes. What hutch's store
 * has is not built by an engine either, for a run gives it to the engine. */
static int build_image_of(const struct hutch_spec *spec, const char *sandbox,
                          const struct named_image *image,
                          const struct hutch_named_options *options, struct hutch_error *err)
{
    struct hutch_image_options progress = HUTCH_IMAGE_OPTIONS_INIT;
    struct hutch_image_build build = {.size = sizeof(build),
                                      .directory = sandbox,
                                      .reference = image->reference,
                                      .build_args = options->build_args};
    if (image_is_there(image->reference))
        return 0;
    int r = decision_backend(spec, &build.backend, err);
    if (r == -HUTCH_E_PERMISSION)
        return 0;
    progress.on_progress = options->on_progress;
    progress.userdata = options->userdata;
    if (r >= 0)
        r = decision_build(spec, image->reference, err);
    if (r >= 0)
        r = image_build_missing(&build, &progress, err);
    if (r >= 0)
        remove_older(image);
    return r;
}

static int apply_image(struct hutch_spec *spec, const char *name, const char *sandbox,
                       const struct hutch_named_options *options, struct hutch_error *err)
{
    static const char *const roots[] = {"image", "rootfs"};
    struct named_image image;
    for (size_t i = 0; i < HUTCH_COUNT(roots); i++)
        if (hutch_spec_is_set(spec, roots[i]))
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "%.200s: the Dockerfile makes the sandbox's root, and so would "
                              "'%s': leave one of them out",
                              sandbox, roots[i]);
    int r = name_image(name, sandbox, options->build_args, &image, err);
    if (r >= 0 && !options->no_build)
        r = build_image_of(spec, sandbox, &image, options, err);
    return r < 0 ? r : hutch_spec_set(spec, "image", image.reference, err);
}

int hutch_named_apply(struct hutch_spec *spec, const char *name,
                      const struct hutch_named_options *given, struct hutch_error *err)
{
    struct hutch_named_options options = HUTCH_NAMED_OPTIONS_INIT;
    hutch_autofree char *sandbox = NULL;
    OR_SCRATCH(err);
    int r = take_options(given, &options, err);
    if (r >= 0)
        r = find_named(&options, name, &sandbox, err);
    if (!sandbox)
        return r;
    r = read_spec(spec, sandbox, err);
    if (r < 0)
        return r;
    if (named_has(sandbox, "Dockerfile"))
        return apply_image(spec, name, sandbox, &options, err);
    if (options.build_args && *options.build_args)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the sandbox '%s' has no Dockerfile that would take build arguments",
                          name);
    return 0;
}

int hutch_named_build(struct hutch_spec *spec, const char *name,
                      const struct hutch_named_options *given, struct hutch_error *err)
{
    struct hutch_named_options options = HUTCH_NAMED_OPTIONS_INIT;
    hutch_autofree char *sandbox = NULL;
    struct named_image image;
    OR_SCRATCH(err);
    int r = take_options(given, &options, err);
    if (r >= 0)
        r = find_named(&options, name, &sandbox, err);
    if (!sandbox || !named_has(sandbox, "Dockerfile") || options.no_build)
        return r;
    r = name_image(name, sandbox, options.build_args, &image, err);
    if (r < 0 || !spec->image)
        return r;
    size_t length = strlen(image.repository);
    if (strncmp(spec->image, image.repository, length) != 0 || spec->image[length] != ':')
        return 0;
    r = build_image_of(spec, sandbox, &image, &options, err);
    /* a file of it may have changed since it was read */
    return r < 0 ? r : hutch_spec_set(spec, "image", image.reference, err);
}

/* ---- listing ---- */

static int compare_texts(const void *first, const void *second)
{
    return strcmp(*(char *const *)first, *(char *const *)second);
}

/* Every name below a directory that may be one, once. */
static int gather_names(const char *directory, struct hutch_strlist *names, struct hutch_error *err)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    DIR *entries = opendir(directory);
    int r = 0;
    if (!entries) /* places that are not there are part of the path */
        return 0;
    for (const struct dirent *entry; r >= 0 && (entry = readdir(entries));)
        if (named_check(entry->d_name, &ignored) == 0 && !hutch_strlist_has(names, entry->d_name))
            r = hutch_strlist_add(names, entry->d_name, err);
    (void)closedir(entries);
    return r;
}

/* The first place that has it is the one that is used. */
static int show_name(const struct hutch_strlist *path, const char *name, hutch_named_fn on_named,
                     void *userdata)
{
    for (size_t i = 0; i < path->count; i++) {
        hutch_autofree char *sandbox = named_in(path->items[i], name);
        if (!sandbox)
            continue;
        struct hutch_named_info info = {name, sandbox, named_has(sandbox, "Dockerfile"),
                                        named_has(sandbox, "sandbox.yml")};
        return on_named(userdata, &info);
    }
    return 0;
}

int hutch_named_list(const struct hutch_named_options *given, hutch_named_fn on_named,
                     void *userdata, struct hutch_error *err)
{
    struct hutch_named_options options = HUTCH_NAMED_OPTIONS_INIT;
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist path = {0};
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
    OR_SCRATCH(err);
    int r = take_options(given, &options, err);
    if (r >= 0)
        r = named_path(options.directories, &path, err);
    for (size_t i = 0; r >= 0 && i < path.count; i++)
        r = gather_names(path.items[i], &names, err);
    if (r < 0)
        return r;
    if (names.count)
        qsort(names.items, names.count, sizeof(*names.items), compare_texts);
    for (size_t i = 0; i < names.count; i++)
        if (show_name(&path, names.items[i], on_named, userdata) != 0)
            break;
    return 0;
}
