/* SPDX-License-Identifier: Apache-2.0 */
/* Which engine it is and which version of the API is spoken with it. */
#ifndef HUTCH_DOCKER_VERSION_H
#define HUTCH_DOCKER_VERSION_H

#include <stdbool.h>

#include "util/error.h"

/* Older engines have no private cgroup namespaces and no statistics without waiting. */
#define DOCKER_API_LEAST_MINOR 41
/* What hutch was tried with; an engine that speaks more is spoken to in this. */
#define DOCKER_API_MOST_MINOR 47

struct docker_version {
    bool is_known;
    bool is_podman;
    char prefix[16];    /* of paths: "/v1.41"; empty: not known yet */
    char product[32];   /* "Docker" */
    char release[48];   /* "20.10.24+dfsg1" */
    char hole[40];      /* what is known to be unsafe about copying files in; empty: nothing */
    bool may_be_mended; /* a distribution's build, whose number does not tell */
};

/* From the headers Api-Version and Server of any answer; both may be NULL. */
int docker_version_read(struct docker_version *ret_version, const char *api, const char *server,
                        struct hutch_error *err) HUTCH_MUST_CHECK;
/* Before files are copied into a container. */
int docker_version_check_copy(const struct docker_version *version,
                              struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
