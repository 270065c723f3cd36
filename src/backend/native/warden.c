/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a keeper's process: told what to keep over descriptor 3, it builds the sandbox, says
 * that it is ready, serves, and takes down what it built. Whatever happens to it, its lease and the
 * sandbox's home tell the next sweep what is left. */
#include "backend/native/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/native/ledger.h"
#include "util/own.h"

#define CREATOR_FD 3
#define MAX_CLIENTS 1024

uint64_t warden_clock_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Nothing of whoever started it: no descriptor, no session, no directory, and not its child. */
static int detach(void)
{
    pid_t pid = fork();
    if (pid != 0)
        _exit(pid < 0 ? 1 : 0);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < CREATOR_FD; fd++)
        if (dup2(null, fd) < 0)
            return -1;
    if (syscall(SYS_close_range, CREATOR_FD + 1, ~0u, 0) < 0 || setsid() < 0 || chdir("/") < 0)
        return -1;
    (void)fcntl(CREATOR_FD, F_SETFD, FD_CLOEXEC);
    (void)prctl(PR_SET_NAME, "hutch-keeper");
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    return 0;
}

/* Descriptors: the home and its lock, which is held through it. */
static int take_order(struct warden *warden, struct wire_message *order, struct hutch_error *err)
{
    const char *name = wire_get(order, "name");
    const char *id = wire_get(order, "id");
    warden->home.dir = wire_take_fd(order, 0);
    warden->home.lock = wire_take_fd(order, 1);
    if (!name || !id || warden->home.lock < 0)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "an order without a sandbox");
    (void)snprintf(warden->home.name, sizeof(warden->home.name), "%s", name);
    (void)snprintf(warden->record.id, sizeof(warden->record.id), "%s", id);
    warden->record.created_us = wire_number(order, "created_us", 0);
    warden->record.started_us = warden_clock_us();
    warden->record.on_disk = wire_number(order, "on_disk", 0);
    warden->record.missing = wire_number(order, "missing", 0);
    return home_parse_spec(&warden->home, &warden->spec, err);
}

/* What could not be brought out at the end is better told at the beginning. */
static int check_artifacts(const struct hutch_spec *spec, struct hutch_error *err)
{
    if (!spec->artifacts)
        return 0;
    hutch_autofd int target = artifacts_open(spec, err);
    return target < 0 ? -(int)err->code : 0;
}

static int fail_image(const struct warden *warden, struct hutch_error *err)
{
    struct hutch_error cause = *err;
    if (err->code != HUTCH_E_NOT_FOUND)
        return -(int)err->code;
    return hutch_fail(
        err, HUTCH_E_NOT_FOUND, 0,
        "sandbox '%s' needs its image '%.130s': %.120s; get it back with 'hutch image "
        "pull', or remove the sandbox with 'hutch rm %s'",
        warden->home.name, warden->spec->image, cause.msg, warden->home.name);
}

/* And not started again. */
static bool is_being_made(const struct warden *warden)
{
    return !strcmp(warden->verb, "create");
}

/* All that can be done while PID 1 builds: then little is left between its word and ours. */
static int prepare_ready(struct warden *warden, struct hutch_error *err)
{
    warden->record.state = HOME_RUNNING;
    warden->record.started_us = warden_clock_us();
    if (warden->listener < 0 && warden_bind(warden, err) < 0)
        return -(int)err->code;
    return home_prepare(&warden->home, &warden->record, is_being_made(warden), err);
}

/* What every command would be refused for is better told before there is a sandbox. */
static int check_rlimits(struct keeper *keeper, struct hutch_error *err)
{
    struct init_rlimit unused[INIT_RLIMITS];
    return keeper_rlimits(keeper, unused, err);
}

static int build(struct warden *warden, const struct wire_message *order, struct hutch_error *err)
{
    if (check_artifacts(warden->spec, err) < 0)
        return -(int)err->code;
    bool has_image = warden->spec->image && !hutch_backend_has_own_images(warden->spec);
    if (has_image && warden->image.store.dir < 0 &&
        image_use_open(&warden->image, warden->spec, err) < 0)
        return fail_image(warden, err);
    struct keeper *keeper = warden->keeper =
        keeper_new(warden->spec, has_image ? &warden->image : NULL, NULL);
    if (!keeper)
        return hutch_fail_nomem(err);
    /* groups of its own: those of a keeper that was killed may still be there */
    if (keeper_make_id(keeper->id, err) < 0)
        return -(int)err->code;
    keeper->missing = (hutch_promise_set)warden->record.missing;
    if (ledger_begin_life(warden, warden->creator, err) < 0)
        return -(int)err->code;
    memcpy(keeper->layer, warden->record.id, sizeof(keeper->layer));
    if (warden->layer >= 0 && /* its own stays until this start has succeeded */
        (keeper->memory_layer = fcntl(warden->layer, F_DUPFD_CLOEXEC, 0)) < 0)
        return hutch_fail_errno(err, errno, "take the files of the sandbox");
    keeper->lease = warden->lease;
    warden->lease.fd = HUTCH_NO_FD;
    keeper->keeps_layer = warden->record.on_disk;
    keeper->has_layer = wire_number(order, "has_layer", 0);
    if (wire_number(order, "can_bring_layer", 0))
        keeper->layer_from = warden->creator;
    if (check_rlimits(keeper, err) < 0 || keeper_read_secrets(keeper, err) < 0)
        return -(int)err->code;
    if (keeper->gateway.is_wanted) {
        keeper->gateway.table = egress_table_open(warden->home.dir, err);
        if (keeper->gateway.table < 0)
            return -(int)err->code;
        ledger_egress_begin(&warden->egress_before, keeper->gateway.table);
    }
    cgroup_probe(&keeper->layout);
    /* a child of ours has the same mark until it has executed, and while it is not dumpable an
     * ordinary user may not write its id maps */
    (void)prctl(PR_SET_DUMPABLE, 1);
    int status = keeper->engine->build(keeper, err);
    (void)prctl(PR_SET_DUMPABLE, 0);
    return status < 0 ? status : prepare_ready(warden, err);
}

/* ---- what PID 1 says ------------------------------------------------------------------------- */

static void tell_ready(struct warden *warden)
{
    struct wire_message answer = WIRE_MESSAGE_INIT;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    warden->awaits_command = false;
    wire_begin(&answer, "ready");
    (void)!wire_send(warden->creator, &answer, &ignored);
    hutch_buf_done(&answer.text);
    hutch_fd_close(&warden->creator);
    hutch_fd_close(&warden->layer);
    if (is_being_made(warden)) {
        home_forget_former(&warden->home);
        warden->is_young = true;
        warden->look_at_home_us = now_us() + WARDEN_HOME_PAUSE_US;
    }
    plan_done(&warden->keeper->plan);
    claim_prepare(warden);
}

/* One with a command of its own is ready when that has begun: whether it can, PID 1 tells next. */
static void ready(struct warden *warden)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    warden->reason = NULL;
    warden->failure = err;
    warden->idle_since_us = now_us();
    warden->awaits_command = keeper_command(warden->keeper)->count > 0;
    if ((warden->listener < 0 && warden_listen(warden, &err) < 0) ||
        home_put(&warden->home, is_being_made(warden), &err) < 0 ||
        (warden->awaits_command && session_start_main(warden, &err) < 0)) {
        warden->failure = err;
        warden->is_ending = true;
        return;
    }
    if (!warden->awaits_command)
        tell_ready(warden);
}

static bool is_starting_main(const struct warden *warden)
{
    const struct session *session = warden->sessions;
    while (session && !session->is_main)
        session = session->next;
    return session && session->phase == SESSION_STARTING;
}

static void take_engine_report(struct warden *warden, const struct init_message *report, int *fds,
                               size_t fd_count)
{
    struct hutch_error failure = HUTCH_ERROR_INIT;
    switch (warden->keeper->engine->hear(warden->keeper, report, fds, fd_count, &failure)) {
    case ENGINE_READY:
        warden->record.missing = warden->keeper->missing;
        ready(warden);
        return;
    case ENGINE_FAILED:
        warden->failure = failure;
        warden->reason = "sandbox_died";
        warden->is_ending = true;
        return;
    case ENGINE_NOTHING:
        return;
    }
}

static void take_report(struct warden *warden, const struct init_message *report, int *fds,
                        size_t fd_count)
{
    struct session *session = report->session ? session_find(warden, report->session) : NULL;
    switch (report->type) {
    case INIT_READY:
        warden->keeper->writable = fd_count > 0 ? fds[0] : HUTCH_NO_FD;
        warden->keeper->artifacts = fd_count > 1 ? fds[1] : HUTCH_NO_FD;
        ready(warden);
        return;
    case INIT_SPAWNED:
        if (session)
            session_started(warden, session, report->time_us, fd_count ? fds[0] : HUTCH_NO_FD);
        return;
    case INIT_EXITED:
        if (session)
            session_exited(warden, session, report->value);
        return;
    case INIT_GONE:
        if (session)
            session->is_gone = true;
        return;
    case INIT_FAILED:
        if (session) {
            session_failed(warden, session, report);
            return;
        }
        keeper_explain(warden->keeper, report, "", NULL, &warden->failure);
        warden->is_ending = true;
        return;
    default:
        take_engine_report(warden, report, fds, fd_count);
        return;
    }
}

static void hear_init(struct warden *warden)
{
    struct init_message report;
    int fds[KEEPER_REPORT_FDS];
    size_t fd_count = 0;
    int got = keeper_hear(warden->keeper, &report, fds, &fd_count);
    if (got > 0)
        take_report(warden, &report, fds, fd_count);
}

/* Before the first command has begun there is no use in going on without one. */
static void hear_gateway(struct warden *warden, const struct pollfd *fds)
{
    struct hutch_error failure = HUTCH_ERROR_INIT;
    uint32_t number = 0;
    switch (gateway_hear(warden->keeper, fds, &number, &failure)) {
    case GATEWAY_NOTHING:
        return;
    case GATEWAY_DONE:
        clients_hear_of_order(warden, number, NULL);
        return;
    case GATEWAY_REFUSED:
    case GATEWAY_USELESS:
        clients_hear_of_order(warden, number, &failure);
        if (warden->creator < 0)
            return;
        warden->failure = failure;
        warden->is_ending = true;
        return;
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* An image's own way to be told concerns its own command. */
static int stop_signal(const struct warden *warden, const struct session *session)
{
    return session->is_main && warden->keeper->image ? warden->keeper->image->stop_signal : SIGTERM;
}

void warden_stop(struct warden *warden, const char *reason, uint64_t grace_ms)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    uint64_t end = now_us() + grace_ms * 1000;
    if (!warden->is_stopping)
        warden->reason = reason;
    (void)!warden->keeper->engine->thaw(warden, &ignored); /* what is frozen does not hear */
    if (!warden->is_stopping || end < warden->kill_at_us)
        warden->kill_at_us = end;
    for (struct session *session = warden->sessions; session && !warden->is_stopping;
         session = session->next)
        if (session->phase == SESSION_RUNNING)
            (void)!keeper_signal(warden->keeper, session->number, stop_signal(warden, session),
                                 &ignored);
    warden->is_stopping = true;
}

static bool has_running(const struct warden *warden)
{
    for (const struct session *session = warden->sessions; session; session = session->next)
        if (session->phase != SESSION_ENDED)
            return true;
    return false;
}

/* Its own ends: of its life, of being of no use to anybody. */
uint64_t warden_look_at_life(struct warden *warden)
{
    const struct hutch_spec *spec = warden->spec;
    uint64_t now = now_us();
    uint64_t wall = warden_clock_us();
    uint64_t next = WARDEN_NEVER;
    uint64_t age = wall > warden->record.created_us ? wall - warden->record.created_us : 0;
    uint64_t up = wall > warden->record.started_us ? wall - warden->record.started_us : 0;
    const struct {
        uint64_t limit_ms, used_us;
        const char *reason;
        bool removes;
    } ends[] = {
        {spec->ttl_ms, age, "ttl", true},
        {spec->max_lifetime_ms, up, "max_lifetime", false},
        {has_running(warden) ? 0 : spec->limits.idle_timeout_ms, now - warden->idle_since_us,
         "idle_timeout", false},
    };
    if (warden->is_stopping || warden->creator >= 0)
        return next;
    for (size_t i = 0; i < HUTCH_COUNT(ends); i++) {
        uint64_t limit_us = ends[i].limit_ms * 1000;
        if (!limit_us)
            continue;
        if (ends[i].used_us < limit_us) {
            uint64_t at = now + limit_us - ends[i].used_us;
            next = at < next ? at : next;
            continue;
        }
        warden->is_removing |= ends[i].removes;
        if (warden->is_resting) {
            warden->is_ending |= ends[i].removes;
            continue;
        }
        warden_stop(warden, ends[i].reason, 1000);
        return now;
    }
    return next;
}

static uint64_t look(struct warden *warden)
{
    uint64_t next = sessions_look(warden);
    if (warden->awaits_command && !is_starting_main(warden))
        tell_ready(warden);
    uint64_t life = warden_look_at_life(warden);
    uint64_t gateway = gateway_look(warden->keeper);
    next = gateway < next ? gateway : next;
    if (warden->is_stopping) {
        if (!has_running(warden) || now_us() >= warden->kill_at_us)
            warden->is_ending = true;
        life = warden->kill_at_us;
    }
    return life < next ? life : next;
}

static void accept_client(struct warden *warden)
{
    size_t count = 0;
    /* cppcheck-suppress nullPointer ; it has an attribute that says otherwise */
    int socket = accept4(warden->listener, NULL, NULL, SOCK_CLOEXEC);
    if (socket < 0)
        return;
    for (struct client *client = warden->clients; client; client = client->next)
        count++;
    struct client *client = count < MAX_CLIENTS ? calloc(1, sizeof(*client)) : NULL;
    if (!client) {
        (void)close(socket);
        return;
    }
    client->socket = socket;
    client->next = warden->clients;
    warden->clients = client;
}

void warden_free_clients(struct warden *warden, bool all)
{
    struct client **link = &warden->clients;
    while (*link) {
        struct client *client = *link;
        if (client->socket >= 0 && !all) {
            link = &client->next;
            continue;
        }
        *link = client->next;
        client_let_go(warden, client);
        hutch_fd_close(&client->socket);
        free(client);
    }
}

enum fixed {
    FIXED_PID,
    FIXED_INIT,
    FIXED_LISTENER,
    FIXED_SIGNALS,
    FIXED_GATEWAY,
    FIXED_COUNT = FIXED_GATEWAY + GATEWAY_FDS
};

static size_t count_fds(const struct warden *warden)
{
    size_t count = FIXED_COUNT;
    for (struct client *client = warden->clients; client; client = client->next)
        count++;
    for (struct session *session = warden->sessions; session; session = session->next)
        count += 2;
    return count;
}

static bool has_room(const struct warden *warden)
{
    return !warden->keeper || keeper_has_room(warden->keeper);
}

/* Clients first, then sessions, each in the order of its list. */
int warden_gather(struct warden *warden, size_t *ret_count)
{
    size_t need = count_fds(warden), at = FIXED_COUNT;
    if (need > warden->fd_capacity) {
        struct pollfd *more = reallocarray(warden->fds, need * 2, sizeof(*more));
        if (!more)
            return -1;
        warden->fds = more;
        warden->fd_capacity = need * 2;
    }
    struct pollfd *fds = warden->fds;
    bool room = has_room(warden); /* else new requests have to wait */
    fds[FIXED_PID] = (struct pollfd){warden->keeper ? warden->keeper->pidfd : -1, POLLIN, 0};
    fds[FIXED_INIT] = (struct pollfd){warden->keeper ? warden->keeper->socket : -1,
                                      room ? POLLIN : POLLIN | POLLOUT, 0};
    fds[FIXED_LISTENER] = (struct pollfd){warden->listener, POLLIN, 0};
    fds[FIXED_SIGNALS] = (struct pollfd){warden->signals, POLLIN, 0};
    static const struct gateway none;
    gateway_watch(warden->keeper ? &warden->keeper->gateway : &none, fds + FIXED_GATEWAY);
    for (struct client *client = warden->clients; client; client = client->next)
        fds[at++] = (struct pollfd){client->socket, room ? POLLIN : 0, 0};
    for (struct session *session = warden->sessions; session; session = session->next)
        for (size_t i = 0; i < 2; i++)
            fds[at++] = (struct pollfd){session->pipes[i], POLLIN, 0};
    *ret_count = at;
    return 0;
}

static void dispatch(struct warden *warden)
{
    struct pollfd *fds = warden->fds;
    size_t at = FIXED_COUNT;
    struct client *client = warden->clients;
    struct session *session = warden->sessions;
    if (fds[FIXED_LISTENER].revents)
        accept_client(warden); /* in front of those whose places are known */
    for (; client; client = client->next)
        if (fds[at++].revents && client->socket >= 0 && has_room(warden))
            client_serve(warden, client);
    for (; session; session = session->next)
        for (size_t i = 0; i < 2; i++)
            if (fds[at++].revents)
                session_read(warden, session, i);
    if (fds[FIXED_INIT].revents)
        hear_init(warden);
    if (fds[FIXED_SIGNALS].revents)
        warden_take_signals(warden);
    if (fds[FIXED_GATEWAY].revents || fds[FIXED_GATEWAY + 1].revents)
        hear_gateway(warden, fds + FIXED_GATEWAY);
    if (fds[FIXED_PID].revents && !warden->is_ending) {
        warden->reason = "sandbox_died";
        warden->is_ending = true;
    }
}

void warden_wait_until(struct warden *warden, size_t count, uint64_t next)
{
    uint64_t home = warden_look_at_home(warden);
    uint64_t now = now_us();
    next = home < next ? home : next;
    uint64_t wait_us = next > now ? next - now : 0;
    struct timespec pause = {.tv_sec = (time_t)(wait_us / 1000000),
                             .tv_nsec = (long)(wait_us % 1000000) * 1000};
    if (ppoll(warden->fds, count, next == WARDEN_NEVER ? NULL : &pause, NULL) > 0)
        dispatch(warden);
}

static void serve(struct warden *warden)
{
    while (!warden->is_ending) {
        size_t count = 0;
        uint64_t next = look(warden);
        warden_free_clients(warden, false);
        if (warden->is_ending || warden_gather(warden, &count) < 0)
            return;
        warden_wait_until(warden, count, next);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

int warden_main(void)
{
    struct warden *warden = calloc(1, sizeof(*warden));
    struct wire_message order = WIRE_MESSAGE_INIT;
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (!warden || detach() < 0)
        return 1;
    warden->home = (struct home)HOME_INIT;
    warden->image = (struct image_use)IMAGE_USE_INIT;
    warden->listener = warden->bound = warden->signals = warden->watched = HUTCH_NO_FD;
    warden->layer = warden->lease.fd = HUTCH_NO_FD;
    warden->audit = (struct audit)AUDIT_INIT;
    warden->creator = CREATOR_FD;
    if (wire_receive(CREATOR_FD, &order, &err) < 0)
        return 1;
    bool is_new = wire_number(&order, "new", 0);
    int status = take_order(warden, &order, &err);
    warden->verb = is_new ? "create" : "start";
    if (status == 0)
        status = warden_watch(warden, &err);
    do {
        if (status == 0)
            status = build(warden, &order, &err);
        if (status == 0)
            serve(warden);
        else
            warden->failure = err;
        is_new &= warden->creator >= 0;
        warden->verb = "start"; /* the next time */
        status = 0;
    } while (warden_can_rest(warden) && warden_rest(warden));
    warden_take_down(warden, is_new);
    wire_done(&order);
    audit_close(&warden->audit);
    image_use_done(&warden->image);
    hutch_spec_free(warden->spec);
    free(warden->fds);
    free(warden);
    return 0;
}
