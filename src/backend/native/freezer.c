/* SPDX-License-Identifier: Apache-2.0 */
/* Pausing: on v2 the sandbox's own group can be frozen. On v1 that is a hierarchy of its own, and a
 * group there is made only when somebody pauses: it is frozen first, then every process is moved
 * into it, until none is left outside. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/native/warden.h"
#include "util/fs.h"
#include "util/own.h"

#define ROUNDS 200           /* of moving whoever was forked meanwhile */
#define FREEZING_MS_MAX 2000 /* the keeper serves nobody else until then */

static int fail(const struct warden *warden, const char *what, struct hutch_error *err)
{
    if (errno == EBUSY)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, errno,
                          "%s sandbox '%s': a process in it waits for the disk, or others are "
                          "started faster than they can be stopped; it goes on, try again",
                          what, warden->home.name);
    return hutch_fail_errno(err, errno, "%s sandbox '%s'", what, warden->home.name);
}

static const struct cgroup_group *v2_group(const struct warden *warden)
{
    const struct cgroup *cgroup = &warden->keeper->cgroup;
    for (size_t i = 0; i < cgroup->count; i++)
        if (cgroup->groups[i].version == 2)
            return &cgroup->groups[i];
    return NULL;
}

/* Is it in the freezer's group already? In the other hierarchies it is in one of the same name. */
static bool is_inside(pid_t pid, const char *group)
{
    char path[64], text[4096], own[512];
    (void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    return hutch_read_at(AT_FDCWD, path, text, sizeof(text)) > 0 &&
           cgroup_own_path(text, "freezer", own, sizeof(own)) &&
           !strcmp(strrchr(own, '/'), strrchr(group, '/'));
}

static int move_all(const struct warden *warden)
{
    char members[540];
    (void)snprintf(members, sizeof(members), "%s/cgroup.procs", warden->frozen);
    for (int round = 0; round < ROUNDS; round++) {
        pid_t *pids = NULL;
        size_t count = 0, moved = 0;
        if (cgroup_list(&warden->keeper->cgroup, &pids, &count) < 0)
            return -1;
        for (size_t i = 0; i < count; i++) {
            char number[16];
            if (pids[i] == warden->keeper->pid || /* it only listens to us */
                is_inside(pids[i], warden->frozen))
                continue;
            (void)snprintf(number, sizeof(number), "%d", (int)pids[i]);
            moved += hutch_write_at(AT_FDCWD, members, number) == 0;
        }
        free(pids);
        if (!moved)
            return 0;
    }
    errno = EBUSY;
    return -1;
}

/* A process in the middle of a fork or of a wait for the disk freezes a moment later. */
static int await_state(const char *group, const char *state)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    char path[540], now[32];
    (void)snprintf(path, sizeof(path), "%s/freezer.state", group);
    for (int i = 0; i < FREEZING_MS_MAX; i++) {
        if (hutch_read_at(AT_FDCWD, path, now, sizeof(now)) < 0)
            return -1;
        if (!strncmp(now, state, strlen(state)))
            return 0;
        (void)nanosleep(&pause, NULL);
    }
    errno = EBUSY;
    return -1;
}

static int set_state(const char *group, const char *state)
{
    char path[540];
    (void)snprintf(path, sizeof(path), "%s/freezer.state", group);
    return hutch_write_at(AT_FDCWD, path, state);
}

int freezer_freeze(struct warden *warden, struct hutch_error *err)
{
    const struct cgroup_group *group = v2_group(warden);
    if (group)
        return hutch_write_at(group->dir, "cgroup.freeze", "1") < 0 ? fail(warden, "pause", err)
                                                                    : 0;
    if (!warden->keeper->freezer[0])
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "sandbox '%s' cannot be paused: it has no cgroup that can be frozen; "
                          "'hutch doctor' says how to get one",
                          warden->home.name);
    (void)snprintf(warden->frozen, sizeof(warden->frozen), "%s", warden->keeper->freezer);
    if ((mkdir(warden->frozen, 0755) < 0 && errno != EEXIST) ||
        set_state(warden->frozen, "FROZEN") < 0 || move_all(warden) < 0 ||
        await_state(warden->frozen, "FROZEN") < 0) {
        (void)fail(warden, "pause", err);
        struct hutch_error ignored = HUTCH_ERROR_INIT;
        (void)!freezer_thaw(warden, &ignored);
        return -(int)err->code;
    }
    return 0;
}

int freezer_thaw(struct warden *warden, struct hutch_error *err)
{
    const struct cgroup_group *group = v2_group(warden);
    if (group)
        return hutch_write_at(group->dir, "cgroup.freeze", "0") < 0 ? fail(warden, "resume", err)
                                                                    : 0;
    if (warden->frozen[0] && set_state(warden->frozen, "THAWED") < 0 && errno != ENOENT)
        return fail(warden, "resume", err);
    return 0;
}
