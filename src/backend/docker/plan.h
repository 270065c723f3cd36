/* SPDX-License-Identifier: Apache-2.0 */
/* What a container is to be, decided before anything is made: a sandbox's spec in the words of an
 * engine. */
#ifndef HUTCH_DOCKER_PLAN_H
#define HUTCH_DOCKER_PLAN_H

#include <limits.h>

#include "backend/container/owner.h"
#include "backend/docker/engine.h"
#include "backend/docker/image.h"
#include "porter/container.h"

#define PLAN_DEFAULT_ID 1000
/* Where nothing else is said: the engine makes these, as hutch does natively. */
#define PLAN_WORKSPACE "/workspace"
#define PLAN_ARTIFACTS "/artifacts"
#define PLAN_HOME "/home/user"

/* How the files of a workspace get into the container. */
enum plan_way {
    PLAN_WAY_NONE,    /* there are none: an empty directory */
    PLAN_WAY_BIND,    /* the directory itself: the engine sees it, and its owner is the user */
    PLAN_WAY_ARCHIVE, /* a copy goes in, and of a writable one what was changed comes out */
};

struct docker_plan {
    const struct porter_order *order;
    const struct hutch_spec *spec;
    const struct hutch_strlist *volumes; /* the image's; NULL: none */
    bool is_podman;
    bool sees_host; /* the engine has this host's files: they can be mounted */
    char user[512]; /* for the engine */
    bool has_ids;   /* they are known, not only the names */
    uint32_t uid;
    uint32_t gid;
    char guest[PATH_MAX]; /* hutch-init on this host; empty: it is copied in */
    enum plan_way workspace;
    bool in_memory; /* what the command writes in its own directories */
    char owner[OWNER_BYTES];
    char home[OWNER_HOME_BYTES];
};

/* Who its processes are: as asked for; or the owner of a workspace that is mounted for writing, the
 * image's user, or 1000. Root is refused, unless the engine makes somebody else of it outside. */
int docker_plan_user(struct docker_plan *plan, const struct docker_image *image, bool maps_ids,
                     struct hutch_error *err) HUTCH_MUST_CHECK;
/* accounts.c: by number, with the passwd and group of a container that is made. */
int docker_plan_resolve(struct docker_plan *plan, struct docker_engine *engine,
                        const char *container, struct hutch_error *err) HUTCH_MUST_CHECK;
/* plan_workspace.c: how the workspace gets in; before the user is chosen, and once more after. */
int docker_plan_workspace(struct docker_plan *plan, struct hutch_error *err) HUTCH_MUST_CHECK;
/* plan_mounts.c: may these files of this host enter a sandbox, whoever mounts them? */
int docker_plan_sources(const struct docker_plan *plan, struct hutch_error *err) HUTCH_MUST_CHECK;
/* plan_mounts.c: can the user do anything with them? */
int docker_plan_mounts(const struct docker_plan *plan, struct hutch_error *err) HUTCH_MUST_CHECK;
/* Has something to be copied in before the start? */
bool docker_plan_copies(const struct docker_plan *plan);
/* Has the spec put something of its own there or above it; or_below: or below it? */
bool docker_plan_is_taken(const struct hutch_spec *spec, const char *target, bool or_below);
/* plan_volumes.c: which directories are volumes, because the root cannot be written to. At most
 * PLAN_VOLUMES; returns how many. */
#define PLAN_VOLUMES 5
size_t docker_plan_volumes(const struct docker_plan *plan, const char *ret_targets[PLAN_VOLUMES]);
/* HUTCH_E_UNENFORCEABLE: the image has a volume that would be writable where the root is not, or
 * without a bound where the layer has one. */
int docker_plan_check_volumes(const struct docker_plan *plan,
                              struct hutch_error *err) HUTCH_MUST_CHECK;

/* body.c: the container as JSON. No variable and no word of a command is in it: whoever may look at
 * containers would read them. */
int docker_plan_write(const struct docker_plan *plan, struct hutch_buf *json,
                      struct hutch_error *err) HUTCH_MUST_CHECK;
/* body.c: another one, never started, that has the volumes of the first. */
int docker_plan_write_filler(const struct docker_plan *plan, const char *container,
                             struct hutch_buf *json, struct hutch_error *err) HUTCH_MUST_CHECK;
/* body.c: the limits that can be changed while it runs. */
struct hutch_json_out;
void docker_write_limits(struct hutch_json_out *out, const struct hutch_limits *limits);

/* guest.c: hutch-init as a file that an engine on this host can mount. */
int docker_guest_file(char ret_path[PATH_MAX], struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
