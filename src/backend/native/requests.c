/* SPDX-License-Identifier: Apache-2.0 */
/* What a client may ask of a keeper: one row each. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/native/warden.h"
#include "core/field.h"
#include "util/own.h"

#define DEFAULT_GRACE_MS 10000
#define COMMAND_BYTES 128u /* about as much of a command line is told */

/* Whoever does not read is not waited for. */
void client_answer(struct client *client, const struct wire_message *message)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (client->socket >= 0 && wire_send(client->socket, message, &ignored) < 0)
        hutch_fd_close(&client->socket);
}

void client_answer_ok(struct client *client)
{
    struct wire_message message = WIRE_MESSAGE_INIT;
    wire_begin(&message, "ok");
    client_answer(client, &message);
    hutch_buf_done(&message.text);
}

/* What it had attached ends with it. */
void client_drop(struct warden *warden, struct client *client)
{
    for (struct session *session = warden->sessions; session; session = session->next) {
        if (session->client != client)
            continue;
        session->client = NULL;
        if (!session->is_recorded)
            session_kill(session, HUTCH_REASON_CANCELLED);
    }
    hutch_fd_close(&client->socket);
}

static int check_awake(const struct warden *warden, struct hutch_error *err)
{
    if (warden->is_stopping)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "sandbox '%s' is being stopped",
                          warden->home.name);
    if (warden->record.state == HOME_PAUSED)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0,
                          "sandbox '%s' is paused; 'hutch resume %s' lets it go on",
                          warden->home.name, warden->home.name);
    return 0;
}

/* What a command writes goes straight to its client: where values are to be taken out of it, the
 * client has to stand between. */
static void answer_relay(struct client *client)
{
    struct wire_message message = WIRE_MESSAGE_INIT;
    wire_begin(&message, "relay");
    client_answer(client, &message);
    hutch_buf_done(&message.text);
}

static int ask_exec(struct warden *warden, struct client *client, struct wire_message *request,
                    struct hutch_error *err)
{
    if (check_awake(warden, err) < 0)
        return -(int)err->code;
    if (keeper_redacts(warden->keeper) && !wire_number(request, "record", 0) &&
        !wire_number(request, "relays", 0)) {
        answer_relay(client);
        return 0;
    }
    return session_start(warden, request, client, err);
}

static int ask_copy(struct warden *warden, struct client *client, struct wire_message *request,
                    struct hutch_error *err)
{
    int status = check_awake(warden, err);
    return status < 0 ? status : session_start_copy(warden, request, client, err);
}

static int ask_wait(struct warden *warden, struct client *client, struct wire_message *request,
                    struct hutch_error *err)
{
    struct session *session = session_by_id(warden, wire_get(request, "id"), err);
    if (!session)
        return -(int)err->code;
    if (session->phase == SESSION_ENDED) {
        struct wire_message message = WIRE_MESSAGE_INIT;
        session_describe_end(warden, session, &message);
        client_answer(client, &message);
        hutch_buf_done(&message.text);
        return 0;
    }
    client->awaited = session->number;
    return 0;
}

static int ask_signal(struct warden *warden, struct client *client, struct wire_message *request,
                      struct hutch_error *err)
{
    uint64_t number = wire_number(request, "signal", SIGKILL);
    struct session *session = session_by_id(warden, wire_get(request, "id"), err);
    if (!session)
        return -(int)err->code;
    if (number == SIGKILL)
        session_kill(session, HUTCH_REASON_SIGNALED);
    else if (keeper_signal(warden->keeper, session->number, (int)number, err) < 0)
        return -(int)err->code;
    if (!wire_number(request, "quiet", 0))
        client_answer_ok(client);
    return 0;
}

static int ask_pause(struct warden *warden, struct client *client, struct wire_message *request,
                     struct hutch_error *err)
{
    (void)request;
    if (warden->record.state == HOME_PAUSED)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "sandbox '%s' is paused already",
                          warden->home.name);
    if (warden->creator >= 0) /* PID 1 would never say that it is ready */
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "sandbox '%s' is being started, try again",
                          warden->home.name);
    if (warden->keeper->engine->freeze(warden, err) < 0)
        return -(int)err->code;
    warden->record.state = HOME_PAUSED;
    if (home_write(&warden->home, &warden->record, err) < 0)
        return -(int)err->code;
    client_answer_ok(client);
    return 0;
}

/* Paused as long as this client is there, however it goes. */
static int ask_hold(struct warden *warden, struct client *client, struct wire_message *request,
                    struct hutch_error *err)
{
    client->holds = true;
    int status = ask_pause(warden, client, request, err);
    if (status < 0)
        client->holds = false;
    return status;
}

static int resume(struct warden *warden, struct hutch_error *err)
{
    if (warden->keeper->engine->thaw(warden, err) < 0)
        return -(int)err->code;
    warden->record.state = HOME_RUNNING;
    return home_write(&warden->home, &warden->record, err);
}

void client_let_go(struct warden *warden, struct client *client)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (client->holds && warden->record.state == HOME_PAUSED && !warden->is_ending)
        (void)!resume(warden, &ignored);
    client->holds = false;
}

static int ask_resume(struct warden *warden, struct client *client, struct wire_message *request,
                      struct hutch_error *err)
{
    (void)request;
    if (warden->record.state != HOME_PAUSED)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "sandbox '%s' is not paused",
                          warden->home.name);
    if (resume(warden, err) < 0)
        return -(int)err->code;
    client_answer_ok(client);
    return 0;
}

/* The answer comes when it has ended. */
static int ask_stop(struct warden *warden, struct client *client, struct wire_message *request,
                    struct hutch_error *err)
{
    const char *reason = wire_get(request, "reason");
    bool removes = wire_number(request, "remove", 0);
    if (warden->is_resting && !removes)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "sandbox '%s' is stopped already",
                          warden->home.name);
    client->waits_for_end = true;
    warden->is_removing |= removes;
    if (warden->is_resting) {
        warden->is_ending = true;
        return 0;
    }
    warden_stop(warden, reason && !strcmp(reason, "killed") ? "killed" : "stopped",
                wire_number(request, "grace_ms", DEFAULT_GRACE_MS));
    return 0;
}

/* The beginning of its command line. */
static void describe_command(const struct session *session, struct hutch_buf *text)
{
    for (size_t i = 0; i < session->command.count && text->length < COMMAND_BYTES; i++) {
        const char *word = session->command.items[i];
        hutch_buf_puts(text, i ? " " : "");
        hutch_buf_append(text, word, strnlen(word, COMMAND_BYTES - 1));
    }
    hutch_buf_append(text, "", 1);
}

/* What nobody counts or limits on this host is left out. */
static void add_figures(const struct warden *warden, struct wire_message *answer,
                        const struct engine_stats *stats)
{
    const struct hutch_usage *usage = &stats->usage;
    const struct hutch_spec *spec = warden->spec;
    hutch_promise_set missing = (hutch_promise_set)warden->record.missing;
    const struct {
        const char *key;
        uint64_t value;
        bool is_known;
    } rows[] = {
        {"cpu_us", usage->cpu_us, stats->has_cpu},
        {"memory_bytes", stats->now.memory_bytes, stats->has_memory},
        {"memory_peak_bytes", usage->memory_peak_bytes, usage->has_memory_peak},
        {"pids", stats->now.pids, stats->has_pids},
        {"pids_peak", usage->pids_peak, usage->has_pids_peak},
        {"cpus_limit_milli", spec->limits.cpus_milli, !(missing & HUTCH_PROMISE_BIT(CPUS))},
        {"memory_limit_bytes", spec->limits.memory_bytes, !(missing & HUTCH_PROMISE_BIT(MEMORY))},
        {"pids_limit", spec->limits.pids, !(missing & HUTCH_PROMISE_BIT(PIDS))},
        {"disk_limit_bytes", hutch_spec_disk_bytes(spec), !(missing & HUTCH_PROMISE_BIT(DISK))},
    };
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++)
        if (rows[i].is_known)
            wire_add_number(answer, rows[i].key, rows[i].value);
}

static int ask_stats(struct warden *warden, struct client *client, struct wire_message *request,
                     struct hutch_error *err)
{
    struct wire_message answer = WIRE_MESSAGE_INIT;
    struct keeper *keeper = warden->keeper;
    struct engine_stats stats;
    size_t running = 0;
    struct hutch_buf busy = HUTCH_BUF((size_t)COMMAND_BYTES * 2);
    (void)request, (void)err;
    keeper->engine->read_stats(keeper, &stats);
    for (struct session *session = warden->sessions; session; session = session->next) {
        running += session->phase == SESSION_RUNNING;
        if (session->phase == SESSION_RUNNING && !busy.length)
            describe_command(session, &busy);
    }
    wire_begin(&answer, "stats");
    wire_add_number(&answer, "time_us", now_us());
    add_figures(warden, &answer, &stats);
    wire_add_number(&answer, "disk_bytes", stats.disk_bytes);
    wire_add_number(&answer, "oom_kills", stats.events.oom_kills);
    wire_add_number(&answer, "running", running);
    wire_add(&answer, "command", busy.failed ? NULL : busy.data);
    client_answer(client, &answer);
    hutch_buf_done(&busy);
    hutch_buf_done(&answer.text);
    return 0;
}

static int ask_sessions(struct warden *warden, struct client *client, struct wire_message *request,
                        struct hutch_error *err)
{
    struct wire_message answer = WIRE_MESSAGE_INIT;
    uint64_t now = now_us();
    (void)request, (void)err;
    wire_begin(&answer, "sessions");
    for (struct session *session = warden->sessions; session; session = session->next) {
        uint64_t end = session->phase == SESSION_ENDED ? session->ended_us : now;
        wire_add(&answer, "session", session->id);
        wire_add(&answer, "phase",
                 session->phase == SESSION_ENDED     ? "ended"
                 : session->phase == SESSION_RUNNING ? "running"
                                                     : "starting");
        wire_add_number(&answer, "main", session->is_main);
        wire_add_number(&answer, "recorded", session->is_recorded);
        wire_add_number(&answer, "age_us", session->started_us ? end - session->started_us : 0);
        for (size_t i = 0; i < session->command.count; i++)
            wire_add(&answer, "arg", session->command.items[i]);
    }
    client_answer(client, &answer);
    hutch_buf_done(&answer.text);
    return 0;
}

static int ask_processes(struct warden *warden, struct client *client, struct wire_message *request,
                         struct hutch_error *err)
{
    struct wire_message answer = WIRE_MESSAGE_INIT;
    pid_t *pids = NULL;
    size_t count = 0;
    (void)request;
    if (cgroup_list(&warden->keeper->cgroup, &pids, &count) < 0) {
        free(pids);
        return hutch_fail_errno(err, errno, "list the processes of sandbox '%s'",
                                warden->home.name);
    }
    wire_begin(&answer, "processes");
    for (size_t i = 0; i < count; i++)
        if (pids[i] != warden->keeper->pid)
            wire_add_number(&answer, "pid", (uint64_t)pids[i]);
    free(pids);
    client_answer(client, &answer);
    hutch_buf_done(&answer.text);
    return 0;
}

/* For whoever may talk to us at all: a layer in memory has no other way in. */
static int ask_layer(struct warden *warden, struct client *client, struct wire_message *request,
                     struct hutch_error *err)
{
    struct wire_message answer = WIRE_MESSAGE_INIT;
    (void)request;
    int layer = warden->is_resting ? warden->layer : warden->keeper->writable;
    if (layer < 0)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "sandbox '%s' has no files yet",
                          warden->home.name);
    wire_begin(&answer, "layer");
    wire_add_fd(&answer, layer);
    client_answer(client, &answer);
    hutch_buf_done(&answer.text);
    return 0;
}

/* Of one that rests. The answer comes when it is ready, as to whoever made it. Once PID 1 has taken
 * the files, a start that fails leaves them to 'hutch diff' only: so a disk too full for its state
 * is found out before. */
static int ask_start(struct warden *warden, struct client *client, struct wire_message *request,
                     struct hutch_error *err)
{
    (void)request;
    if (!warden->is_resting)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "sandbox '%s' is running already",
                          warden->home.name);
    if (home_prepare(&warden->home, &warden->record, false, err) < 0)
        return -(int)err->code;
    warden->creator = HUTCH_TAKE_FD(client->socket);
    warden->is_resting = false;
    warden->reason = NULL;
    warden->failure = (struct hutch_error)HUTCH_ERROR_INIT;
    return 0;
}

static int ask_user(struct warden *warden, struct client *client, struct wire_message *request,
                    struct hutch_error *err)
{
    struct wire_message answer = WIRE_MESSAGE_INIT;
    (void)request, (void)err;
    wire_begin(&answer, "user");
    wire_add_number(&answer, "uid", warden->keeper->identity.uid);
    wire_add_number(&answer, "gid", warden->keeper->identity.gid);
    client_answer(client, &answer);
    hutch_buf_done(&answer.text);
    return 0;
}

static int ask_ping(struct warden *warden, struct client *client, struct wire_message *request,
                    struct hutch_error *err)
{
    (void)warden, (void)request, (void)err;
    client_answer_ok(client);
    return 0;
}

/* Whoever only looks does not keep an idle sandbox from its end. */
static const struct {
    const char *verb;
    int (*answer)(struct warden *, struct client *, struct wire_message *, struct hutch_error *);
    bool only_looks;
    bool while_resting;
} requests[] = {
    {"exec", ask_exec, false, false},          {"copy", ask_copy, false, false},
    {"wait", ask_wait, true, false},           {"signal", ask_signal, false, false},
    {"pause", ask_pause, false, false},        {"resume", ask_resume, false, false},
    {"stop", ask_stop, false, true},           {"start", ask_start, false, true},
    {"stats", ask_stats, true, false},         {"sessions", ask_sessions, true, false},
    {"processes", ask_processes, true, false}, {"update", ask_update, false, false},
    {"layer", ask_layer, true, true},          {"ping", ask_ping, true, true},
    {"hold", ask_hold, false, false},          {"user", ask_user, true, false},
    {"claim", ask_claim, false, false},        {"input", ask_input, false, false},
};

void client_serve(struct warden *warden, struct client *client)
{
    struct wire_message request;
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (wire_receive(client->socket, &request, &err) < 0) {
        client_drop(warden, client);
        return;
    }
    int status = hutch_fail(&err, HUTCH_E_UNSUPPORTED, 0,
                            "the keeper of sandbox '%s' does not know '%.40s'; it may be of an "
                            "older version, stop and start the sandbox",
                            warden->home.name, wire_verb(&request));
    for (size_t i = 0; i < HUTCH_COUNT(requests); i++)
        if (!strcmp(wire_verb(&request), requests[i].verb)) {
            if (!requests[i].only_looks)
                warden->idle_since_us = now_us();
            status = warden->is_resting && !requests[i].while_resting
                         ? hutch_fail(&err, HUTCH_E_CONFLICT, 0,
                                      "sandbox '%s' is not running; 'hutch start %s' starts it",
                                      warden->home.name, warden->home.name)
                         : requests[i].answer(warden, client, &request, &err);
        }
    if (status < 0 && !wire_number(&request, "quiet", 0)) {
        struct wire_message answer = WIRE_MESSAGE_INIT;
        wire_fail(&answer, &err);
        client_answer(client, &answer);
        hutch_buf_done(&answer.text);
    }
    wire_done(&request);
}
