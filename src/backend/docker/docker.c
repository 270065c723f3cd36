/* SPDX-License-Identifier: Apache-2.0 */
/* A Docker engine as porters see it.
 *
 * A container is made with hutch-init as its first process; over its standard streams, which are
 * one hijacked connection to the engine, goes the tunnel that a keeper speaks to hutch-init
 * through. All other questions to the engine share a second connection. What is in an engine of
 * hutch's carries labels, by which a sweep finds what nobody wants any more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/docker/build.h"
#include "backend/docker/container.h"
#include "util/json_out.h"
#include "util/own.h"

static bool maps_ids(const struct container *container)
{
    return container->maps_ids;
}

/* The engine keeps what its containers write. */
static int no_memory_layer(const struct container *container)
{
    (void)container;
    return HUTCH_NO_FD;
}

static int take_config(struct container *container, char **ret_json, struct hutch_error *err)
{
    (void)err;
    *ret_json = HUTCH_TAKE_PTR(container->config);
    return 0;
}

static int stream_fd(const struct container *container)
{
    return hijack_fd(container->hijack);
}

static bool has_pending(const struct container *container)
{
    return hijack_has_pending(container->hijack);
}

static ssize_t read_stream(struct container *container, void *buffer, size_t size)
{
    return hijack_read(container->hijack, buffer, size);
}

static ssize_t write_stream(struct container *container, const void *data, size_t length)
{
    return hijack_write(container->hijack, data, length);
}

static int pause_container(struct container *container, bool pause, struct hutch_error *err)
{
    char path[CONTAINER_PATH_BYTES];
    docker_container_path(container, pause ? "/pause" : "/unpause", path, sizeof(path));
    int status = docker_do(container->engine, "POST", path, NULL, err);
    if (status == 0)
        container->is_paused = pause;
    return status;
}

static int update(struct container *container, const struct hutch_limits *limits,
                  struct hutch_error *err)
{
    char path[CONTAINER_PATH_BYTES];
    struct hutch_buf body = HUTCH_BUF(4096);
    struct hutch_json_out out = {&body, false};
    hutch_json_open(&out, NULL, '{');
    docker_write_limits(&out, limits);
    hutch_json_close(&out, '}');
    docker_container_path(container, "/update", path, sizeof(path));
    int status = body.failed ? hutch_fail_nomem(err)
                             : docker_do(container->engine, "POST", path, body.data, err);
    hutch_buf_done(&body);
    if (status == -HUTCH_E_NOT_FOUND && container->engine->version.is_podman)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "this version of podman cannot change the limits of a container that is "
                          "there; make a new sandbox with them");
    return status;
}

static int remove_by_id(const char *id, struct hutch_error *err)
{
    hutch_cleanup(docker_engine_freep) struct docker_engine *engine = NULL;
    char name[64];
    if (docker_engine_open(&engine, id, err) < 0)
        return -(int)err->code;
    (void)snprintf(name, sizeof(name), "hutch-%s", id);
    if (docker_container_remove(engine, name, err) < 0)
        return -(int)err->code;
    docker_endpoint_forget(id);
    return 0;
}

const struct container_ops docker_container_ops = {
    .backend = "docker",
    .counts_inside = true,
    .start = docker_container_start,
    .maps_ids = maps_ids,
    .memory_layer = no_memory_layer,
    .config = take_config,
    .read_fd = stream_fd,
    .write_fd = stream_fd,
    .has_pending = has_pending,
    .read = read_stream,
    .write = write_stream,
    .pause = pause_container,
    .update = update,
    .stats = docker_container_stats,
    .end = docker_container_end,
    .explain = docker_container_explain,
    .artifacts = docker_container_artifacts,
    .release = docker_container_release,
    .probe = docker_probe,
    .remove = remove_by_id,
    .sweep = docker_sweep,
    .doctor = docker_doctor,
    .build = docker_build,
};
