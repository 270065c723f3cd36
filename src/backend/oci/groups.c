/* SPDX-License-Identifier: Apache-2.0 */
/* The container's control groups. Runtimes make one in every hierarchy that is mounted; those that
 * limit and count are the native ones by name and place. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/oci/oci.h"
#include "util/fs.h"
#include "util/own.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define KILL_TRIES 2000
#define KILL_PAUSE_NS 1000000L

/* PID 1 and the inner end of the tunnel; the native code has counted the first. */
#define OWN_TASKS 2

/* "4:memory:/a/b" is <root>/memory/a/b; the hierarchy without a controller is v2's. */
static bool group_path(char *line, const char *name, char *path, size_t size)
{
    char *controllers = strchr(line, ':');
    char *own = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!own)
        return false;
    *own++ = '\0';
    controllers++;
    if (!strncmp(controllers, "name=", 5))
        controllers += 5;
    if (!*controllers && access(CGROUP_ROOT "/unified", F_OK) < 0)
        return false; /* all of it is v2: the native code has named it */
    return snprintf(path, size, CGROUP_ROOT "/%s%s/%s", *controllers ? controllers : "unified",
                    strcmp(own, "/") != 0 ? own : "", name) < (int)size;
}

static void each_group(const char *name, void (*fn)(void *userdata, const char *path),
                       void *userdata)
{
    char text[4096];
    char path[512];
    char *rest = NULL;
    if (hutch_read_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) < 0)
        return;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (group_path(line, name, path, sizeof(path)))
            fn(userdata, path);
}

struct record {
    char *text;
    size_t size;
    size_t length;
};

static void add_line(void *userdata, const char *path)
{
    struct record *record = userdata;
    char line[540];
    (void)snprintf(line, sizeof(line), "cgroup %.512s\n", path);
    size_t length = strlen(line);
    if (strstr(record->text, line) || record->length + length >= record->size)
        return;
    memcpy(record->text + record->length, line, length + 1);
    record->length += length;
}

void oci_groups_record(const char *name, char *text, size_t size)
{
    struct record record = {text, size, strlen(text)};
    each_group(name, add_line, &record);
}

static void remove_one(void *userdata, const char *path)
{
    (void)userdata;
    (void)cgroup_remove_path(path);
}

void oci_groups_remove(const char *name)
{
    each_group(name, remove_one, NULL);
}

/* On v1 a relative path is one below the runtime's own group in each hierarchy, where the native
 * ones are too; on v2 they are at the top, for a group with processes has no room for others. */
void oci_groups_path(const struct keeper *keeper, const char *name, char *path, size_t size)
{
    const struct cgroup_layout *layout = &keeper->layout;
    bool is_v2 = layout->count && layout->parents[0].version == 2;
    (void)snprintf(path, size, "%s%s%s", is_v2 ? layout->parents[0].path + strlen(CGROUP_ROOT) : "",
                   is_v2 ? "/" : "", name);
}

void oci_groups_open(struct cgroup *cgroup)
{
    for (size_t i = 0; i < cgroup->count; i++) {
        struct cgroup_group *group = &cgroup->groups[i];
        group->dir = open(group->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        group->made = group->dir >= 0;
    }
}

pid_t oci_groups_leader(const struct cgroup *cgroup)
{
    pid_t *pids = NULL;
    size_t count = 0;
    pid_t leader = 0;
    if (cgroup_list(cgroup, &pids, &count) == 0 && count)
        leader = pids[0];
    free(pids);
    return leader;
}

static void thaw(const struct keeper *keeper)
{
    char path[540];
    if (!keeper->freezer[0])
        return;
    (void)snprintf(path, sizeof(path), "%.500s/freezer.state", keeper->freezer);
    (void)hutch_write_at(AT_FDCWD, path, "THAWED");
}

int oci_groups_kill(struct container *container, struct hutch_error *err)
{
    const struct timespec pause = {.tv_nsec = KILL_PAUSE_NS};
    const struct cgroup *groups = &container->keeper->cgroup;
    cgroup_lift_cpu_limit(groups);
    for (int tries = 0; tries < KILL_TRIES; tries++) {
        bool is_empty = cgroup_kill_members(groups);
        thaw(container->keeper); /* on v1 what is frozen does not die */
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        if (is_empty)
            return 0;
        (void)nanosleep(&pause, NULL);
    }
    return hutch_fail(err, HUTCH_E_SYSTEM, EBUSY, "processes of container '%s' do not end",
                      container->name);
}

/* In a process of its own, for it enters the container's user namespace: there these files are that
 * namespace's. */
static int write_shares(const char *path)
{
    static const struct {
        const char *file;
        const char *value;
    } shares[] = {{"/proc/sys/user/max_inotify_instances", "32"},
                  {"/proc/sys/user/max_inotify_watches", "16384"},
                  {"/proc/sys/user/max_user_namespaces", "0"}};
    hutch_autofd int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0 || setns(namespace, CLONE_NEWUSER) < 0)
        return errno;
    for (size_t i = 0; i < HUTCH_COUNT(shares); i++)
        if (hutch_write_at(AT_FDCWD, shares[i].file, shares[i].value) < 0 && errno != ENOENT)
            return errno;
    return 0;
}

int oci_shares_limit(pid_t pid, struct hutch_error *err)
{
    char path[64];
    int status = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    pid_t child = fork();
    if (child == 0)
        _exit(write_shares(path) & 0xff);
    if (child < 0)
        return hutch_fail_errno(err, errno, "fork");
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return hutch_fail_errno(err, WIFEXITED(status) ? WEXITSTATUS(status) : EINTR,
                            "limit the container's share of inotify and namespaces");
}

struct hutch_limits oci_limits(const struct oci_runtime *runtime, const struct hutch_limits *limits)
{
    struct hutch_limits wider = *limits;
    wider.pids = (wider.pids + OWN_TASKS) * runtime->tasks_each + runtime->own_tasks;
    return wider;
}
