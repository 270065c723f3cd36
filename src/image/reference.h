/* SPDX-License-Identifier: Apache-2.0 */
/* The name of an image as people write it, and the one name that it means.
 *
 *     python                    docker.io/library/python:latest
 *     python:3.11-slim          docker.io/library/python:3.11-slim
 *     user/tool                 docker.io/user/tool:latest
 *     localhost:5000/z          localhost:5000/z:latest
 *     ghcr.io/x/y@sha256:...    itself; a tag beside a digest is kept for display and means nothing
 *
 * The first part names a registry when it has a "." or a ":", or is "localhost". The grammar and
 * the ceilings are those of the distribution specification; what is not lower case, too long or not
 * ASCII is refused, never mended. */
#ifndef HUTCH_IMAGE_REFERENCE_H
#define HUTCH_IMAGE_REFERENCE_H

#include "image/digest.h"
#include "util/error.h"

#define IMAGE_REFERENCE_BYTES 720 /* room for all four parts, with its NUL */

struct image_reference {
    char registry[256];              /* "docker.io", "localhost:5000" */
    char repository[256];            /* "library/python" */
    char tag[129];                   /* empty only beside a digest */
    char digest[IMAGE_DIGEST_BYTES]; /* empty: by tag */
};

int image_reference_parse(const char *text, struct image_reference *ret_reference,
                          struct hutch_error *err) HUTCH_MUST_CHECK;
/* The one name: registry/repository:tag, or registry/repository@digest. */
void image_reference_format(const struct image_reference *reference,
                            char ret_text[IMAGE_REFERENCE_BYTES]);
/* As short as people write it: "python:3.11-slim". */
void image_reference_format_short(const struct image_reference *reference,
                                  char ret_text[IMAGE_REFERENCE_BYTES]);

#endif
