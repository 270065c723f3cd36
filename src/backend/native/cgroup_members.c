/* SPDX-License-Identifier: Apache-2.0 */
/* Who is in a group, the groups of single commands, and how groups and their members go. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/native/cgroup.h"
#include "util/fs.h"
#include "util/own.h"

#define BUSY_YIELDS 3

/* Groups of commands are one level below. */
static void remove_children(int parent, const char *name)
{
    int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *group = dir < 0 ? NULL : fdopendir(dir);
    struct dirent *entry;
    if (!group) {
        hutch_fd_close(&dir);
        return;
    }
    while ((entry = readdir(group)))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            (void)unlinkat(dirfd(group), entry->d_name, AT_REMOVEDIR);
    (void)closedir(group);
}

/* A group stays busy until its last member, reaped or not, has left its processor: at once if that
 * is let run, later where others hold it. */
static int remove_group(int parent, const char *name)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int tries = 0; tries < BUSY_YIELDS + 1000; tries++) {
        if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (errno != EBUSY)
            return -1;
        if (tries < BUSY_YIELDS) {
            (void)sched_yield();
            continue;
        }
        remove_children(parent, name);
        (void)nanosleep(&pause, NULL);
    }
    return -1;
}

static int remove_made(const struct cgroup_group *group)
{
    return group->parent >= 0 ? remove_group(group->parent, strrchr(group->path, '/') + 1)
                              : remove_group(AT_FDCWD, group->path);
}

int cgroup_destroy(struct cgroup *cg)
{
    int status = 0;
    cgroup_watch_none(cg);
    for (size_t i = 0; i < cg->count; i++) {
        if (cg->groups[i].made && remove_made(&cg->groups[i]) < 0)
            status = -1;
        hutch_fd_close(&cg->groups[i].dir);
        hutch_fd_close(&cg->groups[i].parent);
    }
    cg->count = 0;
    return status;
}

/* Members of a group that is open as a directory. Returns how many there were. */
static size_t signal_members(int dir, int number)
{
    char line[64];
    size_t count = 0;
    int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    FILE *members = fd < 0 ? NULL : fdopen(fd, "r");
    if (!members) {
        hutch_fd_close(&fd);
        return 0;
    }
    while (fgets(line, sizeof(line), members)) {
        long pid = strtol(line, NULL, 10);
        if (pid > 1)
            (void)kill((pid_t)pid, number);
        count++;
    }
    (void)fclose(members);
    return count;
}

static void kill_below(const char *path)
{
    DIR *group = opendir(path);
    struct dirent *entry;
    if (!group)
        return;
    (void)signal_members(dirfd(group), SIGKILL);
    while ((entry = readdir(group))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        hutch_autofd int child =
            openat(dirfd(group), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (child >= 0)
            (void)signal_members(child, SIGKILL);
    }
    (void)closedir(group);
}

/* A record is believed no further than this: a group that cgroup_name() could have named. */
static bool is_group_path(const char *path)
{
    static const char top[] = "/sys/fs/cgroup/";
    static const char prefix[] = "hutch-";
    const char *name = strrchr(path, '/');
    return !strncmp(path, top, sizeof(top) - 1) && !strstr(path, "/../") &&
           !strncmp(name + 1, prefix, sizeof(prefix) - 1);
}

int cgroup_remove_path(const char *path)
{
    if (!is_group_path(path)) {
        errno = EINVAL;
        return -1;
    }
    char state[540];
    if (rmdir(path) == 0 || errno == ENOENT)
        return 0;
    kill_below(path);
    /* on v1 what is frozen does not die */
    (void)snprintf(state, sizeof(state), "%.500s/freezer.state", path);
    (void)hutch_write_at(AT_FDCWD, state, "THAWED");
    return remove_group(AT_FDCWD, path);
}

int cgroup_make_child(const struct cgroup *parent, const char *name, struct cgroup *ret_child,
                      struct hutch_error *err)
{
    const unsigned counting = 1u << CGROUP_PIDS | 1u << CGROUP_CORE;
    *ret_child = (struct cgroup){0};
    for (size_t i = 0; i < parent->count; i++) {
        const struct cgroup_group *above = &parent->groups[i];
        if (above->version == 1 && !(above->controllers & counting))
            continue;
        struct cgroup_group *group = &ret_child->groups[ret_child->count++];
        *group = (struct cgroup_group){.parent = HUTCH_NO_FD,
                                       .dir = HUTCH_NO_FD,
                                       .version = above->version,
                                       .controllers = above->controllers & counting};
        (void)snprintf(group->path, sizeof(group->path), "%.440s/%s", above->path, name);
        group->made = mkdirat(above->dir, name, 0755) == 0;
        if (group->made)
            group->dir = openat(above->dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (group->dir < 0) {
            (void)hutch_fail_errno(err, errno, "make cgroup '%s'", group->path);
            (void)cgroup_try_remove(ret_child);
            return -(int)err->code;
        }
    }
    return 0;
}

int cgroup_open_entrances(const struct cgroup *cg, int *fds, size_t *ret_count,
                          struct hutch_error *err)
{
    *ret_count = 0;
    for (size_t i = 0; i < cg->count; i++) {
        const char *name = cg->groups[i].version == 1 ? "tasks" : "cgroup.procs";
        int fd = openat(cg->groups[i].dir, name, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
            return hutch_fail_errno(err, errno, "open '%s/%s'", cg->groups[i].path, name);
        fds[(*ret_count)++] = fd;
    }
    return 0;
}

/* Every group has the same members: one is enough to find them, and the one that counts processes
 * can keep them from becoming more. */
bool cgroup_kill_members(const struct cgroup *cg)
{
    if (!cg->count)
        return true;
    for (size_t i = 0; i < cg->count; i++) {
        const struct cgroup_group *group = &cg->groups[i];
        if (group->version == 2 && hutch_write_at(group->dir, "cgroup.kill", "1") == 0)
            return signal_members(group->dir, SIGKILL) == 0;
        if (group->controllers & 1u << CGROUP_PIDS)
            (void)hutch_write_at(group->dir, "pids.max", "0");
    }
    return signal_members(cg->groups[0].dir, SIGKILL) == 0;
}

void cgroup_continue_members(const struct cgroup *cg)
{
    if (cg->count)
        (void)signal_members(cg->groups[0].dir, SIGCONT);
}

static int list_group(int dir, pid_t **pids, size_t *count)
{
    char line[64];
    int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    FILE *members = fd < 0 ? NULL : fdopen(fd, "r");
    if (!members) {
        hutch_fd_close(&fd);
        return -1;
    }
    int status = 0;
    while (status == 0 && fgets(line, sizeof(line), members)) {
        pid_t *more = reallocarray(*pids, *count + 1, sizeof(**pids));
        status = more ? 0 : -1;
        if (more) {
            *pids = more;
            more[(*count)++] = (pid_t)strtol(line, NULL, 10);
        }
    }
    (void)fclose(members);
    return status;
}

/* The group that counts processes holds PID 1, its children hold the commands. */
int cgroup_list(const struct cgroup *cg, pid_t **ret_pids, size_t *ret_count)
{
    const struct cgroup_group *group = NULL;
    *ret_pids = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < cg->count && !group; i++)
        if (cg->groups[i].controllers & (1u << CGROUP_PIDS | 1u << CGROUP_CORE))
            group = &cg->groups[i];
    if (!group)
        return 0;
    int fd = openat(group->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        hutch_fd_close(&fd);
        return -1;
    }
    int status = list_group(dirfd(directory), ret_pids, ret_count);
    struct dirent *entry;
    while (status == 0 && (entry = readdir(directory))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        hutch_autofd int child =
            openat(dirfd(directory), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (child >= 0)
            status = list_group(child, ret_pids, ret_count);
    }
    (void)closedir(directory);
    return status;
}

bool cgroup_try_remove(struct cgroup *cg)
{
    bool gone = true;
    cgroup_watch_none(cg);
    for (size_t i = 0; i < cg->count; i++) {
        struct cgroup_group *group = &cg->groups[i];
        if (group->made && rmdir(group->path) < 0 && errno != ENOENT) {
            gone = false;
            continue;
        }
        group->made = false;
        hutch_fd_close(&group->dir);
    }
    if (gone)
        cg->count = 0;
    return gone;
}
