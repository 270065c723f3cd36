/* SPDX-License-Identifier: Apache-2.0 */
/* What a registry is made of, for the registry_*.c files. */
#ifndef HUTCH_IMAGE_REGISTRY_PARTS_H
#define HUTCH_IMAGE_REGISTRY_PARTS_H

#include "image/registry.h"
#include "image/registry_endpoint.h"

struct registry {
    struct http *http;
    struct image_reference reference;
    char scope[320];            /* "repository:library/python:pull" */
    struct endpoint *endpoints; /* the mirrors in their order, and at the end the registry itself */
    size_t endpoint_count;
    size_t endpoint; /* that has given the manifest, and is asked for the blobs first */
};

/* The registry itself, which alone can be written to. */
struct endpoint *registry_itself(struct registry *registry);
/* "/v2/REPOSITORY/KIND/WHAT" */
int registry_path(const struct registry *registry, const char *kind, const char *what,
                  char **ret_path, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
