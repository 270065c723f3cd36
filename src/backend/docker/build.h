/* SPDX-License-Identifier: Apache-2.0 */
/* An engine builds an image itself, with its own builder and its own cache: POST /build. */
#ifndef HUTCH_DOCKER_BUILD_H
#define HUTCH_DOCKER_BUILD_H

#include "backend/docker/engine.h"
#include "image/build.h"

/* A container_ops.build. */
int docker_build(const struct build_request *request, struct hutch_error *err) HUTCH_MUST_CHECK;

/* ---- between the files of this part ---- */

/* build_bases.c: what the Dockerfile is built on is there, as far as only hutch's own store has it,
 * or is fetched anew where nothing is to come from a cache; and the logins for what the engine
 * fetches, NULL: there are none. */
int docker_build_bases(struct docker_engine *engine, const struct build_request *request,
                       char **ret_logins, struct hutch_error *err) HUTCH_MUST_CHECK;
/* build_older.c: names of images that the directory of a named sandbox was before. */
void docker_build_remove_older(struct docker_engine *engine, const char *reference);

#endif
