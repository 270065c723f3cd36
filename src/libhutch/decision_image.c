/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "image/reference.h"
#include "libhutch/decision.h"

struct named_image {
    char name[600]; /* empty: it was asked for by its digest alone */
    struct image_reference reference;
};

static int read_name(const char *text, struct named_image *ret_image, struct hutch_error *err)
{
    *ret_image = (struct named_image){0};
    if (image_digest_is_valid(text)) {
        (void)snprintf(ret_image->reference.digest, sizeof(ret_image->reference.digest), "%s",
                       text);
        return 0;
    }
    if (image_reference_parse(text, &ret_image->reference, err) < 0)
        return -(int)err->code;
    (void)snprintf(ret_image->name, sizeof(ret_image->name), "%s/%s", ret_image->reference.registry,
                   ret_image->reference.repository);
    return 0;
}

static int check_name(const struct decision *decision, const struct named_image *image,
                      bool is_pinned, struct hutch_error *err)
{
    const struct image_reference *reference = &image->reference;
    const char *digest = reference->digest[0] ? reference->digest : NULL;
    const char *tag = reference->tag[0] && (!digest || is_pinned) ? reference->tag : NULL;
    return policy_check_image(&decision->view, image->name, tag, digest, err);
}

/* What its name leads to may be allowed by its digest: that is seen when it is open. */
static bool awaits_digest(const struct decision *decision, const struct named_image *image,
                          const struct hutch_spec *spec)
{
    const struct image_reference *reference = &image->reference;
    return !reference->digest[0] && !hutch_backend_has_own_images(spec) &&
           policy_awaits_digest(&decision->view, image->name, reference->tag);
}

int decision_image(const struct decision *decision, const struct hutch_spec *spec, bool is_pinned,
                   struct hutch_error *err)
{
    struct named_image image;
    struct hutch_error refusal = HUTCH_ERROR_INIT;
    if (!decision->set || !spec->image)
        return 0;
    if (read_name(spec->image, &image, err) < 0)
        return -(int)err->code;
    if (check_name(decision, &image, is_pinned, &refusal) == 0 ||
        awaits_digest(decision, &image, spec))
        return 0;
    *err = refusal;
    return -(int)err->code;
}

static bool find_stored(const struct image_reference *reference,
                        char ret_digest[IMAGE_DIGEST_BYTES])
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct image_store store;
    struct image image = IMAGE_INIT;
    if (image_store_open(&store, false, &ignored) < 0)
        return false;
    bool is_there = image_find(&store, reference, &image, &ignored) == 0;
    if (is_there)
        (void)snprintf(ret_digest, IMAGE_DIGEST_BYTES, "%s", image.digest);
    image_done(&image);
    image_store_close(&store);
    return is_there;
}

int decision_unopened_image(const struct decision *decision, const struct hutch_spec *spec,
                            struct hutch_error *err)
{
    struct named_image image;
    struct hutch_error refusal = HUTCH_ERROR_INIT;
    char digest[IMAGE_DIGEST_BYTES];
    if (!decision->set || !spec->image)
        return 0;
    if (decision_image(decision, spec, false, err) < 0 || read_name(spec->image, &image, err) < 0)
        return -(int)err->code;
    if (check_name(decision, &image, false, &refusal) == 0)
        return 0;
    /* what a name that is always fetched leads to now says nothing of what it will */
    if (strcmp(spec->pull, "always") != 0 && find_stored(&image.reference, digest))
        return policy_check_image(&decision->view, image.name, image.reference.tag, digest, err);
    return hutch_fail(err, refusal.code, 0,
                      "%s; only its digest could allow it, which is not known here: ask for it as "
                      "'NAME@sha256:...'",
                      refusal.msg);
}

int decision_pull(const struct decision *decision, const char *text, struct hutch_error *err)
{
    struct named_image image;
    if (!decision->set)
        return 0;
    if (read_name(text, &image, err) < 0)
        return -(int)err->code;
    return check_name(decision, &image, false, err);
}

int decision_build(const struct hutch_spec *spec, const char *reference, struct hutch_error *err)
{
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    if (decision_begin(&decision, "build", &spec->asker, err) < 0)
        return -(int)err->code;
    return decision_note(&decision, decision_pull(&decision, reference, err), err);
}

int decision_known_image(const struct decision *decision, const char *text, const char *digest,
                         struct hutch_error *err)
{
    struct named_image image;
    if (!decision->set)
        return 0;
    if (read_name(text, &image, err) < 0)
        return -(int)err->code;
    if (!digest || image.reference.digest[0])
        return check_name(decision, &image, false, err);
    return policy_check_image(&decision->view, image.name, image.reference.tag, digest, err);
}

int decision_opened_image(const struct decision *decision, const struct hutch_spec *spec,
                          const struct image_use *use, struct hutch_error *err)
{
    struct named_image image;
    if (!decision->set)
        return 0;
    if (read_name(spec->image, &image, err) < 0)
        return -(int)err->code;
    const struct image_reference *reference = &image.reference;
    /* a digest that was asked for may be that of an index, which led to this image */
    if (reference->digest[0])
        return 0;
    return policy_check_image(&decision->view, image.name, reference->tag, use->image.digest, err);
}
