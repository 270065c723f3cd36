/* SPDX-License-Identifier: Apache-2.0 */
/* The public entry point that makes an image of what a sandbox has written. */
#include <string.h>

#include "backend/native/derive.h"
#include "backend/native/identity.h"
#include "backend/native/lifecycle.h"
#include "backend/native/sandbox.h"
#include "core/spec.h"
#include "hutch/hutch.h"
#include "hutch/image.h"
#include "image/commit.h"
#include "image/use.h"
#include "libhutch/image_options.h"
#include "libhutch/note.h"
#include "libhutch/scratch.h"
#include "util/own.h"

struct request {
    const char *reference;
    const struct hutch_image_options *options;
};

static void owner_inside(void *context, uid_t *uid, gid_t *gid)
{
    identity_to_inside(context, uid, gid);
}

/* With the sandbox held: its upper directory as one more layer. */
static int commit_upper(struct hutch_sandbox *sandbox, const struct hutch_spec *spec,
                        struct image_use *image, const struct request *request,
                        char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist made = {0};
    struct identity identity = {0};
    if (identity_resolve(&identity, spec, image, identity_asked(spec, image), err) < 0)
        return -(int)err->code;
    identity_choose_map(&identity, identity_is_privileged(), true);
    hutch_autofd int upper = derive_open_upper(sandbox, err);
    if (upper < 0 || derive_made_files(spec, image, &identity, upper, &made, err) < 0)
        return -(int)err->code;
    const struct commit commit = {.store = &image->store,
                                  .base = &image->image,
                                  .reference = request->reference,
                                  .created_by = "hutch snapshot",
                                  .upper = {.dir = upper,
                                            .is_overlay = true,
                                            .without = &made,
                                            .map_owner = owner_inside,
                                            .context = &identity},
                                  .options = request->options};
    return commit_image(&commit, ret_digest, err);
}

static int snapshot(struct hutch_sandbox *sandbox, const struct request *request,
                    char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    hutch_cleanup(image_use_done) struct image_use image = IMAGE_USE_INIT;
    struct hutch_spec *spec = NULL;
    if (derive_require_own_files(sandbox, err) < 0 || sandbox_spec(sandbox, &spec, err) < 0)
        return -(int)err->code;
    int status = 0;
    if (!spec->image)
        status = hutch_fail(err, HUTCH_E_CONFLICT, 0,
                            "sandbox '%s' was not made from an image, so no image comes of it",
                            sandbox->home.name);
    if (status == 0)
        status = image_use_open(&image, spec, err);
    if (status == 0)
        status = derive_hold(sandbox, err);
    if (status == 0)
        status = commit_upper(sandbox, spec, &image, request, ret_digest, err);
    hutch_spec_free(spec);
    return status;
}

int hutch_image_snapshot(const char *name, const char *reference,
                         const struct hutch_image_options *options,
                         char ret_digest[HUTCH_IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    const struct request request = {reference, options};
    struct image_reference parsed;
    struct hutch_sandbox *sandbox = NULL;
    char digest[IMAGE_DIGEST_BYTES];
    OR_SCRATCH(err);
    /* before anything is held still: a name that cannot be given */
    if (image_options_check(options, IMAGE_PLATFORM_IS_SETTLED, err) < 0 ||
        image_reference_parse(reference, &parsed, err) < 0 ||
        lifecycle_open(name, &sandbox, err) < 0)
        return -(int)err->code;
    const struct note note = {.sandbox = sandbox, .kind = "snapshot", .to = reference};
    int status = note_begin(&note, err);
    if (status == 0)
        status = note_end(&note, snapshot(sandbox, &request, digest, err), err);
    hutch_sandbox_free(sandbox);
    if (status == 0)
        memcpy(ret_digest, digest, sizeof(digest));
    return status;
}
