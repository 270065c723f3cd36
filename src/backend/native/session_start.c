/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a command in a sandbox that stays: what it gets, where its output goes, and the order to
 * PID 1. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/copy_half.h"
#include "backend/native/environment.h"
#include "backend/native/exec_logs.h"
#include "backend/native/ledger.h"
#include "backend/native/programs.h"
#include "backend/native/warden.h"
#include "copy/copy_image.h"
#include "util/fs.h"
#include "util/own.h"

static int open_log(struct warden *warden, struct session *session, const char *place,
                    struct hutch_error *err)
{
    session->is_recorded = true;
    if (mkdirat(warden->home.dir, place, 0700) < 0 && errno != EEXIST)
        return hutch_fail_errno(err, errno, "make a log in sandbox '%s'", warden->home.name);
    session->directory =
        openat(warden->home.dir, place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (session->directory < 0)
        return hutch_fail_errno(err, errno, "open the log of sandbox '%s'", warden->home.name);
    (void)unlinkat(session->directory, "result", 0); /* of the command's run before a start */
    if (log_take_up(session->directory, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < 2 && keeper_redacts(warden->keeper); i++)
        if (redactor_open(&session->redactors[i], &warden->keeper->secrets, err) < 0)
            return -(int)err->code;
    return log_writer_open(session->directory, warden->spec->limits.log_bytes, &session->log, err);
}

static int make_log(struct warden *warden, struct session *session, struct hutch_error *err)
{
    char place[32];
    exec_logs_make_room(warden);
    (void)snprintf(place, sizeof(place), "exec/%s", session->id);
    if (mkdirat(warden->home.dir, "exec", 0700) < 0 && errno != EEXIST)
        return hutch_fail_errno(err, errno, "make a log in sandbox '%s'", warden->home.name);
    return open_log(warden, session, place, err);
}

/* A recorded command writes into pipes that end here. */
static int make_recorded_stdio(struct session *session, struct wire_message *request, int *fds,
                               struct hutch_error *err)
{
    if (session_make_input(session, request, &fds[0], err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < 2; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
            return hutch_fail_errno(err, errno, "make a pipe");
        session->pipes[i] = ends[0];
        fds[i + 1] = ends[1];
        (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

/* Its own groups, and the order to PID 1. */
static int launch(struct warden *warden, struct session *session, struct spawn_order *order,
                  struct hutch_error *err)
{
    int status = session_enter_groups(warden, session, err);
    order->group_count = session->entrances.count;
    memcpy(order->groups, session->entrances.fds, sizeof(order->groups));
    session->oom_kills_before =
        warden->keeper->engine->counter(warden->keeper, CGROUP_OOM_KILLS, false);
    session->is_guarded = !order->group_count;
    order->session = session->number;
    order->command = &session->command;
    if (status == 0)
        status = keeper_spawn(warden->keeper, order, err);
    session_is_in_groups(warden, session);
    if (status < 0)
        (void)session_leave_groups(warden, session);
    return status;
}

static int add_words(struct hutch_strlist *list, const struct wire_message *request,
                     const char *key, struct hutch_error *err)
{
    const char *word = NULL;
    while ((word = wire_next(request, key, word)))
        if (hutch_strlist_add(list, word, err) < 0)
            return -(int)err->code;
    return 0;
}

/* The sandbox's environment, with what the request adds or replaces. */
static int build_environment(const struct warden *warden, const struct wire_message *request,
                             const struct identity *identity, struct hutch_strlist *environment,
                             struct hutch_error *err)
{
    bool terminal = wire_number(request, "terminal", 0);
    if (environment_build(environment, warden->spec, warden->keeper->image, identity, terminal,
                          err) < 0)
        return -(int)err->code;
    const char *pair = NULL;
    while ((pair = wire_next(request, "env", pair))) {
        size_t key = strcspn(pair, "=") + 1;
        size_t at = 0;
        while (at < environment->count && strncmp(environment->items[at], pair, key) != 0)
            at++;
        if (at == environment->count) {
            if (hutch_strlist_add(environment, pair, err) < 0)
                return -(int)err->code;
            continue;
        }
        char *copy = strdup(pair);
        if (!copy)
            return hutch_fail_nomem(err);
        free(environment->items[at]);
        environment->items[at] = copy;
    }
    return 0;
}

static int resolve_user(const struct warden *warden, const char *user,
                        struct identity *ret_identity, struct hutch_error *err)
{
    *ret_identity = warden->keeper->identity;
    return user ? warden->keeper->engine->resolve_user(warden->keeper, user, ret_identity, err) : 0;
}

static int fill_order(struct warden *warden, struct wire_message *request, struct session *session,
                      struct spawn_order *order, struct hutch_strlist *environment,
                      struct hutch_error *err)
{
    struct identity identity;
    const char *workdir = wire_get(request, "workdir");
    if (add_words(&session->command, request, "arg", err) < 0 ||
        resolve_user(warden, wire_get(request, "user"), &identity, err) < 0 ||
        build_environment(warden, request, &identity, environment, err) < 0)
        return -(int)err->code;
    if (!session->command.count)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "there is no command to run");
    if (!workdir)
        workdir = keeper_workdir(warden->keeper);
    (void)snprintf(session->workdir, sizeof(session->workdir), "%s", workdir);
    order->workdir = workdir;
    order->environment = environment;
    order->secrets = &warden->keeper->secrets;
    order->uid = identity.uid;
    order->gid = identity.gid;
    order->terminal = wire_number(request, "terminal", 0);
    order->size.ws_row = (unsigned short)wire_number(request, "rows", 24);
    order->size.ws_col = (unsigned short)wire_number(request, "columns", 80);
    session->timeout_ms = wire_number(request, "timeout_ms", 0);
    session_set_deadline(session, session->asked_us + SESSION_START_GRACE_US);
    return 0;
}

static int prepare(struct warden *warden, struct wire_message *request, struct session *session,
                   struct spawn_order *order, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist environment = {0};
    int status = fill_order(warden, request, session, order, &environment, err);
    if (status == 0 && wire_number(request, "record", 0)) {
        status = make_log(warden, session, err);
        session->has_terminal = order->terminal;
        if (status == 0 && !order->terminal)
            status = make_recorded_stdio(session, request, order->fds, err);
        if (status == 0)
            session_record_start(warden, session);
    } else if (status == 0 && !order->terminal) {
        for (size_t i = 0; i < 3; i++)
            order->fds[i] = wire_take_fd(request, i);
        if (order->fds[2] < 0)
            status = hutch_fail(err, HUTCH_E_INVALID, 0,
                                "a command needs its three standard descriptors");
    }
    if (status == 0)
        status = ledger_begin_exec(warden, session, err);
    if (status == 0)
        status = launch(warden, session, order, err);
    order->environment = NULL; /* it goes with this function */
    return status;
}

int session_start(struct warden *warden, struct wire_message *request, struct client *client,
                  struct hutch_error *err)
{
    struct spawn_order order = {.fds = {HUTCH_NO_FD, HUTCH_NO_FD, HUTCH_NO_FD}};
    struct session *session = session_new(warden, err);
    if (!session)
        return -(int)err->code;
    session->client = client;
    int status = prepare(warden, request, session, &order, err);
    for (size_t i = 0; i < 3; i++)
        hutch_fd_close(&order.fds[i]);
    if (status < 0)
        ledger_fail_exec(warden, session, err);
    if (status < 0)
        session_free(session);
    else
        session_add(warden, session);
    return status;
}

/* Descriptors: where the archive comes from or goes to, and where hutch-copy reports. */
static int fill_copy(struct warden *warden, struct wire_message *request, struct session *session,
                     struct spawn_order *order, struct hutch_error *err)
{
    const struct identity *identity = &warden->keeper->identity;
    const char *mode = wire_get(request, "mode");
    bool single = identity->map == IDENTITY_SINGLE;
    bool sends = mode && copy_mode_sends(mode);
    const char *const words[] = {"hutch-copy",
                                 mode,
                                 wire_get(request, "path"),
                                 wire_get(request, "name"),
                                 single ? "own" : "keep",
                                 wire_get(request, "map")};
    for (size_t i = 0; i < HUTCH_COUNT(words); i++)
        if (hutch_strlist_add(&session->command, words[i] ? words[i] : "", err) < 0)
            return -(int)err->code;
    order->workdir = "/";
    order->uid = single ? identity->uid : 0;
    order->gid = single ? identity->gid : 0;
    order->fds[sends ? 1 : 0] = wire_take_fd(request, 0);
    order->fds[sends ? 0 : 1] = open("/dev/null", O_RDWR | O_CLOEXEC);
    order->fds[2] = wire_take_fd(request, 1);
    if (!mode || order->fds[0] < 0 || order->fds[1] < 0 || order->fds[2] < 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "a copy needs a mode and two descriptors");
    order->program = program_memfd("hutch-copy", hutch_copy_image, sizeof(hutch_copy_image), err);
    if (order->program < 0)
        return order->program;
    /* what may not be read is not dumpable from its first instruction on: nobody inside opens its
     * descriptors by way of /proc */
    if (fchmod(order->program, 0111) < 0)
        return hutch_fail_errno(err, errno, "protect hutch-copy");
    return 0;
}

int session_start_copy(struct warden *warden, struct wire_message *request, struct client *client,
                       struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist environment = {0};
    struct spawn_order order = {.fds = {HUTCH_NO_FD, HUTCH_NO_FD, HUTCH_NO_FD},
                                .environment = &environment};
    struct session *session = session_new(warden, err);
    if (!session)
        return -(int)err->code;
    session->client = client;
    int status = fill_copy(warden, request, session, &order, err);
    if (status == 0)
        status = launch(warden, session, &order, err);
    for (size_t i = 0; i < 3; i++)
        hutch_fd_close(&order.fds[i]);
    if (order.program > 0)
        (void)close(order.program);
    if (status < 0)
        session_free(session);
    else
        session_add(warden, session);
    return status;
}

/* The sandbox's own command: recorded, without a deadline of its own unless one was asked for. */
int session_start_main(struct warden *warden, struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT;
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist environment = {0};
    struct spawn_order order = {.fds = {HUTCH_NO_FD, HUTCH_NO_FD, HUTCH_NO_FD}};
    struct session *session = session_new(warden, err);
    if (!session)
        return -(int)err->code;
    session->is_main = true;
    wire_begin(&request, "exec");
    const struct hutch_strlist *command = keeper_command(warden->keeper);
    for (size_t i = 0; i < command->count; i++)
        wire_add(&request, "arg", command->items[i]);
    if (hutch_spec_is_set(warden->spec, "limits.timeout"))
        wire_add_number(&request, "timeout_ms", warden->spec->limits.timeout_ms);
    int status = fill_order(warden, &request, session, &order, &environment, err);
    if (status == 0)
        status = open_log(warden, session, "log", err);
    if (status == 0)
        status = make_recorded_stdio(session, &request, order.fds, err);
    if (status == 0)
        status = launch(warden, session, &order, err);
    for (size_t i = 0; i < 3; i++)
        hutch_fd_close(&order.fds[i]);
    wire_done(&request);
    if (status < 0)
        session_free(session);
    else
        session_add(warden, session);
    return status;
}
