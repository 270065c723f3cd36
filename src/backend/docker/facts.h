/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine says it can do. */
#ifndef HUTCH_DOCKER_FACTS_H
#define HUTCH_DOCKER_FACTS_H

#include "backend/docker/engine.h"
#include "core/promise.h"

struct docker_facts {
    bool limits_memory;
    bool limits_swap;
    bool limits_cpus;
    bool limits_pids;
    bool limits_disk; /* the storage driver has a quota for each container */
    bool maps_ids;    /* root inside is somebody else outside */
    char driver[32];  /* of its storage */
    char backing[32]; /* the filesystem below it */
    char version[64]; /* "Docker 20.10.24" */
};

int docker_facts_ask(struct docker_engine *engine, struct docker_facts *ret_facts,
                     struct hutch_error *err) HUTCH_MUST_CHECK;
/* The same, or what it said a little while ago: engines start programs to answer this. */
int docker_facts_recall(struct docker_engine *engine, struct docker_facts *ret_facts,
                        struct hutch_error *err) HUTCH_MUST_CHECK;
/* What an engine says when a container is made: that it will not keep a limit. Whatever it said
 * before, a limit that is not missing has to be kept. */
int docker_facts_check(const struct hutch_value *made, hutch_promise_set missing, bool is_near,
                       struct hutch_error *err) HUTCH_MUST_CHECK;
/* From the engine's own words. */
void docker_facts_read(const struct hutch_value *info, bool is_near,
                       struct docker_facts *ret_facts);
/* The promises that it keeps, and why not the others. */
hutch_promise_set docker_facts_promises(const struct docker_facts *facts, bool is_near,
                                        char *ret_why, size_t size);

#endif
