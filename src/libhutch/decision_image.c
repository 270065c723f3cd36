/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

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

int decision_image(const struct decision *decision, const struct hutch_spec *spec, bool is_pinned,
                   struct hutch_error *err)
{
    struct named_image image;
    struct hutch_error refusal = HUTCH_ERROR_INIT;
    if (!decision->set || !spec->image)
        return 0;
    if (read_name(spec->image, &image, err) < 0)
        return -(int)err->code;
    /* what its name leads to may be allowed by its digest: that is seen when it is open */
    if (check_name(decision, &image, is_pinned, &refusal) == 0 ||
        (!image.reference.digest[0] && policy_names_digests(&decision->view) &&
         !hutch_backend_has_own_images(spec)))
        return 0;
    *err = refusal;
    return -(int)err->code;
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
