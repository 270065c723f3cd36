/* SPDX-License-Identifier: Apache-2.0 */
/* What every engine offers. Every slot is filled, but that for images of its own; what an engine
 * cannot enforce is missing from its set, and core refuses a spec that asks for it. */
#ifndef HUTCH_BACKEND_BACKEND_H
#define HUTCH_BACKEND_BACKEND_H

#include "core/promise.h"
#include "core/result.h"
#include "hutch/host.h"
#include "hutch/run.h"
#include "image/build.h"
#include "image/use.h"

/* What an engine found out about this host for one spec. */
struct hutch_probe {
    hutch_promise_set enforces;
    char why[256]; /* what is in the way of the rest, and the remedy */
    /* the engine's own findings, so that run() need not look again */
    _Alignas(16) unsigned char findings[2304];
};

struct hutch_backend_ops {
    const char *name;
    const char *doc;
    bool has_own_images; /* its engine fetches and keeps them, not hutch's store */
    /* Looks at the host and changes nothing. */
    int (*probe)(const struct hutch_spec *spec, struct hutch_probe *ret_probe,
                 struct hutch_error *err);
    /* image: open, where the spec names one; NULL otherwise. missing: what the spec wanted, the
     * backend does not enforce and the caller has allowed to be missing. */
    int (*run)(const struct hutch_spec *spec, const struct image_use *image,
               const struct hutch_run_options *options, const struct hutch_probe *probe,
               hutch_promise_set missing, struct hutch_result **ret_result,
               struct hutch_error *err);
    int (*doctor)(hutch_check_fn on_check, void *userdata, struct hutch_error *err);
    int (*gc)(bool dry_run, hutch_gc_fn on_item, void *userdata, struct hutch_error *err);
    /* With images of its own: makes one of a Dockerfile, under its name, unless it is a named
     * sandbox's and there. The request has all of its texts. NULL: buildah makes it, for hutch's
     * store. */
    int (*build)(const struct build_request *request, struct hutch_error *err);
};

/* All backends, NULL-terminated. */
extern const struct hutch_backend_ops *const hutch_backends[];

const struct hutch_backend_ops *hutch_backend_find(const char *name, struct hutch_error *err);
/* Of the spec's backend. */
bool hutch_backend_has_own_images(const struct hutch_spec *spec);

#endif
