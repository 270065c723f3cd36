/* SPDX-License-Identifier: Apache-2.0 */
/* Trees between this host and a container, as archives. A thread packs or unpacks at one end of a
 * pipe while the engine is at the other. */
#ifndef HUTCH_DOCKER_TRANSFER_H
#define HUTCH_DOCKER_TRANSFER_H

#include "backend/docker/engine.h"
#include "backend/docker/plan.h"
#include "tar/tar.h"

/* Into a directory of the container. */
int docker_put_tree(struct docker_engine *engine, const char *container, const char *inside,
                    const struct tar_pack_options *options,
                    struct hutch_error *err) HUTCH_MUST_CHECK;
/* As the body of any request, whose context is its sink's. */
int docker_send_tree(struct docker_engine *engine, const struct docker_request *request,
                     const struct tar_pack_options *options,
                     struct hutch_error *err) HUTCH_MUST_CHECK;
/* HUTCH_E_NOT_FOUND when there is no such path. */
int docker_get_tree(struct docker_engine *engine, const char *container, const char *inside,
                    const struct tar_unpack_options *options,
                    struct hutch_error *err) HUTCH_MUST_CHECK;
/* A small file of the container. */
int docker_get_text(struct docker_engine *engine, const char *container, const char *inside,
                    char **ret_text, struct hutch_error *err) HUTCH_MUST_CHECK;

/* copy_in.c: hutch-init where it is not mounted, the directories that have to be there, and the
 * files of the workspace. */
int docker_copy_in(struct docker_engine *engine, const char *container,
                   const struct docker_plan *plan, struct hutch_error *err) HUTCH_MUST_CHECK;

/* copy_out.c: what was changed in a copy of a writable workspace. since_ns: when it went in. Of a
 * path that ends in "/." the engine sends what is in the directory, not the directory. */
int docker_copy_out(struct docker_engine *engine, const char *container, const char *path,
                    const char *workspace, uint64_t since_ns,
                    struct hutch_error *err) HUTCH_MUST_CHECK;
/* The most that may come out, holes counted as if they were written; 0: no ceiling. */
struct docker_most {
    uint64_t bytes;
    uint64_t entries;
};

/* copy_out.c: a directory of the container as one of this host, which the caller removes. */
int docker_fetch(struct docker_engine *engine, const char *container, const char *path,
                 const struct docker_most *most, char *ret_place, size_t size, int *ret_directory,
                 struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
