/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/native/cgroup.h"
#include "backend/native/home.h"
#include "backend/native/pool.h"
#include "backend/native/programs.h"
#include "backend/native/state.h"
#include "core/spec.h"
#include "store/audit.h"
#include "util/own.h"
#include "util/state_dir.h"

#define SWEEP_PAUSE_SECONDS 60

struct sweep {
    bool dry_run;
    hutch_gc_fn on_item;
    void *userdata;
};

static const struct {
    const char *kind;
    int (*remove)(const char *path);
} removers[] = {{"cgroup", cgroup_remove_path}, {"pool", pool_remove_path}};

static int sweep_line(void *userdata, const char *kind, const char *path)
{
    const struct sweep *sweep = userdata;
    if (sweep->on_item)
        sweep->on_item(sweep->userdata, kind, path);
    if (sweep->dry_run)
        return 0;
    for (size_t i = 0; i < HUTCH_COUNT(removers); i++)
        if (!strcmp(kind, removers[i].kind))
            return removers[i].remove(path);
    return 0;
}

/* Homes that were never finished or are half gone, and whoever did that is too. */
static int sweep_leftovers(struct sweep *sweep, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
    if (home_names(&names, true, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < names.count; i++) {
        struct home home = HOME_INIT;
        struct hutch_error ignored = HUTCH_ERROR_INIT;
        if (home_open_leftover(&home, names.items[i], &ignored) < 0)
            continue;
        if (home.lock < 0 || home_hold(&home, &ignored) == 0) {
            if (sweep->on_item)
                sweep->on_item(sweep->userdata, "sandbox", names.items[i]);
            if (!sweep->dry_run)
                (void)!home_remove(&home, "", &ignored);
        }
        home_close(&home);
    }
    return 0;
}

static bool is_expired(const struct home *home, const struct home_record *record)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    hutch_autofree char *text = NULL;
    size_t length = 0;
    struct hutch_spec *spec = NULL;
    bool expired = false;
    if (record->state == HOME_DEAD)
        return true; /* its files went with its keeper */
    if (home_read_spec(home, &text, &length, &ignored) < 0 || hutch_spec_new(&spec, &ignored) < 0)
        return false;
    if (hutch_spec_parse(spec, text, length, HUTCH_FORMAT_JSON, &ignored) == 0 && spec->ttl_ms)
        expired = (uint64_t)time(NULL) > record->created_us / 1000000 + spec->ttl_ms / 1000;
    hutch_spec_free(spec);
    return expired;
}

static void put_expired(struct hutch_json_out *out, const void *userdata)
{
    const struct home *home = userdata;
    char id[33];
    if (home_read_id(home, id))
        hutch_json_string(out, "id", id);
    hutch_json_string(out, "name", home->name);
    hutch_json_string(out, "reason", "expired");
}

/* What cannot be noted is not removed. */
static void remove_expired(struct home *home, const char *id)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (audit_write("remove", put_expired, home, &ignored) == 0 && pool_remove_id(id) == 0)
        (void)!home_remove(home, id, &ignored);
}

/* Sandboxes without a keeper whose time is over; with one, that sees to it. The ids of all others
 * are added to the kept; some may be too damaged to tell theirs. */
static int sweep_homes(struct sweep *sweep, struct hutch_strlist *kept, bool *ret_some_unknown,
                       struct hutch_error *err)
{
    char id[33];
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
    if (home_names(&names, false, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < names.count; i++) {
        struct home home = HOME_INIT;
        struct home_record record;
        struct hutch_error ignored = HUTCH_ERROR_INIT;
        if (home_open(&home, names.items[i], &ignored) < 0)
            continue;
        bool readable = home_read(&home, &record, &ignored) == 0;
        if (readable && record.state >= HOME_STOPPED && is_expired(&home, &record) &&
            home_hold(&home, &ignored) == 0) {
            if (sweep->on_item)
                sweep->on_item(sweep->userdata, "sandbox", names.items[i]);
            if (!sweep->dry_run)
                remove_expired(&home, record.id);
        } else if (!home_read_id(&home, id)) {
            *ret_some_unknown = true;
        } else if (hutch_strlist_add(kept, id, err) < 0) {
            home_close(&home);
            return -(int)err->code;
        }
        home_close(&home);
    }
    return 0;
}

/* Leases do not survive a reboot, directories of the pool do. Listed before the homes and the
 * leases are read: either is written before its directory is made, so what none of them names then
 * has no keeper and no owner. */
static int sweep_forgotten(struct sweep *sweep, const struct hutch_strlist *paths,
                           const struct hutch_strlist *kept, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist lines = {0};
    if (lease_lines(&lines, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < paths->count; i++) {
        char line[600];
        (void)snprintf(line, sizeof(line), "pool %s", paths->items[i]);
        if (!hutch_strlist_has(&lines, line) &&
            !hutch_strlist_has(kept, strrchr(paths->items[i], '/') + 1))
            (void)sweep_line(sweep, "pool", paths->items[i]);
    }
    return 0;
}

int sweep_all(bool dry_run, hutch_gc_fn on_item, void *userdata, struct hutch_error *err)
{
    struct sweep sweep = {dry_run, on_item, userdata};
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist paths = {0};
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist kept = {0};
    bool privileged = geteuid() == 0;
    bool some_unknown = false;
    if ((!dry_run && audit_end_the_dead(err) < 0) ||
        lease_sweep(dry_run, sweep_line, &sweep, err) < 0 ||
        (privileged && pool_list(&paths, err) < 0) || sweep_leftovers(&sweep, err) < 0 ||
        sweep_homes(&sweep, &kept, &some_unknown, err) < 0)
        return -(int)err->code;
    if (!privileged)
        return 0;
    /* files that seem forgotten may be those of a sandbox which cannot tell its id any more */
    if (!some_unknown && sweep_forgotten(&sweep, &paths, &kept, err) < 0)
        return -(int)err->code;
    if (pool_release(dry_run) == 1 && on_item)
        on_item(userdata, "mount", "quota pool");
    if (pool_remove_half(dry_run) == 1 && on_item)
        on_item(userdata, "file", "pool.new");
    if (program_remove_old(dry_run) && on_item)
        on_item(userdata, "file", "programs of other versions");
    return 0;
}

void sweep_sometimes(void)
{
    char directory[400];
    char stamp[420];
    struct stat info;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct sweep sweep = {0};
    if (geteuid() != 0 || state_directory("run", directory, sizeof(directory), &ignored) < 0)
        return;
    (void)snprintf(stamp, sizeof(stamp), "%s/swept", directory);
    if (stat(stamp, &info) == 0 && time(NULL) - info.st_mtime < SWEEP_PAUSE_SECONDS)
        return;
    hutch_autofd int fd = open(stamp, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || futimens(fd, NULL) < 0)
        return;
    (void)lease_sweep(false, sweep_line, &sweep, &ignored);
}
