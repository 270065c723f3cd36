/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of a sandbox that stays. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/environment.h"
#include "backend/native/exec_logs.h"
#include "backend/native/ledger.h"
#include "backend/native/warden.h"
#include "copy/copy_image.h"
#include "core/isolation.h"
#include "secrets/share.h"
#include "util/fs.h"
#include "util/own.h"

#define KILL_PAUSE_US 2000      /* between two looks at members that have been killed */
#define GUARD_PAUSE_US 20000    /* the same, where PID 1 has to look for them */
#define LINGER_PAUSE_US 1000000 /* between two looks at what a command left running */
#define START_PATIENCE_US 20000 /* a command is started in far less */
#define START_PAUSE_US 5000     /* between two attempts to hasten its start */
#define SETTLE_US 100000        /* of a terminal that something else still has open */
#define EXIT_TIMEOUT 124

void session_free(struct session *session)
{
    hutch_strlist_done(&session->command);
    hutch_fd_close(&session->pipes[0]);
    hutch_fd_close(&session->pipes[1]);
    hutch_fd_close(&session->input);
    redactor_done(&session->redactors[0]);
    redactor_done(&session->redactors[1]);
    log_writer_close(session->log);
    hutch_fd_close(&session->directory);
    free(session);
}

struct session *session_new(struct warden *warden, struct hutch_error *err)
{
    char id[33] = "";
    struct session *session = calloc(1, sizeof(*session));
    if (!session) {
        (void)hutch_fail_nomem(err);
        return NULL;
    }
    session->pipes[0] = session->pipes[1] = session->directory = session->input = HUTCH_NO_FD;
    session->deadline_us = WARDEN_NEVER;
    session->asked_us = now_us();
    if (keeper_make_id(id, err) < 0) {
        session_free(session);
        return NULL;
    }
    memcpy(session->id, id, 16);
    session->number = ++warden->last_number;
    return session;
}

void session_set_deadline(struct session *session, uint64_t from_us)
{
    uint64_t most_ms = (WARDEN_NEVER - from_us) / 1000;
    bool has_end = session->timeout_ms && session->timeout_ms < most_ms;
    session->deadline_us = has_end ? from_us + session->timeout_ms * 1000 : WARDEN_NEVER;
}

void session_add(struct warden *warden, struct session *session)
{
    session->next = warden->sessions;
    warden->sessions = session;
}

/* What may be the beginning of a value waits for what follows. */
static void record(struct session *session, size_t which, const char *data, size_t length)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct redactor *redactor = &session->redactors[which];
    hutch_cleanup(hutch_buf_done) struct hutch_buf out = HUTCH_BUF(REDACT_MAX_BYTES);
    while (redactor->set) {
        size_t part = length < REDACT_CHUNK_BYTES ? length : REDACT_CHUNK_BYTES;
        redactor_feed(redactor, data, part, !part, &out);
        if (out.length && !out.failed)
            (void)!log_append(session->log, which ? LOG_STDERR : LOG_STDOUT, out.data, out.length,
                              &ignored);
        hutch_buf_done(&out);
        data += part;
        length -= part;
        if (!length)
            return;
    }
    if (length)
        (void)!log_append(session->log, which ? LOG_STDERR : LOG_STDOUT, data, length, &ignored);
}

static void session_forget(struct warden *warden, struct session *session)
{
    struct session **link = &warden->sessions;
    while (*link != session)
        link = &(*link)->next;
    *link = session->next;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    for (size_t i = 0; i < 2 && session->held_pipes && session->log; i++)
        record(session, i, "", 0); /* nobody is left who could say more */
    if (session->held_pipes && session->log)
        (void)!log_writer_end(session->log, &ignored);
    if (session->log && !session->is_main)
        exec_logs_ended(warden, log_writer_offset(session->log));
    session_free(session);
}

struct session *session_find(const struct warden *warden, uint32_t number)
{
    struct session *session = warden->sessions;
    while (session && session->number != number)
        session = session->next;
    return session;
}

struct session *session_by_id(const struct warden *warden, const char *id, struct hutch_error *err)
{
    for (struct session *session = warden->sessions; session; session = session->next)
        if (id && !strcmp(session->id, id))
            return session;
    (void)hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                     "sandbox '%s' runs no command '%.40s'; 'hutch ps %s' lists those it runs",
                     warden->home.name, id ? id : "", warden->home.name);
    return NULL;
}

/* ---- what PID 1 reports ---------------------------------------------------------------------- */

/* To a client that takes them out of what the command writes. Without them it passes nothing on. */
static int share_values(const struct warden *warden, const struct session *session,
                        struct wire_message *answer)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (session->is_recorded || !session->client || !keeper_redacts(warden->keeper))
        return HUTCH_NO_FD;
    int values = secret_set_share(&warden->keeper->secrets, &ignored);
    if (values >= 0)
        wire_add_fd(answer, values);
    return values;
}

void session_started(struct warden *warden, struct session *session, uint64_t time_us, int terminal)
{
    struct wire_message answer = WIRE_MESSAGE_INIT;
    session->phase = SESSION_RUNNING;
    session->started_us = time_us;
    if (!session->is_dying)
        session_set_deadline(session, time_us);
    wire_begin(&answer, "started");
    wire_add(&answer, "id", session->id);
    wire_add_number(&answer, "output_bytes", warden->spec->limits.output_bytes);
    if (terminal >= 0 && session->is_recorded) {
        (void)fcntl(terminal, F_SETFL, O_NONBLOCK);
        session->pipes[0] = terminal;
    } else if (terminal >= 0) {
        wire_add_fd(&answer, terminal);
    }
    hutch_autofd int values = share_values(warden, session, &answer);
    (void)values; /* open until it is sent */
    if (session->client)
        client_answer(session->client, &answer);
    hutch_buf_done(&answer.text);
    if (terminal >= 0 && !session->is_recorded)
        (void)close(terminal);
    if (session->client && session->is_recorded)
        session->client = NULL; /* it asks again if it wants to hear of the end */
}

void session_failed(struct warden *warden, struct session *session,
                    const struct init_message *report)
{
    struct wire_message answer = WIRE_MESSAGE_INIT;
    struct hutch_error failure = HUTCH_ERROR_INIT, ignored = HUTCH_ERROR_INIT;
    keeper_explain(warden->keeper, report, session->command.items[0], session->workdir, &failure);
    wire_fail(&answer, &failure);
    ledger_fail_exec(warden, session, &failure);
    if (session->client)
        client_answer(session->client, &answer);
    else if (session->is_main)
        warden_fail_command(warden, &failure);
    hutch_buf_done(&answer.text);
    if (session->log)
        (void)!log_writer_end(session->log, &ignored); /* nobody waits for more */
    (void)session_leave_groups(warden, session);
    session_forget(warden, session);
}

/* What the sandbox's limits have counted. Nobody asks after a success: its end is not kept waiting.
 */
static void look_at_limits(struct warden *warden, struct session *session)
{
    struct keeper *keeper = warden->keeper;
    uint64_t oom_kills = keeper->engine->counter(keeper, CGROUP_OOM_KILLS, true);
    if (oom_kills > session->oom_kills_before)
        session->oom_kills = oom_kills - session->oom_kills_before;
    keeper->disk_seen_bytes = 0; /* of this look alone */
    keeper->disk_full = false;
    disk_look(keeper);
    session->disk_bytes = keeper->disk_seen_bytes;
}

static enum hutch_reason reason_of(struct warden *warden, struct session *session)
{
    const struct engine_ops *engine = warden->keeper->engine;
    if (session->was_killed)
        return session->ended_by;
    if (session->status == 0)
        return HUTCH_REASON_EXITED;
    look_at_limits(warden, session);
    if (WIFSIGNALED(session->status) && WTERMSIG(session->status) == SIGKILL && session->oom_kills)
        return HUTCH_REASON_OOM;
    if (warden->keeper->disk_full)
        return HUTCH_REASON_DISK_LIMIT;
    if (engine->counter(warden->keeper, CGROUP_PIDS_REFUSED, true) ||
        cgroup_counter(&session->cgroup, CGROUP_PIDS_REFUSED))
        return HUTCH_REASON_PIDS_LIMIT;
    return WIFSIGNALED(session->status) ? HUTCH_REASON_SIGNALED : HUTCH_REASON_EXITED;
}

static void add_usage(struct warden *warden, struct session *session, struct wire_message *message)
{
    uint64_t cpu_us = 0, pids_peak = 0;
    (void)cgroup_watch(&session->cgroup, CGROUP_CPU_US, &cpu_us);
    (void)cgroup_watch(&session->cgroup, CGROUP_PIDS_PEAK, &pids_peak);
    wire_add_number(message, "cpu_us",
                    cpu_us > session->cpu_us_before ? cpu_us - session->cpu_us_before : 0);
    wire_add_number(message, "pids_peak", pids_peak);
    wire_add_number(message, "memory_peak_bytes",
                    warden->keeper->engine->counter(warden->keeper, CGROUP_MEMORY_PEAK, false));
    if (session->oom_kills)
        wire_add_number(message, "oom_kills", session->oom_kills);
    if (session->disk_bytes)
        wire_add_number(message, "disk_peak_bytes", session->disk_bytes);
}

void session_describe_end(struct warden *warden, struct session *session,
                          struct wire_message *message)
{
    enum hutch_reason reason = session->reason;
    bool by_signal = WIFSIGNALED(session->status);
    int code = by_signal ? 128 + WTERMSIG(session->status) : WEXITSTATUS(session->status);
    if (reason == HUTCH_REASON_TIMEOUT || reason == HUTCH_REASON_IDLE_TIMEOUT)
        code = EXIT_TIMEOUT;
    wire_begin(message, "exited");
    wire_add(message, "id", session->id);
    wire_add(message, "reason", hutch_reason_name(reason));
    wire_add_number(message, "exit_code", (uint64_t)code);
    wire_add_number(message, "signal", by_signal ? (uint64_t)WTERMSIG(session->status) : 0);
    wire_add_number(message, "duration_us", session->ended_us - session->started_us);
    add_usage(warden, session, message);
    wire_add_number(message, "held_pipes", session->held_pipes);
    wire_add_number(message, "on_disk", warden->record.on_disk);
    wire_add_number(message, "missing", warden->record.missing);
    if (warden->keeper->engine != &native_engine) { /* which is what clients assume */
        wire_add(message, "backend", hutch_spec_backend(warden->spec));
        wire_add(message, "level", hutch_spec_level(warden->spec));
    }
    if (session->log)
        wire_add_number(message, "log_bytes", log_writer_offset(session->log));
}

/* How a recorded command ended outlives the keeper: its log says what, this says how. */
static void record_end(const struct session *session, const struct wire_message *message)
{
    hutch_autofd int fd = openat(session->directory, "result.new",
                                 O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && hutch_write_all(fd, message->text.data, message->text.length) == 0)
        (void)renameat(session->directory, "result.new", session->directory, "result");
}

/* Everything it wrote before its end is in the pipes. */
static void drain(struct warden *warden, struct session *session)
{
    for (size_t i = 0; i < 2; i++)
        session_read(warden, session, i);
    session->held_pipes = session->pipes[0] >= 0 || session->pipes[1] >= 0;
    if (!session->held_pipes && session->log) {
        struct hutch_error ignored = HUTCH_ERROR_INIT;
        (void)!log_writer_end(session->log, &ignored);
    }
}

static void conclude(struct warden *warden, struct session *session)
{
    struct wire_message message = WIRE_MESSAGE_INIT;
    session->phase = SESSION_ENDED;
    warden->idle_since_us = session->ended_us;
    hutch_fd_close(&session->input);
    if (session->is_recorded)
        drain(warden, session);
    session->reason = reason_of(warden, session); /* for all who ask: limits count on */
    session_describe_end(warden, session, &message);
    ledger_end_exec(warden, session, &message);
    if (session->is_recorded)
        record_end(session, &message);
    for (struct client *client = warden->clients; client; client = client->next) {
        if (client == session->client || client->awaited == session->number)
            client_answer(client, &message);
        if (client->awaited == session->number)
            client->awaited = 0;
    }
    session->client = NULL;
    hutch_buf_done(&message.text);
    if (!session->is_dying)
        session->deadline_us = WARDEN_NEVER;
}

/* What was written to a terminal comes out of it a little later, and its end after that. */
static bool has_settled(struct warden *warden, struct session *session, uint64_t now)
{
    if (session->has_terminal)
        session_read(warden, session, 0);
    return !session->has_terminal || session->pipes[0] < 0 ||
           (session->settle_us && now >= session->settle_us);
}

void session_exited(struct warden *warden, struct session *session, int status)
{
    session->status = status;
    session->ended_us = now_us();
    if (has_settled(warden, session, session->ended_us)) {
        conclude(warden, session);
        return;
    }
    session->settle_us = session->ended_us + SETTLE_US;
    session->deadline_us = WARDEN_NEVER;
}

void session_read(struct warden *warden, struct session *session, size_t which)
{
    char *chunk = warden->keeper->chunk;
    for (int turns = 0; turns < 64 && session->pipes[which] >= 0; turns++) {
        ssize_t got = read(session->pipes[which], chunk, SINK_CHUNK);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            hutch_fd_close(&session->pipes[which]);
            record(session, which, "", 0);
            return;
        }
        warden->idle_since_us = now_us();
        record(session, which, chunk, (size_t)got);
        if (session->phase != SESSION_ENDED && (size_t)got < SINK_CHUNK / 4)
            return; /* let others have their turn */
    }
}

/* ---- ending ---------------------------------------------------------------------------------- */

void session_kill(struct session *session, enum hutch_reason reason)
{
    if (!session->was_killed && session->phase != SESSION_ENDED) {
        session->was_killed = true;
        session->ended_by = reason;
    }
    session->is_dying = session->was_struck = true;
    session->deadline_us = 0;
}

/* True when none was left. */
static bool kill_members(struct warden *warden, struct session *session, uint64_t now)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (!session->is_guarded)
        return cgroup_kill_members(&session->cgroup);
    if (!session->is_gone && now >= session->kill_again_us) {
        session->kill_again_us = now + GUARD_PAUSE_US;
        (void)!keeper_kill_session(warden->keeper, session->number, &ignored);
    }
    return session->is_gone;
}

/* True while something of it is left. */
static bool is_alive(struct warden *warden, struct session *session, uint64_t now)
{
    if (session->phase != SESSION_ENDED && session->deadline_us <= now && !session->is_dying)
        session_kill(session, HUTCH_REASON_TIMEOUT);
    /* one that is only being started may have no member yet, but will have */
    if (session->is_dying && kill_members(warden, session, now) &&
        session->phase != SESSION_STARTING) {
        session->is_dying = false;
        session->deadline_us = WARDEN_NEVER;
    }
    if (session->phase != SESSION_ENDED || session->is_dying || session->client)
        return true;
    if (session->is_guarded ? !session->is_gone : !session_leave_groups(warden, session))
        return true;
    for (size_t i = 0; i < 2; i++)
        session_read(warden, session, i);
    return false;
}

/* PID 1 starts one command after the other and waits until each has executed its program. Until
 * then others of the command's user can stop it, and PID 1 would wait for good. When to look again.
 */
static uint64_t hasten_start(const struct warden *warden, const struct session *first, uint64_t now)
{
    if (!first)
        return WARDEN_NEVER;
    if (now < first->asked_us + START_PATIENCE_US)
        return first->asked_us + START_PATIENCE_US;
    cgroup_continue_members(&warden->keeper->cgroup); /* where it is before it enters its own */
    cgroup_continue_members(&first->cgroup);
    return now + START_PAUSE_US;
}

uint64_t sessions_look(struct warden *warden)
{
    uint64_t now = now_us();
    uint64_t next = spare_groups_look(warden, now);
    bool dying = false;
    const struct session *first_starting = NULL;
    for (struct session *session = warden->sessions, *after; session; session = after) {
        after = session->next;
        if (session->settle_us && session->phase == SESSION_RUNNING) {
            if (has_settled(warden, session, now))
                conclude(warden, session);
            else if (session->settle_us < next)
                next = session->settle_us;
        }
        if (!is_alive(warden, session, now)) {
            session_forget(warden, session);
            continue;
        }
        dying |= session->is_dying;
        if (session->phase == SESSION_STARTING && warden->record.state != HOME_PAUSED)
            first_starting = session; /* the oldest is the last in the list */
        /* on v1 what is frozen does not die before it is resumed */
        bool dies_now = session->is_dying && warden->record.state != HOME_PAUSED;
        uint64_t look = dies_now ? now + KILL_PAUSE_US
                        : session->is_dying || session->phase == SESSION_ENDED
                            ? now + LINGER_PAUSE_US
                            : session->deadline_us;
        if (look < next)
            next = look;
    }
    uint64_t hasten = hasten_start(warden, first_starting, now);
    next = hasten < next ? hasten : next;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (dying && !warden->cpu_is_lifted)
        cgroup_lift_cpu_limit(&warden->keeper->cgroup);
    else if (!dying && warden->cpu_is_lifted)
        (void)!cgroup_set_limits(&warden->keeper->cgroup, &warden->spec->limits, &ignored);
    warden->cpu_is_lifted = dying;
    return next;
}

/* The keeper may live on: whoever waits has to hear of it. */
static void tell_never_started(const struct warden *warden, const struct session *session)
{
    struct wire_message answer = WIRE_MESSAGE_INIT;
    struct hutch_error failure = HUTCH_ERROR_INIT;
    (void)hutch_fail(&failure, HUTCH_E_CONFLICT, 0,
                     "sandbox '%s' was stopped before the command began", warden->home.name);
    wire_fail(&answer, &failure);
    if (session->client)
        client_answer(session->client, &answer);
    hutch_buf_done(&answer.text);
}

void sessions_free(struct warden *warden)
{
    while (warden->sessions) {
        struct session *session = warden->sessions;
        if (session->phase == SESSION_STARTING)
            tell_never_started(warden, session);
        if (session->phase == SESSION_RUNNING && session->settle_us) {
            conclude(warden, session);
        } else if (session->phase == SESSION_RUNNING) { /* the sandbox ended with it */
            if (!session->was_killed) {
                session->was_killed = true;
                session->ended_by = HUTCH_REASON_CANCELLED;
            }
            session_exited(warden, session, SIGKILL);
            if (session->phase == SESSION_RUNNING)
                conclude(warden, session); /* nobody is left who could say more */
        }
        (void)session_leave_groups(warden, session);
        session_forget(warden, session);
    }
    spare_groups_drop(warden);
}
