/* SPDX-License-Identifier: Apache-2.0 */
/* The engine whose containers a porter makes. To the keeper the porter is PID 1; what natively goes
 * to the kernel goes to the porter as a question. */
#include "backend/container/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/container/link.h"
#include "backend/container/order.h"
#include "backend/container/owner.h"
#include "backend/container/porter.h"
#include "backend/native/environment.h"
#include "backend/native/ledger.h"
#include "backend/native/warden.h"
#include "core/isolation.h"
#include "util/own.h"
#include "util/remove_tree.h"

/* A porter that was told to end its container has this long since it last let us hear of anything:
 * an engine that answers at all needs less. Then it is killed, and what it leaves is found by its
 * labels. */
#define END_PATIENCE_US 15000000
/* What an engine may take to fetch an image, which is no time of the command's. */
#define FETCH_US UINT64_C(3600000000)
#define SEEN_FRESH_US 50000 /* an answer as young as this is not asked for again */

/* ---- beginning ------------------------------------------------------------------------------- */

static int make_link(struct keeper *keeper, struct hutch_error *err)
{
    keeper->link = calloc(1, sizeof(*keeper->link));
    if (!keeper->link)
        return hutch_fail_nomem(err);
    keeper->link->control = HUTCH_NO_FD;
    keeper->link->image = (struct image_use)IMAGE_USE_INIT;
    return 0;
}

/* Everything that the porter cannot find out by itself. */
static int send_order(struct keeper *keeper, const char *backend, struct hutch_spec *spec,
                      struct hutch_error *err)
{
    const struct identity *identity = &keeper->identity;
    const char *runtime = hutch_spec_runtime(keeper->spec);
    bool has_own_images = hutch_backend_has_own_images(keeper->spec);
    struct porter_order order = {.one_shot = keeper->options != NULL,
                                 .is_there = keeper->has_layer,
                                 .has_ids = !has_own_images,
                                 .uid = identity->uid,
                                 .gid = identity->gid,
                                 .first_host_id = identity->first_host_id,
                                 .spec = spec,
                                 .has_egress = keeper->gateway.is_wanted,
                                 .plant = keeper->gateway.plant_inside,
                                 .authority = keeper->gateway.authority,
                                 .memory_layer = keeper->memory_layer};
    (void)snprintf(order.backend, sizeof(order.backend), "%s", backend);
    (void)snprintf(order.runtime, sizeof(order.runtime), "%s", runtime ? runtime : "");
    (void)snprintf(order.id, sizeof(order.id), "%s", keeper->layer[0] ? keeper->layer : keeper->id);
    (void)snprintf(order.name, sizeof(order.name), "%s",
                   !keeper->options && spec->name ? spec->name : "");
    (void)snprintf(order.layer, sizeof(order.layer), "%s",
                   keeper->pool.dir >= 0 ? keeper->pool.path : "");
    int status = container_order_send(keeper->socket, &order, err);
    hutch_fd_close(&keeper->gateway.plant_inside);
    return status;
}

/* The spec as the porter is to have it, with an image of our store named by its digest. */
static int tell_order(struct keeper *keeper, const char *backend, struct hutch_error *err)
{
    hutch_autofree char *json = NULL;
    struct hutch_spec *spec = NULL;
    if (container_order_spec(keeper->spec, &json, err) < 0 || hutch_spec_new(&spec, err) < 0)
        return -(int)err->code;
    int status = hutch_spec_parse(spec, json, strlen(json), HUTCH_FORMAT_JSON, err);
    if (status == 0)
        status = hutch_spec_make_absolute(spec, err);
    if (status == 0 && keeper->image)
        status = image_use_pin(keeper->image, spec, err);
    if (status == 0)
        status = send_order(keeper, backend, spec, err);
    hutch_spec_free(spec);
    return status;
}

/* Where the image is hutch's own, who the command is and what holds its files are decided as
 * natively; where it is the engine's, nobody knows before the container is there. */
static int prepare(struct keeper *keeper, struct hutch_error *err)
{
    if (hutch_backend_has_own_images(keeper->spec)) {
        keeper->is_on_disk = true;
        if (strcmp(keeper->spec->pull, "never") != 0 && keeper->deadline_us < now_us() + FETCH_US)
            keeper->deadline_us = now_us() + FETCH_US;
        return 0;
    }
    if (keeper_decide_identity(keeper, err) < 0 || keeper_put_on_record(keeper, err) < 0)
        return -(int)err->code;
    return keeper_make_layer(keeper, err);
}

/* Beside the porter, as natively beside PID 1; what it wants to have planted waits for the porter's
 * builder. */
static int open_gateway(struct keeper *keeper, struct hutch_error *err)
{
    if (gateway_open(keeper, err) < 0)
        return -(int)err->code;
    return keeper->gateway.intercepts ? gateway_await_authority(&keeper->gateway, err) : 0;
}

static int build(struct keeper *keeper, struct hutch_error *err)
{
    const char *backend = hutch_spec_backend(keeper->spec);
    /* the engine's groups count and limit the processes: not this process's own means */
    keeper->layout =
        (struct cgroup_layout){.enforces = HUTCH_PROMISE_BIT(PIDS) | HUTCH_PROMISE_BIT(CPUS)};
    if (ledger_begin_run(keeper, err) < 0 || make_link(keeper, err) < 0 ||
        prepare(keeper, err) < 0 || owner_note(backend, err) < 0 ||
        porter_start(keeper, backend, &keeper->link->control, err) < 0 ||
        open_gateway(keeper, err) < 0)
        return -(int)err->code;
    return tell_order(keeper, backend, err);
}

/* ---- end ------------------------------------------------------------------------------------- */

static void kill_porter(const struct keeper *keeper)
{
    if (keeper->pid > 0)
        (void)kill(keeper->pid, SIGKILL); /* our child, and not waited for yet: it is that one */
}

/* The message is small and waits for nobody; a porter whose socket is full has been told before or
 * reads nothing any more. */
static void kill_all(const struct keeper *keeper)
{
    struct container_link *link = keeper->link;
    const struct init_message message = {.type = PORTER_END,
                                         .value = keeper->keeps_layer ? PORTER_END_KEEPS : 0};
    if (keeper->pid <= 0 || !link || link->is_ending)
        return;
    link->is_ending = true;
    link->told_us = now_us();
    if (keeper->socket < 0 ||
        send(keeper->socket, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        kill_porter(keeper);
}

/* As long as output still comes it is not stuck: what was written before the end is on its way. */
static uint64_t hasten_end(struct keeper *keeper)
{
    const struct container_link *link = keeper->link;
    if (!link || !link->is_ending)
        return UINT64_MAX;
    uint64_t since = link->told_us > keeper->idle_since_us ? link->told_us : keeper->idle_since_us;
    if (now_us() < since + END_PATIENCE_US)
        return since + END_PATIENCE_US;
    kill_porter(keeper);
    return UINT64_MAX;
}

/* Commands are over for whoever calls this: of PID 1's own reports none matters any more. */
static void hear_rest(struct keeper *keeper)
{
    struct init_message report;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    int fds[2];
    size_t fd_count = 0;
    if (keeper_hear(keeper, &report, fds, &fd_count) <= 0)
        return;
    (void)link_hear(keeper, &report, fds, fd_count, &ignored);
}

static void await_end(struct keeper *keeper)
{
    bool is_alive = keeper->pid > 0 && keeper->pidfd >= 0;
    while (is_alive || keeper->socket >= 0) {
        struct pollfd fds[2] = {{keeper->pidfd, POLLIN, 0}, {keeper->socket, POLLIN, 0}};
        uint64_t next = hasten_end(keeper);
        uint64_t now = now_us();
        int wait_ms = next == UINT64_MAX ? 1000 : (int)((next > now ? next - now : 0) / 1000) + 1;
        if (poll(fds, 2, is_alive ? wait_ms : 0) < 0 && errno != EINTR)
            break;
        if (fds[1].revents)
            hear_rest(keeper);
        is_alive &= !(fds[0].revents & POLLIN);
        if (!is_alive && !fds[1].revents)
            break;
    }
    if (keeper->pidfd < 0)
        kill_porter(keeper);
}

static void release(struct keeper *keeper)
{
    struct container_link *link = keeper->link;
    if (!link)
        return;
    if (keeper->image == &link->image)
        keeper->image = NULL;
    if (link->has_end && link->end.place[0])
        (void)remove_tree(AT_FDCWD, link->end.place);
    image_use_done(&link->image);
    hutch_fd_close(&link->control);
    free(link);
    keeper->link = NULL;
}

/* The porter that was told so has removed the container; one that ended before has kept it. */
static void forget(struct warden *warden)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    const struct container_link *link = warden->keeper->link;
    if (!link || !link->has_end || !link->is_ending)
        (void)!porter_remove(hutch_spec_backend(warden->spec), warden->record.id, &ignored);
}

/* ---- what it uses ---------------------------------------------------------------------------- */

static bool read_usage(struct keeper *keeper, struct hutch_usage *usage,
                       struct cgroup_events *events)
{
    const struct container_link *link = keeper->link;
    if (!link || !link->has_end)
        return false;
    *usage = link->end.usage;
    *events = (struct cgroup_events){.oom_kills = link->end.oom_kills,
                                     .pids_refused = link->end.pids_refused};
    return true;
}

static void look(struct container_link *link)
{
    const struct porter_question question = {.kind = PORTER_STATS};
    struct porter_answer answer;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (!link->is_ready || (link->seen_us && now_us() - link->seen_us < SEEN_FRESH_US))
        return;
    if (link_ask(link, &question, &answer, &ignored) < 0)
        return;
    link->seen = answer;
    link->seen_us = now_us();
}

static void read_stats(struct keeper *keeper, struct engine_stats *ret_stats)
{
    struct container_link *link = keeper->link;
    const struct porter_answer *seen = &link->seen;
    link->seen_us = 0;
    look(link);
    bool is_known = link->seen_us > 0;
    *ret_stats = (struct engine_stats){
        .usage = seen->usage,
        .events = {.oom_kills = seen->oom_kills, .pids_refused = seen->pids_refused},
        .now = {.memory_bytes = seen->memory_bytes, .pids = seen->pids},
        .disk_bytes = seen->disk_bytes == UINT64_MAX ? 0 : seen->disk_bytes,
        .has_cpu = is_known,
        .has_memory = is_known && seen->memory_bytes != UINT64_MAX,
        .has_pids = is_known && seen->pids != UINT64_MAX};
    if (keeper->pool.dir < 0)
        return;
    keeper->disk_seen_bytes = 0;
    disk_look(keeper);
    ret_stats->disk_bytes = keeper->disk_seen_bytes;
}

static uint64_t counter(struct keeper *keeper, enum cgroup_counter which, bool fresh)
{
    struct container_link *link = keeper->link;
    const struct porter_answer *seen = &link->seen;
    const uint64_t values[CGROUP_COUNTERS] = {
        [CGROUP_CPU_US] = seen->usage.cpu_us,
        [CGROUP_MEMORY_PEAK] = seen->usage.memory_peak_bytes,
        [CGROUP_PIDS_PEAK] = seen->usage.pids_peak,
        [CGROUP_OOM_KILLS] = seen->oom_kills,
        [CGROUP_PIDS_REFUSED] = seen->pids_refused,
        [CGROUP_MEMORY_NOW] = seen->memory_bytes,
        [CGROUP_PIDS_NOW] = seen->pids,
    };
    if (!fresh)
        return values[which];
    look(link);
    return counter(keeper, which, false);
}

/* ---- what can be asked of it ----------------------------------------------------------------- */

static int resolve_user(const struct keeper *keeper, const char *user,
                        struct identity *ret_identity, struct hutch_error *err)
{
    const struct identity *identity = &keeper->identity;
    char *end = NULL;
    unsigned long number = strtoul(user, &end, 10);
    bool is_it = end != user && !*end ? number == identity->uid : !strcmp(user, identity->name);
    if (!is_it)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "user '%.60s' cannot be had here: a container of backend '%s' has one "
                          "user, %s (%u); make it with '-u %.60s'",
                          user, hutch_spec_backend(keeper->spec), identity->name, identity->uid,
                          user);
    *ret_identity = *identity;
    return 0;
}

static int ask(struct warden *warden, enum porter_question_kind kind, const char *what,
               struct hutch_error *err)
{
    const struct porter_question question = {.kind = kind};
    struct porter_answer answer;
    if (link_ask(warden->keeper->link, &question, &answer, err) < 0)
        return hutch_wrap(err, "%s sandbox '%s': ", what, warden->home.name);
    warden->keeper->link->is_paused = kind == PORTER_PAUSE;
    return 0;
}

static int freeze(struct warden *warden, struct hutch_error *err)
{
    return ask(warden, PORTER_PAUSE, "pause", err);
}

static int thaw(struct warden *warden, struct hutch_error *err)
{
    const struct container_link *link = warden->keeper->link;
    return link && link->is_paused ? ask(warden, PORTER_RESUME, "resume", err) : 0;
}

static int set_limits(struct keeper *keeper, const struct hutch_limits *limits,
                      struct hutch_error *err)
{
    const struct porter_question question = {.kind = PORTER_UPDATE, .limits = *limits};
    struct porter_answer answer;
    return link_ask(keeper->link, &question, &answer, err);
}

const struct engine_ops container_engine = {
    .is_parent = false,
    .build = build,
    .hear = link_hear,
    .kill = kill_all,
    .hasten_end = hasten_end,
    .await_end = await_end,
    .read_usage = read_usage,
    .read_stats = read_stats,
    .counter = counter,
    .resolve_user = resolve_user,
    .freeze = freeze,
    .thaw = thaw,
    .set_limits = set_limits,
    .forget = forget,
    .release = release,
};
