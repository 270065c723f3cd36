/* SPDX-License-Identifier: Apache-2.0 */
/* A container from its order to its end: what an OCI runtime offers the porter. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "backend/oci/oci.h"
#include "util/own.h"

static void container_free(struct container *container)
{
    hutch_fd_close(&container->input);
    hutch_fd_close(&container->output);
    hutch_fd_close(&container->errors);
    hutch_fd_close(&container->watch);
    if (container->keeper)
        keeper_free(container->keeper);
    image_use_done(&container->image);
    free(container);
}

/* The keeper of the sandbox has chosen the ids and made the directory for what is written, where
 * that is not memory. */
static int take_order(struct keeper *keeper, const struct porter_order *order,
                      struct hutch_error *err)
{
    (void)snprintf(keeper->id, sizeof(keeper->id), "%s", order->id);
    keeper->missing = order->missing;
    keeper->keeps_layer = !order->one_shot && order->layer[0];
    if (keeper_decide_identity(keeper, err) < 0)
        return -(int)err->code;
    keeper->identity.uid = order->uid;
    keeper->identity.gid = order->gid;
    keeper->identity.first_host_id = keeper->identity.first_host_gid = order->first_host_id;
    if (!order->has_ids || !order->first_host_id)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "an order without ids for the container");
    return 0;
}

/* From this process's own mount namespace: from another one's it could not be cloned. */
static int open_layer(struct keeper *keeper, const struct porter_order *order,
                      struct hutch_error *err)
{
    keeper->memory_layer = order->memory_layer;
    if (!order->layer[0])
        return 0;
    keeper->pool.dir = open(order->layer, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return keeper->pool.dir < 0 ? hutch_fail_errno(err, errno, "open '%.300s'", order->layer) : 0;
}

/* Groups are all that outlives this process. */
static int put_on_record(struct container *container, struct hutch_error *err)
{
    struct keeper *keeper = container->keeper;
    char text[STATE_RECORD_BYTES] = "";
    size_t length = 0;
    cgroup_probe(&keeper->layout);
    cgroup_probe_time(&keeper->layout); /* runtimes make that group too */
    cgroup_name(&keeper->cgroup, &keeper->layout, keeper->id,
                hutch_promises_required(keeper->spec) & ~keeper->missing, true);
    (void)cgroup_freezer_path(keeper->id, keeper->freezer, sizeof(keeper->freezer));
    for (size_t i = 0; i < keeper->cgroup.count; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "cgroup %s\n",
                                   keeper->cgroup.groups[i].path);
    oci_groups_record(container->name, text, sizeof(text));
    return lease_take(&keeper->lease, err) < 0 ? -(int)err->code
                                               : lease_record(&keeper->lease, text, err);
}

/* The gateway is the sandbox's keeper's; this one's builder serves it. */
static int take_network(struct keeper *keeper, const struct porter_order *order,
                        struct hutch_error *err)
{
    struct gateway *gateway = &keeper->gateway;
    gateway->is_wanted = order->has_egress;
    gateway->plant_inside = order->plant;
    gateway->intercepts = order->authority != NULL;
    gateway->authority = order->authority ? strdup(order->authority) : NULL;
    if (order->authority && !gateway->authority)
        return hutch_fail_nomem(err);
    if (order->has_egress && order->plant < 0)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "an order without the way to its gateway");
    return 0;
}

static int prepare(struct container *container, const struct porter_order *order,
                   struct hutch_error *err)
{
    const struct image_use *image = order->spec->image ? &container->image : NULL;
    /* first: only what is opened in this namespace can be mounted in it */
    if (oci_place_make(&container->place, err) < 0)
        return -(int)err->code;
    if (image && image_use_open(&container->image, order->spec, err) < 0)
        return -(int)err->code;
    container->keeper = keeper_new(order->spec, image, NULL);
    if (!container->keeper)
        return hutch_fail_nomem(err);
    container->keeps_memory = !order->one_shot && !order->layer[0];
    container->keeper->engine = &native_engine; /* what builds the root is natively PID 1 */
    (void)snprintf(container->name, sizeof(container->name), "hutch-%s", order->id);
    if (take_order(container->keeper, order, err) < 0 ||
        take_network(container->keeper, order, err) < 0)
        return -(int)err->code;
    container->keeper->identity.root_writes = container->runtime->is_kernel;
    if (put_on_record(container, err) < 0)
        return -(int)err->code;
    return open_layer(container->keeper, order, err);
}

static int oci_end(struct container *container, struct porter_end *ret_end,
                   struct hutch_error *err);
static int oci_release(struct container *container, bool keep, struct hutch_error *err);

static int oci_start(const struct porter_order *order, struct container **ret_container,
                     struct hutch_error *err)
{
    struct container *container = calloc(1, sizeof(*container));
    if (!container)
        return hutch_fail_nomem(err);
    container->image = (struct image_use)IMAGE_USE_INIT;
    container->input = container->output = container->errors = HUTCH_NO_FD;
    container->watch = HUTCH_NO_FD;
    int status = 0;
    if (!identity_is_privileged())
        status = hutch_fail(err, HUTCH_E_PERMISSION, 0, "the backend oci needs root");
    if (status == 0)
        status = oci_runtime_find(order->runtime, &container->runtime, container->path,
                                  sizeof(container->path), err);
    if (status == 0)
        status = prepare(container, order, err);
    if (status == 0)
        status = oci_run(container, err);
    if (status < 0) {
        struct hutch_error ignored = HUTCH_ERROR_INIT;
        struct porter_end end;
        (void)oci_end(container, &end, &ignored);
        (void)oci_release(container, order->is_there, &ignored);
        return status;
    }
    *ret_container = container;
    return 0;
}

static bool oci_maps_ids(const struct container *container)
{
    (void)container;
    return true;
}

/* The images are hutch's own: the keeper has read what they say. */
static int oci_config(struct container *container, char **ret_json, struct hutch_error *err)
{
    (void)container;
    (void)err;
    *ret_json = NULL;
    return 0;
}

static int oci_read_fd(const struct container *container)
{
    return container->watch >= 0 ? container->watch : container->output;
}

static int oci_write_fd(const struct container *container)
{
    return container->input;
}

static bool oci_has_pending(const struct container *container)
{
    (void)container;
    return false;
}

static ssize_t oci_read(struct container *container, void *buffer, size_t size)
{
    if (oci_network_is_lost(container))
        return 0;
    return read(container->output, buffer, size);
}

static ssize_t oci_write(struct container *container, const void *data, size_t length)
{
    return write(container->input, data, length);
}

static int oci_pause(struct container *container, bool pause, struct hutch_error *err)
{
    if (container->is_paused == pause)
        return 0;
    if (oci_verb(container, pause ? "pause" : "resume", err) < 0)
        return -(int)err->code;
    container->is_paused = pause;
    return 0;
}

/* By the groups themselves: gVisor's runtime has no verb for it, and the others do no more. */
static int oci_update(struct container *container, const struct hutch_limits *limits,
                      struct hutch_error *err)
{
    struct keeper *keeper = container->keeper;
    struct hutch_limits wider = oci_limits(container->runtime, limits);
    wider.pids--; /* the native code adds PID 1 itself */
    return cgroup_set_limits(&keeper->cgroup, &wider, err);
}

/* What is hutch's and the runtime's own is not the command's. */
static uint64_t without_own(const struct container *container, uint64_t tasks)
{
    const struct hutch_limits none = {0};
    uint64_t own = oci_limits(container->runtime, &none).pids - 1; /* PID 1 is left out already */
    return tasks > own ? tasks - own : 0;
}

static void read_usage(const struct container *container, struct hutch_usage *usage,
                       struct cgroup_events *events)
{
    cgroup_read_usage(&container->keeper->cgroup, usage);
    cgroup_read_events(&container->keeper->cgroup, events);
    /* a kernel of its own has threads for its processes, and nobody can tell which is whose */
    usage->has_pids_peak &= !container->runtime->is_kernel;
    usage->pids_peak = usage->has_pids_peak ? without_own(container, usage->pids_peak) : 0;
}

static int oci_stats(struct container *container, struct porter_answer *ret_answer,
                     struct hutch_error *err)
{
    struct keeper *keeper = container->keeper;
    struct cgroup_events events;
    struct cgroup_now now;
    (void)err;
    read_usage(container, &ret_answer->usage, &events);
    cgroup_read_now(&keeper->cgroup, &now);
    keeper->disk_seen_bytes = 0;
    disk_look(keeper);
    ret_answer->oom_kills = events.oom_kills;
    ret_answer->pids_refused = events.pids_refused;
    ret_answer->memory_bytes = now.memory_bytes;
    ret_answer->pids =
        container->runtime->is_kernel ? UINT64_MAX : without_own(container, now.pids);
    ret_answer->disk_bytes = keeper->disk_seen_bytes;
    return 0;
}

/* Its counters are final when nobody is left in its groups. But for the processes that were
 * refused: killing refuses some itself. */
static int oci_end(struct container *container, struct porter_end *ret_end, struct hutch_error *err)
{
    *ret_end = (struct porter_end){0};
    struct keeper *keeper = container->keeper;
    struct cgroup_events events = {0};
    if (!keeper)
        return 0;
    ret_end->pids_refused = cgroup_counter(&keeper->cgroup, CGROUP_PIDS_REFUSED);
    int status = oci_groups_kill(container, err);
    read_usage(container, &ret_end->usage, &events);
    disk_look(keeper);
    ret_end->oom_kills = events.oom_kills;
    ret_end->disk_full = keeper->disk_full;
    ret_end->has_cpu = keeper->cgroup.count > 0;
    return status;
}

static void oci_explain_end(struct container *container, char *ret_text, size_t size)
{
    oci_read_errors(container);
    oci_last_line(container->tail, ret_text, size);
}

/* Of a run nobody wants it, and one on disk is known by its path. */
static int oci_memory_layer(const struct container *container)
{
    return container->keeps_memory ? container->keeper->writable : HUTCH_NO_FD;
}

static int oci_artifacts(struct container *container, int *ret_directory,
                         char ret_place[PORTER_PLACE_BYTES], struct hutch_error *err)
{
    ret_place[0] = '\0'; /* it goes with its mount */
    if (container->keeper->artifacts < 0)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "no artifacts were asked for");
    *ret_directory = fcntl(container->keeper->artifacts, F_DUPFD_CLOEXEC, 0);
    return *ret_directory < 0 ? hutch_fail_errno(err, errno, "duplicate a descriptor") : 0;
}

/* The mounts go with the porter's namespace, the runtime's state with them. */
static int oci_release(struct container *container, bool keep, struct hutch_error *err)
{
    (void)err;
    (void)keep; /* what is kept is the keeper's */
    if (container->name[0])
        oci_groups_remove(container->name);
    container_free(container);
    return 0;
}

/* What a stopped one leaves is its layer, which is removed with the sandbox it belongs to. */
static int oci_remove(const char *id, struct hutch_error *err)
{
    char name[OCI_NAME_SIZE];
    (void)err;
    (void)snprintf(name, sizeof(name), "hutch-%s", id);
    oci_groups_remove(name);
    return 0;
}

/* Everything of a container that outlives its porter is on record in a lease, and leases are swept
 * by the native backend, whosesoever they are. */
static int oci_sweep(bool dry_run, hutch_gc_fn on_item, void *userdata, struct hutch_error *err)
{
    (void)dry_run;
    (void)on_item;
    (void)userdata;
    (void)err;
    return 0;
}

const struct container_ops oci_container_ops = {
    .backend = "oci",
    .start = oci_start,
    .maps_ids = oci_maps_ids,
    .memory_layer = oci_memory_layer,
    .config = oci_config,
    .read_fd = oci_read_fd,
    .write_fd = oci_write_fd,
    .has_pending = oci_has_pending,
    .read = oci_read,
    .write = oci_write,
    .pause = oci_pause,
    .update = oci_update,
    .stats = oci_stats,
    .end = oci_end,
    .explain = oci_explain_end,
    .artifacts = oci_artifacts,
    .release = oci_release,
    .probe = oci_probe,
    .remove = oci_remove,
    .sweep = oci_sweep,
    .doctor = oci_doctor,
};
