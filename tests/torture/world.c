/* SPDX-License-Identifier: Apache-2.0 */
/* A campaign's own world, and what an attempt left in it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "torture.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
enum { HIERARCHIES = 4, LISTING_MAX = 1 << 18, LEASE_BYTES = 4096 };

struct text {
    size_t length;
    char data[LISTING_MAX];
};

/* One program, one campaign: its world is as global as its process. */
static struct {
    const struct campaign *campaign;
    pid_t owner; /* whose exit ends it */
    size_t count;
    char groups[HIERARCHIES][512]; /* ours, one per hierarchy that is there */
    const char *home;
    struct text before, now;
} world;

static void add(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *fmt, ...)
{
    va_list args;
    size_t room = sizeof(text->data) - text->length;
    va_start(args, fmt);
    int length = vsnprintf(text->data + text->length, room, fmt, args);
    va_end(args);
    if (length < 0 || (size_t)length >= room)
        die("the world is too large to be listed");
    text->length += (size_t)length;
}

static bool read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t length = 0;
    ssize_t got;
    while (length < size - 1 && (got = read(fd, text + length, size - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    (void)close(fd);
    return true;
}

/* "4:memory:/a/b" of /proc/self/cgroup; "" is the v2 hierarchy. */
static bool own_group(const char *controller, char *path, size_t size)
{
    char text[4096];
    char wanted[64];
    if (!read_text("/proc/self/cgroup", text, sizeof(text)))
        return false;
    (void)snprintf(wanted, sizeof(wanted), ":%s:", controller);
    char *found = strstr(text, wanted);
    if (!found)
        return false;
    found += strlen(wanted);
    found[strcspn(found, "\n")] = '\0';
    (void)snprintf(path, size, "%s", strcmp(found, "/") ? found : "");
    return true;
}

/* Hybrid and v1 hosts: groups beneath our own, in which hutch makes its own beneath. A host with v2
 * alone keeps processes in leaves only, so there hutch's usual place is looked at. */
static void make_groups(const struct campaign *campaign)
{
    static const char *const mounts[HIERARCHIES] = {"memory", "cpu", "pids", "unified"};
    for (size_t i = 0; i < HIERARCHIES; i++) {
        char own[256];
        char *path = world.groups[world.count];
        if (!own_group(i == 3 ? "" : mounts[i], own, sizeof(own)))
            continue;
        (void)snprintf(path, sizeof(world.groups[0]), CGROUP_ROOT "/%s%s/torture-%d", mounts[i],
                       own, (int)getpid());
        if (mkdir(path, 0755) < 0)
            continue;
        world.count++;
        if (!campaign->delegated)
            continue;
        char file[600];
        (void)snprintf(file, sizeof(file), "%s/%s", path, i == 3 ? "cgroup.procs" : "tasks");
        if (chown(path, campaign->uid, campaign->uid) < 0 ||
            chown(file, campaign->uid, campaign->uid) < 0)
            die("hand '%s' over: %s", path, strerror(errno));
    }
    if (!world.count)
        (void)snprintf(world.groups[world.count++], sizeof(world.groups[0]), CGROUP_ROOT);
}

static void world_end(void)
{
    for (size_t i = 0; i < world.count && world.owner == getpid(); i++)
        if (strcmp(world.groups[i], CGROUP_ROOT) != 0)
            for (int tries = 0; rmdir(world.groups[i]) < 0 && errno == EBUSY && tries < 100;
                 tries++)
                (void)usleep(10000);
}

void world_make(const struct campaign *campaign)
{
    world.campaign = campaign;
    world.home = getenv("HUTCH_HOME");
    if (!world.home)
        die("HUTCH_HOME is not set");
    if (unshare(CLONE_NEWNS) < 0 || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        die("make a mount namespace: %s", strerror(errno));
    world.owner = getpid();
    if (atexit(world_end) != 0)
        die("the world has no end");
    make_groups(campaign);
}

void world_enter(void)
{
    for (size_t i = 0; i < world.count; i++) {
        char path[600];
        bool unified = strstr(world.groups[i], "/unified/");
        if (!strcmp(world.groups[i], CGROUP_ROOT))
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", world.groups[i],
                       unified ? "cgroup.procs" : "tasks");
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1)
            die("enter '%s': %s", path, strerror(errno));
        /* cppcheck-suppress invalidFunctionArg ; die() does not return */
        (void)close(fd);
    }
}

static int list_state(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    if (at->level > 0 && strcmp(path + at->base, "swept") != 0 && !strstr(path, "/lib/audit"))
        add(&world.now, "file %s\n", path);
    return 0;
}

/* Records of fixed size; one that begins with NUL is blank (src/backend/native/state.h). */
static void list_leases(void)
{
    char path[PATH_MAX];
    char first;
    (void)snprintf(path, sizeof(path), "%s/run/leases", world.home);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    for (int slot = 0; pread(fd, &first, 1, (off_t)slot * LEASE_BYTES) == 1; slot++)
        if (first)
            add(&world.now, "lease %d\n", slot);
    (void)close(fd);
}

static void list_groups(void)
{
    for (size_t i = 0; i < world.count; i++) {
        DIR *directory = opendir(world.groups[i]);
        const struct dirent *entry;
        while (directory && (entry = readdir(directory)))
            if (!strncmp(entry->d_name, "hutch-", 6))
                add(&world.now, "cgroup %s/%s\n", world.groups[i], entry->d_name);
        if (directory)
            (void)closedir(directory);
    }
}

static void list_mounts(void)
{
    static char text[TEXT_MAX];
    if (!read_text("/proc/self/mountinfo", text, sizeof(text)))
        die("read the mount table");
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char point[512];
        if (sscanf(line, "%*s %*s %*s %*s %511s", point) == 1)
            add(&world.now, "mount %s\n", point);
    }
}

static void list_loops(void)
{
    DIR *directory = opendir("/sys/block");
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        char path[320];
        char file[512];
        (void)snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", entry->d_name);
        if (!strncmp(entry->d_name, "loop", 4) && read_text(path, file, sizeof(file)) &&
            !strncmp(file, world.home, strlen(world.home)))
            add(&world.now, "loop device %s\n", entry->d_name);
    }
    if (directory)
        (void)closedir(directory);
}

static void look(void)
{
    world.now.length = 0;
    world.now.data[0] = '\0';
    (void)nftw(world.home, list_state, 16, FTW_PHYS);
    if (world.campaign->artifacts)
        (void)nftw(world.campaign->artifacts, list_state, 16, FTW_PHYS);
    list_leases();
    list_groups();
    list_mounts();
    list_loops();
}

void world_remember(void)
{
    look();
    world.before = world.now;
}

static bool was_there(const char *line, size_t length)
{
    for (const char *at = world.before.data; *at; at += strcspn(at, "\n") + 1)
        if (!strncmp(at, line, length))
            return true;
    return false;
}

static const char *find_dirt(void)
{
    static char dirt[512];
    look();
    for (const char *line = world.now.data; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        if (was_there(line, length + 1))
            continue;
        (void)snprintf(dirt, sizeof(dirt), "left behind: %.*s", (int)length, line);
        return dirt;
    }
    return NULL;
}

const char *world_dirt(void)
{
    const char *dirt = find_dirt();
    for (int tries = 0; dirt && tries < 20; tries++) { /* the kernel may still be at it */
        (void)usleep(5000);
        dirt = find_dirt();
    }
    return dirt;
}

static void add_file(char *text, size_t size, const char *group, const char *file)
{
    char path[1200];
    char value[128];
    size_t used = strlen(text);
    (void)snprintf(path, sizeof(path), "%s/%s", group, file);
    if (read_text(path, value, sizeof(value)))
        (void)snprintf(text + used, size - used, "%s %s", file, value);
}

static void add_namespace(char *text, size_t size, pid_t command, const char *name)
{
    char path[64];
    char ours[64] = "";
    char theirs[64] = "";
    size_t used = strlen(text);
    (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    if (readlink(path, ours, sizeof(ours) - 1) < 0)
        return;
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)command, name);
    if (readlink(path, theirs, sizeof(theirs) - 1) < 0)
        return;
    (void)snprintf(text + used, size - used, "%s namespace: %s\n", name,
                   strcmp(ours, theirs) ? "its own" : "the host's");
}

/* The number of processes is limited by a group, or by the kernel's count per user namespace. */
static void add_processes(char *text, size_t size, pid_t command, const char *group)
{
    char path[1200];
    char value[4096];
    size_t used = strlen(text);
    (void)snprintf(path, sizeof(path), "%s/pids.max", group);
    if (*group && read_text(path, value, sizeof(value))) {
        (void)snprintf(text + used, size - used, "processes %s", value);
        return;
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/limits", (int)command);
    char *line = read_text(path, value, sizeof(value)) ? strstr(value, "Max processes") : NULL;
    if (line)
        (void)snprintf(text + used, size - used, "processes %ld\n", strtol(line + 13, NULL, 10));
}

static void add_stray(char *text, size_t size, const char *who, pid_t pid)
{
    char path[64];
    size_t used = strlen(text);
    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, (int)STRAY_FD);
    (void)snprintf(text + used, size - used, "stray descriptor in %s: %s\n", who,
                   faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ? "no" : "yes");
}

static void add_groups(char *text, size_t size, pid_t command)
{
    static const char *const files[] = {
        "memory.limit_in_bytes",
        "memory.memsw.limit_in_bytes",
        "memory.max",
        "memory.swap.max",
        "cpu.cfs_quota_us",
        "cpu.max",
    };
    char groups[4096];
    char path[64];
    const char *pids = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)command);
    if (!read_text(path, groups, sizeof(groups)))
        return;
    look();
    char *rest = NULL;
    for (char *line = strtok_r(world.now.data, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "cgroup ", 7) != 0 || !strstr(groups, strrchr(line, '/')))
            continue; /* the command is not in it */
        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
            add_file(text, size, line + 7, files[i]);
        char file[1200];
        (void)snprintf(file, sizeof(file), "%s/pids.max", line + 7);
        if (access(file, R_OK) == 0)
            pids = line + 7;
    }
    add_processes(text, size, command, pids);
}

/* What the kernel enforces around the command, seen from outside. */
void world_limits(pid_t init, pid_t command, char *text, size_t size)
{
    static const char *const namespaces[] = {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"};
    *text = '\0';
    for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
        add_namespace(text, size, command, namespaces[i]);
    add_stray(text, size, "PID 1", init);
    add_stray(text, size, "the command", command);
    add_groups(text, size, command);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    if (at->level > 0)
        (void)remove(path);
    return 0;
}

void world_forget_pool(void)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/lib", world.home);
    (void)nftw(path, remove_one, 16, FTW_PHYS | FTW_DEPTH | FTW_MOUNT);
}
