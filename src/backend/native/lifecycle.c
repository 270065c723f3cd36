/* SPDX-License-Identifier: Apache-2.0 */
/* Making, starting, stopping and removing sandboxes that stay, as their clients do it. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/container/porter.h"
#include "backend/native/client.h"
#include "backend/native/environment.h"
#include "backend/native/keeper.h"
#include "backend/native/lifecycle.h"
#include "backend/native/pool.h"
#include "backend/native/recruit.h"
#include "backend/native/sandbox.h"
#include "core/isolation.h"
#include "core/map.h"
#include "core/spec.h"
#include "util/own.h"

#define DEFAULT_DISK "10g"
#define NAME_TRIES 8
#define PATIENCE_MS 3000 /* with a keeper that is asked whether it is there */
#define REMOVE_TRIES 500 /* 10 ms each */

static uint64_t wall_clock_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- a spec for a longer life ---------------------------------------------------------------- */

/* What depends on whoever calls is settled now: a later start happens somewhere else. */
int lifecycle_settle(struct hutch_spec *spec, struct hutch_error *err)
{
    struct hutch_map env = {0};
    if (environment_asked(&env, spec, err) < 0) {
        hutch_map_done(&env);
        return -(int)err->code;
    }
    hutch_map_done(&spec->env);
    spec->env = env;
    hutch_strlist_done(&spec->env_files);
    hutch_strlist_done(&spec->pass_env);
    hutch_spec_mark(spec, "env", spec->env.count > 0);
    hutch_spec_mark(spec, "env_files", false);
    hutch_spec_mark(spec, "pass_env", false);
    return hutch_spec_make_absolute(spec, err);
}

/* Whatever a later version would choose, it stays where it was made. */
static int settle_backend(struct hutch_spec *spec, struct hutch_error *err)
{
    const char *backend = hutch_spec_backend(spec);
    if (!strcmp(backend, spec->backend))
        return 0;
    return hutch_spec_set(spec, "backend", backend, err);
}

int lifecycle_defaults(struct hutch_spec *spec, struct hutch_error *err)
{
    if (settle_backend(spec, err) < 0)
        return -(int)err->code;
    /* only root can have a layer on disk: another's is as large as that of a run */
    if (identity_is_privileged() && !hutch_spec_is_set(spec, "limits.disk") &&
        !hutch_backend_has_own_images(spec) &&
        hutch_spec_set(spec, "limits.disk", DEFAULT_DISK, err) < 0)
        return -(int)err->code;
    return 0;
}

/* ---- making ---------------------------------------------------------------------------------- */

static int name_home(struct home *home, const char *name, struct hutch_error *err)
{
    int status = 0;
    if (name)
        return home_publish(home, name, err);
    for (int i = 0; i < NAME_TRIES; i++) {
        char id[33], generated[24];
        if (keeper_make_id(id, err) < 0)
            return -(int)err->code;
        (void)snprintf(generated, sizeof(generated), "box-%.8s", id);
        status = home_publish(home, generated, err);
        if (status != -HUTCH_E_CONFLICT)
            break;
    }
    return status;
}

static struct hutch_sandbox *handle_of(struct home *home, const char *id)
{
    struct hutch_sandbox *sandbox = calloc(1, sizeof(*sandbox));
    if (!sandbox)
        return NULL;
    sandbox->home = *home;
    sandbox->socket = sandbox->null = HUTCH_NO_FD;
    (void)snprintf(sandbox->id, sizeof(sandbox->id), "%s", id);
    home->dir = home->lock = HUTCH_NO_FD;
    return sandbox;
}

/* A descriptor of the lock's own: ours goes to the keeper and must not hold it any longer. */
static int reopen(struct home *home, struct hutch_error *err)
{
    char name[HOME_NAME_BYTES];
    memcpy(name, home->name, sizeof(name));
    home_close(home);
    return home_open(home, name, err);
}

/* layer_of: whose files it begins with, NULL for none. They are there before the name is. */
static int make(struct hutch_spec *spec, const char *layer_of, struct home *home,
                struct home_record *record, struct hutch_error *err)
{
    hutch_autofree char *json = NULL;
    if (keeper_make_id(record->id, err) < 0 || hutch_spec_to_json_set(spec, &json, err) < 0 ||
        home_make(home, record->id, json, err) < 0)
        return -(int)err->code;
    int status = home_write(home, record, err);
    if (status == 0 && layer_of)
        status = pool_snapshot(layer_of, record->id, err);
    if (status == 0)
        status = name_home(home, spec->name, err);
    if (status < 0) {
        struct hutch_error ignored = HUTCH_ERROR_INIT;
        if (layer_of)
            (void)pool_remove_id(record->id);
        (void)!home_remove(home, record->id, &ignored);
    }
    return status;
}

/* What an engine keeps of it. A spec that cannot be read any more names none: a container of it is
 * found by its labels. */
static int remove_container(const struct home *home, const char *id, struct hutch_error *err)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = NULL;
    if (home_parse_spec(home, &spec, &ignored) < 0)
        return 0;
    const char *backend = hutch_spec_backend(spec);
    int status = strcmp(backend, "native") != 0 ? porter_remove(backend, id, err) : 0;
    hutch_spec_free(spec);
    return status;
}

/* A keeper that fails removes what it was to keep. One that was killed, or never began, leaves that
 * to us: the lock that it was given is ours as well. */
static void discard(struct home *home, const char *id, bool has_layer)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    bool is_there = home_is_there(home);
    if (is_there)
        (void)!remove_container(home, id, &ignored); /* or the sweep does */
    /* a layer that we brought may have come after a keeper that failed */
    if ((is_there || has_layer) && pool_remove_id(id) == 0 && is_there)
        (void)!home_remove(home, id, &ignored);
}

/* With its home made: a keeper for it if there is to be one, and a handle. */
static int bring_up(struct home *home, const struct home_record *record,
                    const struct hutch_spec *spec, struct recruit *recruit,
                    struct hutch_sandbox **ret_sandbox, struct hutch_error *err)
{
    int status = 0;
    if (recruit) {
        status = recruit_employ(recruit, home, record, spec, err);
        if (status < 0)
            discard(home, record->id, recruit->has_layer);
    }
    if (status == 0)
        status = reopen(home, err);
    *ret_sandbox = status == 0 ? handle_of(home, record->id) : NULL;
    if (status == 0 && !*ret_sandbox)
        status = hutch_fail_nomem(err);
    return status;
}

static int make_and_bring_up(struct hutch_spec *spec, const char *layer_of, bool starts,
                             struct home_record *record, struct hutch_sandbox **ret_sandbox,
                             struct hutch_error *err)
{
    struct home home = HOME_INIT;
    struct recruit recruit = RECRUIT_INIT;
    int status = starts ? recruit_start(&recruit, err) : 0;
    if (status == 0)
        status = make(spec, layer_of, &home, record, err);
    if (status == 0)
        status = bring_up(&home, record, spec, starts ? &recruit : NULL, ret_sandbox, err);
    recruit_dismiss(&recruit);
    home_close(&home);
    return status;
}

/* An engine with images of its own keeps containers, too. */
static bool files_outlive_keeper(const struct hutch_spec *spec, hutch_promise_set missing)
{
    return hutch_backend_has_own_images(spec) ||
           (identity_is_privileged() && layer_wants_pool(spec) &&
            !(missing & HUTCH_PROMISE_BIT(DISK)));
}

int lifecycle_create(struct hutch_spec *spec, hutch_promise_set missing,
                     struct hutch_sandbox **ret_sandbox, struct hutch_error *err)
{
    struct home_record record = {.state = HOME_STARTING,
                                 .created_us = wall_clock_us(),
                                 .missing = missing,
                                 .on_disk = files_outlive_keeper(spec, missing)};
    return make_and_bring_up(spec, NULL, true, &record, ret_sandbox, err);
}

int lifecycle_derive(struct hutch_spec *spec, const struct home_record *origin, bool starts,
                     struct hutch_sandbox **ret_sandbox, struct hutch_error *err)
{
    uint64_t now = wall_clock_us();
    struct home_record record = {.state = starts ? HOME_STARTING : HOME_STOPPED,
                                 .created_us = now,
                                 .started_us = starts ? 0 : now,
                                 .ended_us = starts ? 0 : now,
                                 .missing = origin->missing,
                                 .on_disk = true,
                                 .has_layer = true};
    (void)snprintf(record.reason, sizeof(record.reason), "%s", starts ? "" : "snapshot");
    return make_and_bring_up(spec, origin->id, starts, &record, ret_sandbox, err);
}

int lifecycle_open(const char *name, struct hutch_sandbox **ret_sandbox, struct hutch_error *err)
{
    struct home home = HOME_INIT;
    char id[33];
    if (home_open(&home, name, err) < 0)
        return -(int)err->code;
    if (!home_read_id(&home, id))
        id[0] = '\0'; /* it can still be removed */
    *ret_sandbox = handle_of(&home, id);
    home_close(&home);
    return *ret_sandbox ? 0 : hutch_fail_nomem(err);
}

/* ---- its ways -------------------------------------------------------------------------------- */

/* Its keeper has its files in memory and waits for this. */
static int ask_start(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    wire_begin(&request, "start");
    int status = sandbox_ask(sandbox, &request, &answer, err);
    hutch_buf_done(&request.text);
    hutch_fd_close(&sandbox->socket);
    if (status == 0)
        wire_done(&answer);
    return status;
}

int lifecycle_start(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    struct home_record record;
    hutch_fd_close(&sandbox->socket);
    if (home_read(&sandbox->home, &record, err) < 0)
        return -(int)err->code;
    if (record.state < HOME_STOPPED)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "sandbox '%s' is %s already",
                          sandbox->home.name, home_state_name(record.state));
    if (!strcmp(record.reason, "never_ready"))
        return hutch_fail(err, HUTCH_E_CONFLICT, 0,
                          "sandbox '%s' was never ready: whoever made it was killed; 'hutch rm %s' "
                          "removes it",
                          sandbox->home.name, sandbox->home.name);
    if (!record.on_disk && home_is_held(&sandbox->home))
        return ask_start(sandbox, err);
    if (!record.on_disk)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0,
                          "sandbox '%s' cannot be started again: its files were in memory; "
                          "'hutch rm %s' removes it",
                          sandbox->home.name, sandbox->home.name);
    if (home_hold(&sandbox->home, err) < 0)
        return -(int)err->code;
    struct hutch_spec *spec = NULL; /* a damaged one is no reason to begin */
    int status = sandbox_spec(sandbox, &spec, err);
    hutch_spec_free(spec);
    record.has_layer = true;
    struct recruit recruit = RECRUIT_INIT;
    if (status == 0)
        status = recruit_start(&recruit, err);
    if (status == 0)
        status = recruit_employ(&recruit, &sandbox->home, &record, NULL, err);
    recruit_dismiss(&recruit);
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    int opened = reopen(&sandbox->home, status < 0 ? &ignored : err);
    return status < 0 ? status : opened;
}

static void describe_stop(struct wire_message *request, const char *reason, uint64_t grace_ms,
                          bool removes)
{
    wire_begin(request, "stop");
    wire_add(request, "reason", reason);
    wire_add_number(request, "grace_ms", grace_ms);
    wire_add_number(request, "remove", removes);
}

/* Gone is what it was to be. */
static int judge_end(struct hutch_sandbox *sandbox, int status)
{
    hutch_fd_close(&sandbox->socket);
    return status == -HUTCH_E_UNAVAILABLE && !home_is_held(&sandbox->home) ? 0 : status;
}

static int ask_stop(struct hutch_sandbox *sandbox, const char *reason, uint64_t grace_ms,
                    bool removes, struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    describe_stop(&request, reason, grace_ms, removes);
    int status = sandbox_ask(sandbox, &request, &answer, err);
    hutch_buf_done(&request.text);
    if (status == 0)
        wire_done(&answer);
    return judge_end(sandbox, status);
}

int lifecycle_stop(struct hutch_sandbox *sandbox, const char *reason, uint64_t grace_ms,
                   struct hutch_error *err)
{
    return ask_stop(sandbox, reason, grace_ms, false, err);
}

/* Without a keeper: whoever holds the lock may. */
static int remove_stopped(struct hutch_sandbox *sandbox, bool force, struct hutch_error *err)
{
    if (home_hold(&sandbox->home, err) < 0)
        return -(int)err->code;
    char id[33];
    /* by force also where the engine is away: its container is swept when it is back */
    if (sandbox->id[0] && remove_container(&sandbox->home, sandbox->id, err) < 0 && !force)
        return hutch_wrap(err, "remove the container of sandbox '%s': ", sandbox->home.name);
    if (sandbox->id[0] && pool_remove_id(sandbox->id) < 0)
        return hutch_fail_errno(err, errno, "remove the files of sandbox '%s'", sandbox->home.name);
    if (keeper_make_id(id, err) < 0)
        return -(int)err->code;
    return home_remove(&sandbox->home, sandbox->id[0] ? sandbox->id : id, err);
}

/* A keeper that does not answer (stopped, stuck) cannot be asked to end. With it goes all it keeps.
 */
static void end_if_silent(const struct hutch_sandbox *sandbox)
{
    struct pollfd answer = {sandbox->socket, POLLIN, 0};
    struct ucred keeper;
    socklen_t length = sizeof(keeper);
    if (poll(&answer, 1, PATIENCE_MS) == 0 &&
        getsockopt(sandbox->socket, SOL_SOCKET, SO_PEERCRED, &keeper, &length) == 0)
        (void)kill(keeper.pid, SIGKILL);
}

/* Two questions at once, each with its answer: one at once, the other when all is gone. */
static int ask_twice(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    struct wire_message ping = WIRE_MESSAGE_INIT, stop = WIRE_MESSAGE_INIT, answer;
    wire_begin(&ping, "ping");
    describe_stop(&stop, "killed", 0, true);
    int status = wire_send(sandbox->socket, &ping, err);
    if (status == 0)
        status = wire_send(sandbox->socket, &stop, err);
    if (status == 0)
        end_if_silent(sandbox);
    for (int i = 0; i < 2 && status == 0; i++) {
        status = wire_receive(sandbox->socket, &answer, err);
        if (status < 0)
            break;
        status = wire_check(&answer, err);
        wire_done(&answer);
    }
    hutch_buf_done(&ping.text);
    hutch_buf_done(&stop.text);
    return status;
}

/* On a connection of its own: no answer is owed there. */
static int remove_running(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    hutch_fd_close(&sandbox->socket);
    int status = sandbox_connect(sandbox, true, err);
    return status < 0 ? status : judge_end(sandbox, ask_twice(sandbox, err));
}

static int remove_now(struct hutch_sandbox *sandbox, bool force, struct hutch_error *err)
{
    struct home_record record = {.state = HOME_STOPPED};
    struct hutch_error damaged = HUTCH_ERROR_INIT;
    if (home_read(&sandbox->home, &record, &damaged) < 0)
        record.state = home_is_held(&sandbox->home) ? HOME_RUNNING : HOME_STOPPED;
    if (record.state >= HOME_STOPPED && home_is_held(&sandbox->home) && !record.on_disk)
        return ask_stop(sandbox, "killed", 0, true, err);
    if (record.state >= HOME_STOPPED)
        return remove_stopped(sandbox, force, err);
    if (!force)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0,
                          "sandbox '%s' is %s; stop it first, or remove it with 'hutch rm -f %s'",
                          sandbox->home.name, home_state_name(record.state), sandbox->home.name);
    int status = remove_running(sandbox, err);
    if (status == 0 && home_is_there(&sandbox->home)) /* its keeper was killed on the way */
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "sandbox '%s' is still there; try again",
                          sandbox->home.name);
    return status;
}

/* By force also while others start, stop or sweep it: they are done in a moment. */
int lifecycle_remove(struct hutch_sandbox *sandbox, bool force, struct hutch_error *err)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    int status = remove_now(sandbox, force, err);
    for (int i = 0; i < REMOVE_TRIES && force && status < 0; i++) {
        if (status != -HUTCH_E_CONFLICT && status != -HUTCH_E_UNAVAILABLE)
            break;
        (void)nanosleep(&pause, NULL);
        status = remove_now(sandbox, force, err);
    }
    return status;
}
