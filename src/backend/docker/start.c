/* SPDX-License-Identifier: Apache-2.0 */
/* From an order to a container whose streams flow: look at the image, create, copy in what has to
 * be there, attach, start. A run on an engine of this host copies nothing: four questions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "backend/docker/container.h"
#include "backend/docker/facts.h"
#include "backend/docker/transfer.h"
#include "util/own.h"

enum { CREATE_SECONDS = 120, BODY_CEILING = 1 << 20 };

void docker_container_path(const struct container *container, const char *tail, char *ret_path,
                           size_t size)
{
    (void)snprintf(ret_path, size, "/containers/%s%s", container->name, tail);
}

void docker_container_free(struct container *container)
{
    if (!container)
        return;
    hijack_free(container->hijack);
    docker_engine_free(container->engine);
    free(container->config);
    free(container->returns);
    free(container);
}

/* ---- the plan ---- */

/* Files of this host carry labels that keep containers from them, unless they are copied in. */
static bool has_selinux(void)
{
    return access("/sys/fs/selinux/enforce", F_OK) == 0;
}

static int plan_files(struct docker_plan *plan, bool sees_host, struct hutch_error *err)
{
    const struct hutch_spec *spec = plan->spec;
    plan->sees_host = sees_host;
    plan->guest[0] = '\0';
    if (!sees_host && spec->mounts.count)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "mount '%.150s': the engine does not see the files of this host; use "
                          "--workspace, which is copied in and out",
                          spec->mounts.items[0].source);
    /* One that stays outlives this program and this boot: it has its own. */
    if (sees_host && plan->order->one_shot)
        return docker_guest_file(plan->guest, err);
    return 0;
}

static int plan_all(struct docker_plan *plan, const struct docker_image *image, bool maps_ids,
                    bool sees_host, struct hutch_error *err)
{
    const struct hutch_spec *spec = plan->spec;
    if (docker_plan_sources(plan, err) < 0 || plan_files(plan, sees_host, err) < 0 ||
        docker_plan_user(plan, image, maps_ids, err) < 0 || docker_plan_workspace(plan, err) < 0 ||
        docker_plan_mounts(plan, err) < 0 || docker_plan_check_volumes(plan, err) < 0)
        return -(int)err->code;
    plan->in_memory =
        plan->order->one_shot && hutch_spec_disk_bytes(spec) <= spec->limits.memory_bytes;
    return 0;
}

static int plan_begin(struct docker_plan *plan, const struct porter_order *order,
                      const struct docker_engine *engine, struct hutch_error *err)
{
    *plan = (struct docker_plan){
        .order = order, .spec = order->spec, .is_podman = engine->version.is_podman};
    if (owner_text(plan->owner, err) < 0 || owner_home(plan->home, err) < 0)
        return -(int)err->code;
    return 0;
}

/* ---- making it ---- */

static int create(struct container *container, const struct docker_plan *plan,
                  struct docker_answer *answer, struct hutch_error *err)
{
    char path[CONTAINER_PATH_BYTES];
    struct hutch_buf body = HUTCH_BUF(BODY_CEILING);
    (void)snprintf(path, sizeof(path), "/containers/create?name=%s", container->name);
    int status = docker_plan_write(plan, &body, err);
    const struct docker_request request = {
        .method = "POST", .path = path, .json = body.data, .patience_s = CREATE_SECONDS};
    if (status == 0)
        status = docker_ask(container->engine, &request, answer, err);
    if (status == 0)
        status = docker_check(answer, err);
    container->is_made = status == 0;
    if (status == 0)
        status = docker_facts_check(&answer->json, plan->order->missing,
                                    docker_is_near(container->engine), err);
    hutch_buf_done(&body);
    return status;
}

/* Did the engine look in vain for a file that is here? */
static bool is_blind(const struct docker_plan *plan, const struct hutch_error *failure)
{
    const char *mounted = plan->guest[0]                     ? plan->guest
                          : plan->workspace == PLAN_WAY_BIND ? plan->spec->workspace.path
                                                             : NULL;
    return mounted && strstr(failure->msg, mounted) &&
           (strstr(failure->msg, "does not exist") || strstr(failure->msg, "no such file"));
}

static int make(struct container *container, struct docker_plan *plan,
                const struct docker_image *image, struct hutch_error *err)
{
    bool sees_host = docker_is_near(container->engine) && !has_selinux();
    plan->volumes = &image->volumes;
    for (;;) {
        struct docker_answer answer = DOCKER_ANSWER_INIT;
        if (plan_all(plan, image, container->maps_ids, sees_host, err) < 0)
            return -(int)err->code;
        /* before anything is made */
        if (docker_plan_copies(plan) &&
            docker_version_check_copy(&container->engine->version, err) < 0)
            return -(int)err->code;
        int status = create(container, plan, &answer, err);
        docker_answer_done(&answer);
        if (container->is_made || !sees_host || !is_blind(plan, err))
            return status;
        sees_host = false;
    }
}

/* A policy of later times may ask for what the container was not made with. */
static int check_root(const struct hutch_value *made, const struct hutch_spec *spec,
                      struct hutch_error *err)
{
    const struct hutch_value *closed = hutch_value_get(made, "ReadonlyRootfs");
    bool is_closed = closed && closed->type == HUTCH_VALUE_BOOL && closed->boolean;
    if (is_closed || !spec->read_only)
        return 0;
    return hutch_fail(err, HUTCH_E_UNENFORCEABLE, 0,
                      "read_only: this container was made with a root that can be written to; make "
                      "a new sandbox");
}

/* The one that was stopped, with the user that it has. */
static int find_again(struct container *container, struct docker_plan *plan,
                      struct hutch_error *err)
{
    char path[CONTAINER_PATH_BYTES];
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    docker_container_path(container, "/json", path, sizeof(path));
    int status = docker_get(container->engine, path, &answer, err);
    if (status == 0) {
        const struct hutch_value *config = hutch_value_get(&answer.json, "Config");
        const char *user = hutch_value_text(hutch_value_get(config, "User"));
        (void)snprintf(plan->user, sizeof(plan->user), "%s", user ? user : "");
        plan->has_ids = sscanf(plan->user, "%u:%u", &plan->uid, &plan->gid) == 2;
        plan->sees_host = docker_is_near(container->engine) && !has_selinux();
        status = check_root(hutch_value_get(&answer.json, "HostConfig"), plan->spec, err);
        if (status == 0)
            status = docker_plan_workspace(plan, err);
    }
    docker_answer_done(&answer);
    return status;
}

static void note_time(struct container *container)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    container->begin_s = (uint64_t)now.tv_sec;
    container->since_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int copy_in(struct container *container, const struct docker_plan *plan,
                   struct hutch_error *err)
{
    const struct hutch_workspace *workspace = &plan->spec->workspace;
    if (!docker_plan_copies(plan))
        return 0;
    int status = plan->spec->read_only && !plan->is_podman
                     ? docker_container_fill(container, plan, err)
                     : docker_copy_in(container->engine, container->name, plan, err);
    if (status < 0)
        return status;
    if (plan->workspace != PLAN_WAY_ARCHIVE || workspace->mode != HUTCH_WORKSPACE_RW)
        return 0;
    container->returns = strdup(workspace->path);
    return container->returns ? 0 : hutch_fail_nomem(err);
}

static int attach_and_start(struct container *container, struct hutch_error *err)
{
    char path[CONTAINER_PATH_BYTES];
    /* podman would look for the keys that detach a terminal in what is no terminal's */
    docker_container_path(container,
                          container->engine->version.is_podman
                              ? "/attach?stream=1&stdin=1&stdout=1&stderr=1&detachKeys="
                              : "/attach?stream=1&stdin=1&stdout=1&stderr=1",
                          path, sizeof(path));
    if (hijack_open(container->engine, path, &container->hijack, err) < 0)
        return hutch_wrap(err, "attach to the container: ");
    docker_container_path(container, "/start", path, sizeof(path));
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    const struct docker_request request = {
        .method = "POST", .path = path, .patience_s = CREATE_SECONDS};
    int status = docker_ask(container->engine, &request, &answer, err);
    if (status == 0)
        status = docker_check(&answer, err);
    docker_answer_done(&answer);
    return status < 0 ? hutch_wrap(err, "start the container: ") : 0;
}

/* Only who asks to be root costs this question. */
static int find_maps(struct container *container, const struct hutch_spec *spec,
                     struct hutch_error *err)
{
    struct docker_facts facts;
    if (!spec->user || (strncmp(spec->user, "root", 4) != 0 && spec->user[0] != '0'))
        return 0;
    if (docker_facts_recall(container->engine, &facts, err) < 0)
        return -(int)err->code;
    container->maps_ids = facts.maps_ids;
    return 0;
}

static int start(struct container *container, const struct porter_order *order,
                 struct hutch_error *err)
{
    struct docker_plan plan;
    hutch_cleanup(docker_image_done) struct docker_image image = {0};
    if (docker_image_ready(container->engine, order->spec, &image, err) < 0 ||
        find_maps(container, order->spec, err) < 0 ||
        plan_begin(&plan, order, container->engine, err) < 0)
        return -(int)err->code;
    container->config = HUTCH_TAKE_PTR(image.config);
    container->has_bare_volumes = plan.is_podman && order->spec->read_only;
    note_time(container);
    int status =
        order->is_there ? find_again(container, &plan, err) : make(container, &plan, &image, err);
    if (status == 0 && !order->is_there && !order->one_shot)
        status = docker_endpoint_keep(&container->engine->endpoint, order->id, err);
    if (status == 0)
        status = copy_in(container, &plan, err);
    return status == 0 ? attach_and_start(container, err) : status;
}

/* Whoever has asked for a container may be gone before it is there. */
int docker_keeper_socket(void)
{
    int type = 0;
    socklen_t size = sizeof(type);
    bool is_socket = getsockopt(PORTER_SOCKET_FD, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
    return is_socket && type == SOCK_SEQPACKET ? PORTER_SOCKET_FD : HUTCH_NO_FD;
}

int docker_container_start(const struct porter_order *order, struct container **ret_container,
                           struct hutch_error *err)
{
    struct hutch_error left = HUTCH_ERROR_INIT;
    struct container *container = calloc(1, sizeof(*container));
    if (!container)
        return hutch_fail_nomem(err);
    (void)snprintf(container->name, sizeof(container->name), "hutch-%s", order->id);
    container->artifacts_most =
        (struct docker_most){hutch_spec_disk_bytes(order->spec), order->spec->limits.inodes};
    int status = docker_engine_open(&container->engine, order->is_there ? order->id : NULL, err);
    if (status == 0) {
        container->engine->keeper_fd = docker_keeper_socket();
        status = start(container, order, err);
        container->engine->keeper_fd = HUTCH_NO_FD;
    }
    if (status < 0) {
        if (container->is_made &&
            docker_container_remove(container->engine, container->name, &left) < 0)
            (void)hutch_wrap(err, "container '%s' is left, until 'hutch gc': ", container->name);
        docker_container_free(container);
        return status;
    }
    container->is_made = true;
    *ret_container = container;
    return 0;
}
