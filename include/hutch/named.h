/* SPDX-License-Identifier: Apache-2.0 */
/* Named sandboxes: a directory NAME with a Dockerfile, a sandbox.yml, or both. The Dockerfile is
 * what the sandbox has inside, and sandbox.yml has fields of the spec. These functions are in
 * libhutch-image. */
#ifndef HUTCH_NAMED_H
#define HUTCH_NAMED_H

#include "hutch/image.h"
#include "hutch/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Start from HUTCH_NAMED_OPTIONS_INIT: fields may be added at the end. */
struct hutch_named_options {
    size_t size;
    /* Where to look first; NULL-terminated, may be NULL. Then follow the directories of
     * $HUTCH_SANDBOXES, ./configs/sandboxes and what came with hutch. */
    const char *const *directories;
    const char *const *build_args; /* NULL-terminated "KEY=VALUE"; may be NULL */
    hutch_image_progress_fn on_progress;
    void *userdata;
    bool no_build; /* only learn which image it would be */
};
#define HUTCH_NAMED_OPTIONS_INIT                                           \
    {                                                                      \
        sizeof(struct hutch_named_options), NULL, NULL, NULL, NULL, false, \
    }

/* Reads the sandbox of this name into a spec. The image of its Dockerfile is built when it is not
 * there yet or a file of the directory has changed since, and becomes the spec's "image". It is
 * built for the spec's backend: who lays more fields over the spec, which may name another, says
 * no_build here and calls hutch_named_build() afterwards. */
HUTCH_API HUTCH_MUST_CHECK int hutch_named_apply(struct hutch_spec *spec, const char *name,
                                                 const struct hutch_named_options *options,
                                                 struct hutch_error *err);

/* What hutch_named_apply() has left to be built, for the backend that the spec has now. A spec that
 * has got another image meanwhile needs none. */
HUTCH_API HUTCH_MUST_CHECK int hutch_named_build(struct hutch_spec *spec, const char *name,
                                                 const struct hutch_named_options *options,
                                                 struct hutch_error *err);

struct hutch_named_info {
    const char *name;
    const char *path; /* of its directory */
    bool has_dockerfile;
    bool has_spec;
};
/* Anything but 0 ends the listing. */
typedef int (*hutch_named_fn)(void *userdata, const struct hutch_named_info *info);
/* Every name that can be found, in the order of names; of two with one name the one that is used.
 */
HUTCH_API HUTCH_MUST_CHECK int hutch_named_list(const struct hutch_named_options *options,
                                                hutch_named_fn on_named, void *userdata,
                                                struct hutch_error *err);

#ifdef __cplusplus
}
#endif
#endif
