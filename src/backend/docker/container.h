/* SPDX-License-Identifier: Apache-2.0 */
/* One container of a Docker engine, from its making to its removal. */
#ifndef HUTCH_DOCKER_CONTAINER_H
#define HUTCH_DOCKER_CONTAINER_H

#include "backend/docker/engine.h"
#include "backend/docker/hijack.h"
#include "backend/docker/plan.h"
#include "backend/docker/transfer.h"
#include "porter/container.h"

struct container {
    struct docker_engine *engine;
    struct hijack *hijack;
    char name[64];     /* "hutch-ID" */
    char *config;      /* of its image; NULL once it is handed out */
    char *returns;     /* the workspace whose copy is to be brought back; NULL: none */
    uint64_t since_ns; /* when that copy was made, by CLOCK_REALTIME_COARSE */
    struct docker_most artifacts_most;
    uint64_t begin_s; /* before its start, by CLOCK_REALTIME */
    bool is_made;     /* there is something to be removed */
    bool is_paused;
    bool has_ended;
    bool maps_ids;
    bool has_bare_volumes; /* podman's, beside a read-only root: it sends them without a name */
};

/* start.c */
int docker_container_start(const struct porter_order *order, struct container **ret_container,
                           struct hutch_error *err) HUTCH_MUST_CHECK;
/* The socket to the keeper, when this process is its porter; else none. */
int docker_keeper_socket(void);
/* The handle alone, whatever there is in the engine. */
void docker_container_free(struct container *container);

/* "/containers/NAME" and what follows it. */
void docker_container_path(const struct container *container, const char *tail, char *ret_path,
                           size_t size);
#define CONTAINER_PATH_BYTES 256

/* filler.c: copies in what docker_copy_in() does, where the root is read-only. */
int docker_container_fill(struct container *container, const struct docker_plan *plan,
                          struct hutch_error *err) HUTCH_MUST_CHECK;

/* end.c */
int docker_container_end(struct container *container, struct porter_end *ret_end,
                         struct hutch_error *err) HUTCH_MUST_CHECK;
void docker_container_explain(struct container *container, char *ret_text, size_t size);
int docker_container_artifacts(struct container *container, int *ret_directory,
                               char ret_place[PORTER_PLACE_BYTES],
                               struct hutch_error *err) HUTCH_MUST_CHECK;
int docker_container_release(struct container *container, bool keep,
                             struct hutch_error *err) HUTCH_MUST_CHECK;
/* By its name, whatever state it is in. One that is not there is fine. */
int docker_container_remove(struct docker_engine *engine, const char *name,
                            struct hutch_error *err) HUTCH_MUST_CHECK;

/* usage.c */
int docker_container_stats(struct container *container, struct porter_answer *ret_answer,
                           struct hutch_error *err) HUTCH_MUST_CHECK;

/* whole.c: of the engine as a whole. */
int docker_probe(const struct hutch_spec *spec, const char *runtime, const char *id,
                 struct porter_probe *ret_probe);
int docker_sweep(bool dry_run, hutch_gc_fn on_item, void *userdata,
                 struct hutch_error *err) HUTCH_MUST_CHECK;
/* doctor.c */
int docker_doctor(hutch_check_fn on_check, void *userdata,
                  struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
