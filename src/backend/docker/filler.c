/* SPDX-License-Identifier: Apache-2.0 */
/* How files get beside a root that is read-only. An engine refuses every copy into the root of such
 * a container, and of a volume it sets everything but owner and mode of its top. So a second
 * container is made, which has the same volumes and a root of its own: what is copied into that one
 * and lies in a volume is the first one's. It is never started, and removed at once; the volumes
 * stay with the first. */
#include <stdio.h>

#include "backend/docker/container.h"
#include "util/own.h"

enum { FILLER_SECONDS = 120, FILLER_CEILING = 64 << 10 };

static int ask(struct container *container, const char *name, const char *json,
               struct hutch_error *err)
{
    char path[CONTAINER_PATH_BYTES];
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    const struct docker_request request = {
        .method = "POST", .path = path, .json = json, .patience_s = FILLER_SECONDS};
    (void)snprintf(path, sizeof(path), "/containers/create?name=%s", name);
    int status = docker_ask(container->engine, &request, &answer, err);
    if (status == 0)
        status = docker_check(&answer, err);
    docker_answer_done(&answer);
    return status;
}

/* One of this name is what somebody who was killed has left. */
static int create(struct container *container, const struct docker_plan *plan, const char *name,
                  struct hutch_error *err)
{
    struct hutch_buf body = HUTCH_BUF(FILLER_CEILING);
    int status = docker_plan_write_filler(plan, container->name, &body, err);
    if (status == 0)
        status = ask(container, name, body.data, err);
    if (status == -HUTCH_E_CONFLICT) {
        status = docker_container_remove(container->engine, name, err);
        if (status == 0)
            status = ask(container, name, body.data, err);
    }
    hutch_buf_done(&body);
    return status;
}

int docker_container_fill(struct container *container, const struct docker_plan *plan,
                          struct hutch_error *err)
{
    char name[sizeof(container->name) + 8];
    struct hutch_error left = HUTCH_ERROR_INIT;
    (void)snprintf(name, sizeof(name), "%s-files", container->name);
    if (create(container, plan, name, err) < 0)
        return hutch_wrap(err, "make a container for the files: ");
    int status = docker_copy_in(container->engine, name, plan, err);
    if (docker_container_remove(container->engine, name, &left) < 0 && status == 0) {
        *err = left;
        return -(int)err->code;
    }
    return status;
}
