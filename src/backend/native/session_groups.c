/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of single commands.
 *
 * To make and to remove them takes longer than all else about a short command. So those of one that
 * has ended are kept for the next, if that cannot tell them from new ones: nobody is in them, not
 * even as a zombie, they never held more than one process, refused none and were not told to. Where
 * the last command's could not be kept, the next one's are made while this one starts. One set
 * waits at most, and not for long: a thousand idle sandboxes are to cost no groups but their own.
 */
#include <stdio.h>

#include "backend/native/warden.h"
#include "util/own.h"

#define SPARE_US 5000000

static void close_entrances(struct entrances *entrances)
{
    for (size_t i = 0; i < entrances->count; i++)
        hutch_fd_close(&entrances->fds[i]);
    entrances->count = 0;
}

static int make(struct warden *warden, const char *id, struct cgroup *cgroup,
                struct entrances *entrances, struct hutch_error *err)
{
    char name[40];
    (void)snprintf(name, sizeof(name), "exec-%.16s", id);
    if (cgroup_make_child(&warden->keeper->cgroup, name, cgroup, err) < 0)
        return -(int)err->code;
    return cgroup_open_entrances(cgroup, entrances->fds, &entrances->count, err);
}

int session_enter_groups(struct warden *warden, struct session *session, struct hutch_error *err)
{
    struct spare_groups *spare = &warden->spare;
    if (!spare->cgroup.count)
        return make(warden, session->id, &session->cgroup, &session->entrances, err);
    session->cgroup = spare->cgroup;
    session->entrances = spare->entrances;
    session->cpu_us_before = spare->cpu_us;
    session->had_spare = true;
    *spare = (struct spare_groups){0};
    return 0;
}

static void make_ahead(struct warden *warden)
{
    char id[33];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    warden->spare.since_us = now_us();
    if (keeper_make_id(id, &ignored) < 0 ||
        make(warden, id, &warden->spare.cgroup, &warden->spare.entrances, &ignored) < 0)
        spare_groups_drop(warden);
}

void session_is_in_groups(struct warden *warden, struct session *session)
{
    if (!session->had_spare)
        close_entrances(&session->entrances);
    if (warden->makes_ahead && !warden->spare.cgroup.count)
        make_ahead(warden);
}

static bool are_as_new(struct session *session)
{
    uint64_t now, peak, refused;
    return !session->was_struck && cgroup_watch(&session->cgroup, CGROUP_PIDS_PEAK, &peak) &&
           peak <= 1 && cgroup_watch(&session->cgroup, CGROUP_PIDS_NOW, &now) && !now &&
           cgroup_watch(&session->cgroup, CGROUP_PIDS_REFUSED, &refused) && !refused;
}

static bool keep(struct warden *warden, struct session *session)
{
    struct spare_groups spare = {.since_us = now_us()};
    struct entrances *entrances = &session->entrances;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (warden->spare.cgroup.count || warden->is_stopping ||
        !cgroup_watch(&session->cgroup, CGROUP_CPU_US, &spare.cpu_us))
        return false;
    if (!entrances->count &&
        cgroup_open_entrances(&session->cgroup, entrances->fds, &entrances->count, &ignored) < 0)
        return false;
    spare.cgroup = session->cgroup;
    spare.entrances = session->entrances;
    session->cgroup = (struct cgroup){0};
    session->entrances.count = 0;
    warden->spare = spare;
    return true;
}

bool session_leave_groups(struct warden *warden, struct session *session)
{
    bool as_new = are_as_new(session);
    warden->makes_ahead = session->cgroup.count && !as_new;
    if (as_new && keep(warden, session))
        return true;
    close_entrances(&session->entrances);
    return cgroup_try_remove(&session->cgroup);
}

void spare_groups_drop(struct warden *warden)
{
    close_entrances(&warden->spare.entrances);
    (void)cgroup_try_remove(&warden->spare.cgroup);
    warden->spare = (struct spare_groups){0};
}

uint64_t spare_groups_look(struct warden *warden, uint64_t now)
{
    uint64_t end = warden->spare.since_us + SPARE_US;
    if (!warden->spare.cgroup.count)
        return WARDEN_NEVER;
    if (now < end)
        return end;
    spare_groups_drop(warden);
    return WARDEN_NEVER;
}
