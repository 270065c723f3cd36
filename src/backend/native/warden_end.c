/* SPDX-License-Identifier: Apache-2.0 */
/* How a sandbox that stays ends: for good, or to rest. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/native/ledger.h"
#include "backend/native/programs.h"
#include "backend/native/warden.h"
#include "core/spec.h"
#include "util/own.h"

#define RECORD_PAUSE_US 1000000 /* until it is tried again to write down that it rests */

static void remove_all(struct warden *warden)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (warden->keeper)
        warden->keeper->engine->forget(warden);
    if (home_is_there(&warden->home)) /* the name may be another sandbox's by now */
        (void)!home_remove(&warden->home, warden->record.id, &ignored);
}

static void tell_creator(struct warden *warden)
{
    struct wire_message answer = WIRE_MESSAGE_INIT;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (!warden->failure.code) {
        program_forget(&program_init);
        (void)hutch_fail(&warden->failure, HUTCH_E_SYSTEM, 0,
                         "the sandbox ended before it was ready");
    }
    wire_fail(&answer, &warden->failure);
    (void)!wire_send(warden->creator, &answer, &ignored);
    hutch_buf_done(&answer.text);
    hutch_fd_close(&warden->creator);
}

/* Files in memory would be lost with the keeper: a sandbox that has been used before rests. */
void warden_fail_command(struct warden *warden, const struct hutch_error *failure)
{
    warden->failure = *failure;
    warden->awaits_command = false;
    if (!strcmp(warden->verb, "create") || warden->record.on_disk) {
        warden->is_ending = true;
        return;
    }
    tell_creator(warden);
    warden_stop(warden, "failed", 0);
}

static void tell_waiting(struct warden *warden)
{
    struct wire_message answer = WIRE_MESSAGE_INIT;
    if (warden->lost_artifacts.code)
        wire_fail(&answer, &warden->lost_artifacts);
    else
        wire_begin(&answer, "ok");
    for (struct client *client = warden->clients; client; client = client->next) {
        if (client->waits_for_end)
            client_answer(client, &answer);
        client->waits_for_end = false;
    }
    hutch_buf_done(&answer.text);
}

/* What was left in /artifacts comes out whenever the sandbox ends; what did not, whoever ended it
 * is told. */
static void bring_artifacts(struct warden *warden)
{
    struct hutch_error why = HUTCH_ERROR_INIT;
    const struct hutch_spec *spec = warden->spec;
    if (warden->keeper->artifacts < 0)
        return;
    hutch_autofd int target = artifacts_open(spec, &why);
    if (target < 0 || artifacts_collect(warden->keeper->artifacts, target,
                                        hutch_spec_disk_bytes(spec), spec->limits.inodes, &why) < 0)
        (void)hutch_fail(&warden->lost_artifacts, HUTCH_E_SYSTEM, why.os_errno,
                         "sandbox '%s' has ended, but not all of its artifacts came out: %.300s",
                         warden->home.name, why.msg);
}

/* Every process first, then the groups. */
static void end_inside(struct warden *warden)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (!warden->keeper)
        return;
    (void)!warden->keeper->engine->thaw(warden, &ignored);
    keeper_end(warden->keeper);
    sessions_free(warden);
    bring_artifacts(warden);
    if (warden->frozen[0])
        (void)cgroup_remove_path(warden->frozen);
    warden->frozen[0] = '\0';
}

/* A keeper that rests holds the lock: what is written is all that others know, also where the disk
 * is full. */
static bool write_record(const struct warden *warden)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    return home_write(&warden->home, &warden->record, &ignored) == 0 ||
           home_write_over(&warden->home, &warden->record, &ignored) == 0;
}

static bool record_end(struct warden *warden, enum home_state state)
{
    warden->record.state = state;
    warden->record.ended_us = warden_clock_us();
    (void)snprintf(warden->record.reason, sizeof(warden->record.reason), "%s",
                   warden->reason ? warden->reason : "failed");
    return write_record(warden);
}

/* Files in memory are kept by keeping their mount, and the ids they have: after a stop, and after a
 * start that has failed. */
bool warden_can_rest(const struct warden *warden)
{
    if (warden->is_removing || warden->is_terminated || warden->record.on_disk)
        return false;
    return warden->layer >= 0 ||
           (warden->is_stopping && warden->creator < 0 && warden->keeper->writable >= 0);
}

/* Without a keeper; with the ids they have. */
static void keep_files(struct warden *warden)
{
    struct keeper *keeper = warden->keeper;
    if (keeper->writable >= 0) {
        hutch_fd_close(&warden->layer);
        warden->layer = HUTCH_TAKE_FD(keeper->writable);
    }
    if (keeper->lease.fd >= 0 && cgroup_destroy(&keeper->cgroup) == 0) {
        struct hutch_error ignored = HUTCH_ERROR_INIT;
        warden->lease = keeper->lease;
        keeper->lease.fd = HUTCH_NO_FD;
        (void)!lease_record(&warden->lease, "", &ignored);
    }
    keeper_free(keeper);
    warden->keeper = NULL;
}

/* Returns when it is to be started again (true) or to end. */
bool warden_rest(struct warden *warden)
{
    end_inside(warden);
    ledger_end_life(warden);
    if (warden->keeper)
        keep_files(warden);
    bool is_on_record = record_end(warden, HOME_STOPPED);
    warden->is_resting = true;
    warden->is_stopping = warden->is_ending = warden->awaits_command = false;
    if (warden->creator >= 0)
        tell_creator(warden);
    tell_waiting(warden);
    warden->lost_artifacts.code = HUTCH_OK;
    while (warden->is_resting && !warden->is_ending) {
        size_t count = 0;
        uint64_t next = warden_look_at_life(warden);
        uint64_t again = now_us() + RECORD_PAUSE_US;
        is_on_record = is_on_record || write_record(warden);
        next = !is_on_record && again < next ? again : next;
        warden_free_clients(warden, false);
        if (warden->is_ending || warden_gather(warden, &count) < 0)
            break;
        warden_wait_until(warden, count, next);
    }
    return !warden->is_resting;
}

/* When the last hold on the root of a sandbox on disk goes, the kernel writes out whatever the pool
 * has pending: milliseconds, for files that nobody reads again. With this hold it happens after
 * whoever waits has been told. */
static int hold_root(const struct warden *warden)
{
    char path[32];
    const struct keeper *keeper = warden->keeper;
    if (!keeper || keeper->pid <= 0 || !keeper->pool.kind)
        return HUTCH_NO_FD;
    (void)snprintf(path, sizeof(path), "/proc/%d/root", (int)keeper->pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void close_door(struct warden *warden)
{
    hutch_fd_close(&warden->listener);
    hutch_fd_close(&warden->bound);
    (void)unlinkat(warden->home.dir, "socket", 0);
}

/* The home goes while the processes die: they cannot be saved any more, and the lease tells of
 * their groups. */
static void begin_removal(struct warden *warden)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (warden->keeper) {
        (void)!warden->keeper->engine->thaw(warden, &ignored);
        keeper_kill_all(warden->keeper);
    }
    close_door(warden);
    spare_groups_drop(warden);
    remove_all(warden);
}

/* Then the record, and only then whoever waits hears of it. */
void warden_take_down(struct warden *warden, bool was_new)
{
    bool failed = warden->creator >= 0;
    bool nothing_left = (failed && was_new) || warden->is_removing;
    /* a container is its engine's to remove, and known by this home until it is gone */
    bool at_once = nothing_left && (!warden->keeper || warden->keeper->engine == &native_engine);
    hutch_autofd int root = at_once ? hold_root(warden) : HUTCH_NO_FD;
    (void)root; /* held until what is below it is gone */
    if (nothing_left && warden->keeper)
        warden->keeper->keeps_layer = false;
    if (at_once)
        begin_removal(warden);
    end_inside(warden);
    ledger_end_life(warden);
    /* name, processes and files are gone; groups follow, on record */
    if (at_once && !failed && warden->keeper && pool_destroy(&warden->keeper->pool) == 0)
        tell_waiting(warden);
    if (!at_once)
        close_door(warden);
    if (nothing_left && !at_once)
        remove_all(warden);
    if (warden->keeper)
        keeper_free(warden->keeper);
    lease_release(&warden->lease);
    hutch_fd_close(&warden->layer);
    if (!nothing_left)
        (void)record_end(warden, warden->record.on_disk ? HOME_STOPPED : HOME_DEAD);
    if (failed)
        tell_creator(warden);
    home_close(&warden->home); /* whoever hears of the end may act on it at once */
    tell_waiting(warden);
    warden_free_clients(warden, true);
}
