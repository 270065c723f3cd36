/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where this process may make groups: beneath its own group in each hierarchy, so that limits
 * around hutch hold for its sandboxes too. On v2 a group with processes in it cannot hand
 * controllers to children ("no internal processes"), so there the parent is the top of the tree for
 * root, as it is for container engines, and for a user a delegated group from which hutch moves
 * itself into a leaf. Groups are looked for below well-known mount points: reading mountinfo would
 * cost more than the rest of this file. */
#include "backend/native/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/own.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

static const struct {
    const char *name;
    enum cgroup_controller controller;
    hutch_promise_set promise;
} controllers[] = {
    {"memory", CGROUP_MEMORY, HUTCH_PROMISE_BIT(MEMORY)},
    {"cpu", CGROUP_CPU, HUTCH_PROMISE_BIT(CPUS)},
    {"pids", CGROUP_PIDS, HUTCH_PROMISE_BIT(PIDS)},
};

enum reach { REACH_NONE, REACH_CLOSED, REACH_OPEN };

static long magic_of(const char *path)
{
    struct statfs info;
    return statfs(path, &info) < 0 ? 0 : (long)info.f_type;
}

static bool has_word(const char *list, const char *word, const char *separators)
{
    size_t length = strlen(word);
    for (const char *at = list; *at;) {
        size_t here = strcspn(at, separators);
        if (here == length && !strncmp(at, word, length))
            return true;
        at += here + (at[here] != '\0');
    }
    return false;
}

/* A line is "4:memory:/a/b". */
bool cgroup_own_path(const char *text, const char *controller, char *ret_path, size_t size)
{
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        const char *names = strchr(line, ':');
        const char *path = names ? strchr(names + 1, ':') : NULL;
        if (!path)
            return false;
        char list[128];
        size_t length = (size_t)(path - names - 1);
        if (length >= sizeof(list))
            continue;
        memcpy(list, names + 1, length);
        list[length] = '\0';
        bool match = *controller ? has_word(list, controller, ",") : length == 0;
        if (!match)
            continue;
        size_t path_length = strcspn(path + 1, "\n");
        if (path_length >= size)
            return false;
        memcpy(ret_path, path + 1, path_length);
        ret_path[path_length] = '\0';
        return true;
    }
    return false;
}

/* On one walk to it, which below /sys is a dear one: is it a group, and one we may make others in?
 */
static enum reach reach_of(const char *path, const char *mount, long magic)
{
    struct statfs info;
    hutch_autofd int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return magic_of(mount) == magic ? REACH_CLOSED : REACH_NONE;
    if (fstatfs(fd, &info) < 0 || (long)info.f_type != magic)
        return REACH_NONE;
    if (faccessat(fd, "", W_OK, AT_EMPTY_PATH) == 0)
        return REACH_OPEN;
    /* a filter around us may not know the call */
    bool is_certain = errno == EACCES || errno == EROFS;
    return is_certain || access(path, W_OK) < 0 ? REACH_CLOSED : REACH_OPEN;
}

static void add_parent(struct cgroup_layout *layout, const char *mount, const char *path,
                       int version, unsigned mask)
{
    static const long magics[] = {[1] = CGROUP_SUPER_MAGIC, [2] = CGROUP2_SUPER_MAGIC};
    if (layout->count >= CGROUP_MAX_GROUPS)
        return;
    struct cgroup_parent *parent = &layout->parents[layout->count];
    const char *below = strcmp(path, "/") ? path : "";
    if (snprintf(parent->path, sizeof(parent->path), "%s%s", mount, below) >=
        (int)sizeof(parent->path))
        return;
    enum reach reach = reach_of(parent->path, mount, magics[version]);
    if (reach != REACH_OPEN) {
        if (reach == REACH_CLOSED && !layout->why_not[0])
            (void)snprintf(layout->why_not, sizeof(layout->why_not), "'%.150s' is not writable",
                           parent->path);
        return;
    }
    parent->version = version;
    parent->controllers = mask;
    layout->count++;
    for (size_t i = 0; i < HUTCH_COUNT(controllers); i++)
        if (mask & 1u << controllers[i].controller)
            layout->enforces |= controllers[i].promise;
}

static void probe_v1_controller(struct cgroup_layout *layout, const char *self, const char *name,
                                unsigned mask)
{
    char path[300];
    char mount[64];
    (void)snprintf(mount, sizeof(mount), CGROUP_ROOT "/%s", name);
    if (cgroup_own_path(self, name, path, sizeof(path)))
        add_parent(layout, mount, path, 1, mask);
}

/* v1 and hybrid: a hierarchy per controller. Processor time is counted by cpuacct, mostly mounted
 * together with cpu, its neighbour in the kernel's list. The v2 tree of a hybrid host is left
 * alone: it could count that too, but being born into it costs a sixth of the throughput (ADR 6).
 */
static void probe_v1(struct cgroup_layout *layout, const char *self)
{
    bool together = strstr(self, "cpu,cpuacct") != NULL;
    for (size_t i = 0; i < HUTCH_COUNT(controllers); i++) {
        unsigned mask = 1u << controllers[i].controller;
        if (together && controllers[i].controller == CGROUP_CPU)
            mask |= 1u << CGROUP_CORE;
        probe_v1_controller(layout, self, controllers[i].name, mask);
    }
}

void cgroup_probe_time(struct cgroup_layout *layout)
{
    char self[4096];
    for (size_t i = 0; i < layout->count; i++)
        if (layout->parents[i].controllers & 1u << CGROUP_CORE)
            return;
    if (hutch_read_at(AT_FDCWD, "/proc/self/cgroup", self, sizeof(self)) > 0)
        probe_v1_controller(layout, self, "cpuacct", 1u << CGROUP_CORE);
}

static unsigned enabled_in(const char *directory, const char *file)
{
    char path[512];
    char text[256];
    unsigned mask = 0;
    if (snprintf(path, sizeof(path), "%s/%s", directory, file) >= (int)sizeof(path) ||
        hutch_read_at(AT_FDCWD, path, text, sizeof(text)) < 0)
        return 0;
    for (size_t i = 0; i < HUTCH_COUNT(controllers); i++)
        if (has_word(text, controllers[i].name, " \n"))
            mask |= 1u << controllers[i].controller;
    return mask;
}

/* Hands controllers to the children of a group, all in one go: in a group with processes the kernel
 * refuses memory but takes the others, and that would turn the group into a threaded one. */
static unsigned enable_controllers(const char *directory)
{
    unsigned have = enabled_in(directory, "cgroup.subtree_control");
    unsigned want = enabled_in(directory, "cgroup.controllers") & ~have;
    char path[512];
    char text[64] = "";
    size_t used = 0;
    for (size_t i = 0; i < HUTCH_COUNT(controllers); i++)
        if (want & 1u << controllers[i].controller)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "+%s ", controllers[i].name);
    if (used &&
        snprintf(path, sizeof(path), "%s/cgroup.subtree_control", directory) < (int)sizeof(path) &&
        hutch_write_at(AT_FDCWD, path, text) == 0)
        have |= want;
    return have;
}

/* The real root of the tree is free of the rule against processes beside children; it alone has no
 * type. */
static bool is_true_root(const char *directory)
{
    char path[512];
    return snprintf(path, sizeof(path), "%s/cgroup.type", directory) < (int)sizeof(path) &&
           access(path, F_OK) < 0;
}

/* Who is in the group: nobody, only this process, or others too. */
enum population { POPULATION_NONE, POPULATION_SELF, POPULATION_OTHERS };

static enum population population_of(const char *directory)
{
    char path[512];
    char text[64];
    if (snprintf(path, sizeof(path), "%s/cgroup.procs", directory) >= (int)sizeof(path) ||
        hutch_read_at(AT_FDCWD, path, text, sizeof(text)) < 0)
        return POPULATION_OTHERS;
    if (!text[0])
        return POPULATION_NONE;
    bool alone =
        strtol(text, NULL, 10) == (long)getpid() && strchr(text, '\n') == strrchr(text, '\n');
    return alone ? POPULATION_SELF : POPULATION_OTHERS;
}

/* A delegated group that holds nobody but us: step into a leaf, then the group itself may hand
 * controllers down. */
static bool step_into_leaf(const char *directory)
{
    char path[512];
    if (snprintf(path, sizeof(path), "%s/hutch-supervisor", directory) >= (int)sizeof(path) ||
        (mkdir(path, 0755) < 0 && errno != EEXIST))
        return false;
    return snprintf(path, sizeof(path), "%s/hutch-supervisor/cgroup.procs", directory) <
               (int)sizeof(path) &&
           hutch_write_at(AT_FDCWD, path, "0") == 0;
}

/* Can children of this group have controllers? Makes it so where that is possible. */
static unsigned usable_controllers(struct cgroup_layout *layout, const char *directory)
{
    unsigned have = enabled_in(directory, "cgroup.subtree_control");
    if (have || is_true_root(directory))
        return enable_controllers(directory);
    if (access(directory, W_OK) < 0)
        return 0;
    enum population population = population_of(directory);
    if (population == POPULATION_OTHERS) {
        (void)snprintf(layout->why_not, sizeof(layout->why_not),
                       "'%.120s' has other processes in it, so it cannot limit groups below it",
                       directory);
        return 0;
    }
    if (population == POPULATION_SELF && !step_into_leaf(directory))
        return 0;
    return enable_controllers(directory);
}

static void probe_v2(struct cgroup_layout *layout, const char *self)
{
    char own[300];
    char directory[400];
    if (geteuid() == 0 && is_true_root(CGROUP_ROOT)) {
        add_parent(layout, CGROUP_ROOT, "/", 2,
                   1u << CGROUP_CORE | usable_controllers(layout, CGROUP_ROOT));
        return;
    }
    if (!cgroup_own_path(self, "", own, sizeof(own)) ||
        snprintf(directory, sizeof(directory), CGROUP_ROOT "%s",
                 strcmp(own, "/") != 0 ? own : "") >= (int)sizeof(directory))
        return;
    char *leaf = strstr(directory, "/hutch-supervisor");
    if (leaf)
        *leaf = '\0';
    unsigned usable = usable_controllers(layout, directory);
    /* a group without limits is worth nothing, and in a populated one it could not be entered */
    if (usable || access(directory, W_OK) < 0)
        add_parent(layout, directory, "/", 2, 1u << CGROUP_CORE | usable);
}

void cgroup_probe(struct cgroup_layout *ret_layout)
{
    char self[4096];
    *ret_layout = (struct cgroup_layout){0};
    if (hutch_read_at(AT_FDCWD, "/proc/self/cgroup", self, sizeof(self)) < 0) {
        (void)snprintf(ret_layout->why_not, sizeof(ret_layout->why_not),
                       "/proc/self/cgroup cannot be read");
        return;
    }
    if (magic_of(CGROUP_ROOT) == CGROUP2_SUPER_MAGIC)
        probe_v2(ret_layout, self);
    else
        probe_v1(ret_layout, self);
    if (!ret_layout->count && !ret_layout->why_not[0])
        (void)snprintf(ret_layout->why_not, sizeof(ret_layout->why_not),
                       "no cgroup hierarchy is mounted under " CGROUP_ROOT);
}

bool cgroup_freezer_path(const char *id, char *path, size_t size)
{
    char self[4096];
    char own[300];
    const char *mount = CGROUP_ROOT "/freezer";
    if (magic_of(mount) != CGROUP_SUPER_MAGIC ||
        hutch_read_at(AT_FDCWD, "/proc/self/cgroup", self, sizeof(self)) < 0 ||
        !cgroup_own_path(self, "freezer", own, sizeof(own)))
        return false;
    const char *below = strcmp(own, "/") != 0 ? own : "";
    if (snprintf(path, size, "%s%s", mount, below) >= (int)size || access(path, W_OK) < 0)
        return false;
    return snprintf(path, size, "%s%s/hutch-%s", mount, below, id) < (int)size;
}
