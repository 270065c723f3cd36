// SPDX-License-Identifier: Apache-2.0
/*
 * floor: the bare system calls of a full sandbox and nothing else. What a sandbox with this posture
 * cannot cost less than; it is a yardstick, not a sandbox to be used.
 *
 * Theory of operation. The parent makes the cgroups and writes their limits, clones the child into
 * all seven namespaces (and into its v2 group), writes the user map, wakes the child through a
 * pipe, waits for it and removes the cgroups. The child joins its v1 groups by writing "0" into
 * `tasks` (writing a pid into `cgroup.procs` takes a global lock that can cost milliseconds),
 * mounts a tmpfs, an overlay on it, /proc, /dev and /dev/shm, pivots into the overlay and executes.
 * It looks for nothing, checks nothing and cleans up by exiting: the kernel unmounts everything
 * when the last process of the mount namespace ends.
 *
 * usage: floor [--lower DIR] [--] CMD ARG...    exit status: the command's own, 125 for our failure
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ID_MAP "0 100000 65536" /* root inside is nobody outside */

enum { PATH_SIZE = 512, EXIT_OURS = 125, MAX_GROUPS = 4 };

struct limit {
    const char *file;
    const char *value;
};

/* One hierarchy in which the sandbox gets a group of its own. */
struct controller {
    const char *name;  /* as in /proc/self/cgroup; "" is the v2 hierarchy */
    const char *mount; /* where it is mounted */
    struct limit limits[4];
};

struct group {
    char path[PATH_SIZE];
    bool is_v2;
};

static const struct controller v1_controllers[] = {
    {"memory",
     CGROUP_ROOT "/memory",
     {{"memory.limit_in_bytes", "536870912"}, {"memory.memsw.limit_in_bytes", "536870912"}}},
    {"cpu", CGROUP_ROOT "/cpu", {{"cpu.cfs_quota_us", "100000"}}},
    {"pids", CGROUP_ROOT "/pids", {{"pids.max", "256"}}},
};
static const struct controller hybrid_v2 = {"", CGROUP_ROOT "/unified", {{NULL, NULL}}};
static const struct controller pure_v2 = {"",
                                          CGROUP_ROOT,
                                          {{"memory.max", "536870912"},
                                           {"memory.swap.max", "0"},
                                           {"cpu.max", "100000 100000"},
                                           {"pids.max", "256"}}};

static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};

/* The child's way out; the parent always goes on to remove the cgroups. */
static _Noreturn void die(const char *what)
{
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    _exit(EXIT_OURS);
}

static void must(long result, const char *what)
{
    if (result < 0)
        die(what);
}

static bool complain(const char *what)
{
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    return false;
}

static bool write_file(const char *dir, const char *file, const char *value)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = write(fd, value, strlen(value)) >= 0;
    close(fd);
    return ok;
}

/* True when the list "a,b,c" of the given length holds the name; the empty list holds "". */
static bool lists(const char *list, size_t length, const char *name)
{
    size_t want = strlen(name);
    for (size_t at = 0; at <= length;) {
        size_t item = strcspn(list + at, ",:");
        if (item == want && memcmp(list + at, name, want) == 0)
            return true;
        at += item + 1;
    }
    return false;
}

/* Finds our own group in the text of /proc/self/cgroup: lines of "ID:CONTROLLERS:PATH". */
static bool own_group(const char *text, const char *controller, char *ret_path, size_t size)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        const char *names = line + strcspn(line, ":") + 1;
        size_t length = strcspn(names, ":");
        const char *path = names + length + 1;
        if (!lists(names, length, controller))
            continue;
        size_t end = strcspn(path, "\n");
        snprintf(ret_path, size, "%.*s", end == 1 ? 0 : (int)end, path); /* "/" becomes "" */
        return true;
    }
    errno = ENOENT;
    return complain(*controller ? controller : "cgroup2");
}

/* v2 gives no controllers to children of a group that holds processes: go up until one may. */
static bool enable_controllers(const char *mount, char *own)
{
    for (;;) {
        char dir[PATH_SIZE];
        snprintf(dir, sizeof(dir), "%s%s", mount, own);
        if (write_file(dir, "cgroup.subtree_control", "+memory +cpu +pids"))
            return true;
        char *slash = strrchr(own, '/');
        if (!slash)
            return complain(dir);
        *slash = '\0';
    }
}

/* ret->path is set as soon as there is a directory to remove. */
static bool make_group(const struct controller *c, const char *proc_cgroup, struct group *ret)
{
    char own[PATH_SIZE / 2], path[PATH_SIZE];
    if (!own_group(proc_cgroup, c->name, own, sizeof(own)))
        return false;
    ret->is_v2 = *c->name == '\0';
    if (ret->is_v2 && c->limits[0].file && !enable_controllers(c->mount, own))
        return false;
    snprintf(path, sizeof(path), "%s%s/floor-%d", c->mount, own, (int)getpid());
    if (mkdir(path, 0755) < 0)
        return complain(path);
    memcpy(ret->path, path, sizeof(path));
    for (size_t i = 0; i < COUNT(c->limits) && c->limits[i].file; i++)
        if (!write_file(path, c->limits[i].file, c->limits[i].value) && errno != ENOENT)
            return complain(c->limits[i].file); /* ENOENT: a kernel without swap accounting */
    return true;
}

/* The v2 group, when there is one, is the last. */
static bool make_groups(struct group groups[MAX_GROUPS], int *ret_count)
{
    char text[8192];
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (got < 0)
        return complain("/proc/self/cgroup");
    text[got] = '\0';
    close(fd);
    if (access(CGROUP_ROOT "/cgroup.controllers", F_OK) == 0) {
        *ret_count = 1;
        return make_group(&pure_v2, text, &groups[0]);
    }
    int n = 0;
    for (; n < (int)COUNT(v1_controllers); n++)
        if (!make_group(&v1_controllers[n], text, &groups[n]))
            return false;
    if (access(CGROUP_ROOT "/unified/cgroup.controllers", F_OK) == 0 &&
        !make_group(&hybrid_v2, text, &groups[n++]))
        return false;
    *ret_count = n;
    return true;
}

static void mount_dev(void)
{
    must(mount("tmpfs", "dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64k,mode=755"), "dev");
    for (size_t i = 0; i < COUNT(devices); i++) {
        char source[32], target[32];
        snprintf(source, sizeof(source), "/dev/%s", devices[i]);
        snprintf(target, sizeof(target), "dev/%s", devices[i]);
        must(mknod(target, S_IFREG | 0666, 0), target);
        must(mount(source, target, NULL, MS_BIND, NULL), target);
    }
    must(mkdir("dev/shm", 01777), "dev/shm");
    must(mount("tmpfs", "dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=1777"), "dev/shm");
}

static void enter_root(const char *lower)
{
    must(chdir(lower), lower); /* the tmpfs may hide it */
    must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "make / private");
    must(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=256m,nr_inodes=100k"),
         "tmpfs");
    must(mkdir("/tmp/upper", 0755), "upper");
    must(mkdir("/tmp/work", 0755), "work");
    must(mkdir("/tmp/root", 0755), "root");
    must(mount("overlay", "/tmp/root", "overlay", MS_NOSUID | MS_NODEV,
               "lowerdir=.,upperdir=/tmp/upper,workdir=/tmp/work"),
         "overlay");
    must(chdir("/tmp/root"), "root");
    must(mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL), "proc");
    mount_dev();
    must(syscall(SYS_pivot_root, ".", "."), "pivot_root");
    must(umount2(".", MNT_DETACH), "umount old root");
    must(chdir("/"), "/");
}

static _Noreturn void child(int wake, const struct group *groups, int count, const char *lower,
                            char **argv)
{
    char byte;
    if (read(wake, &byte, 1) != 1)
        die("wait for the user map");
    for (int i = 0; i < count; i++)
        if (!groups[i].is_v2 && !write_file(groups[i].path, "tasks", "0"))
            die(groups[i].path);
    must(setresgid(0, 0, 0), "setresgid");
    must(setresuid(0, 0, 0), "setresuid");
    enter_root(lower);
    execv(argv[0], argv);
    die(argv[0]);
}

static pid_t clone_child(int cgroup_fd)
{
    struct clone_args args = {
        .flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                 CLONE_NEWUTS | CLONE_NEWCGROUP,
        .exit_signal = SIGCHLD,
    };
    if (cgroup_fd >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (__u64)cgroup_fd;
    }
    return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* Lets the child go on as soon as it has its user map; without one it ends by itself. */
static bool map_and_wake(pid_t pid, int wake)
{
    char proc[32];
    snprintf(proc, sizeof(proc), "/proc/%d", (int)pid);
    if (!write_file(proc, "uid_map", ID_MAP) || !write_file(proc, "gid_map", ID_MAP))
        return complain("user map");
    return write(wake, "", 1) == 1 || complain("wake the child");
}

static int run(const struct group *groups, int count, const char *lower, char **argv)
{
    int wake[2], cgroup_fd = -1, status;
    const struct group *last = &groups[count - 1];
    if (last->is_v2 && (cgroup_fd = open(last->path, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        return complain(last->path), EXIT_OURS;
    if (pipe2(wake, O_CLOEXEC) < 0)
        return complain("pipe"), EXIT_OURS;
    pid_t pid = clone_child(cgroup_fd);
    if (pid < 0)
        return complain("clone"), EXIT_OURS;
    if (pid == 0) {
        close(wake[1]); /* or it would never see the end of the pipe */
        child(wake[0], groups, count, lower, argv);
    }
    map_and_wake(pid, wake[1]);
    close(wake[1]);
    if (waitpid(pid, &status, 0) < 0)
        return complain("wait"), EXIT_OURS;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    const char *lower = "/";
    int at = 1, count = 0, status = EXIT_OURS;
    if (at + 1 < argc && strcmp(argv[at], "--lower") == 0) {
        lower = argv[at + 1];
        at += 2;
    }
    if (at < argc && strcmp(argv[at], "--") == 0)
        at++;
    if (at >= argc) {
        fputs("usage: floor [--lower DIR] [--] CMD ARG...\n", stderr);
        return EXIT_OURS;
    }
    struct group groups[MAX_GROUPS] = {0};
    if (make_groups(groups, &count))
        status = run(groups, count, lower, argv + at);
    for (int i = 0; i < MAX_GROUPS && groups[i].path[0]; i++)
        if (rmdir(groups[i].path) < 0 && !complain(groups[i].path))
            status = EXIT_OURS;
    return status;
}
