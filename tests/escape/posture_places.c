/* SPDX-License-Identifier: Apache-2.0 */
/* What a process in a sandbox has around it: descriptors, namespaces, files, mounts. */
#include "posture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

/* --- descriptors ----------------------------------------------------------------------------- */

static const char *kind_of(const struct stat *info)
{
    if (S_ISFIFO(info->st_mode))
        return "pipe";
    if (S_ISCHR(info->st_mode) && info->st_rdev == makedev(1, 3))
        return "the null device";
    if (S_ISCHR(info->st_mode))
        return "device";
    return S_ISDIR(info->st_mode) ? "directory" : S_ISREG(info->st_mode) ? "file" : "other";
}

static void print_descriptors(void)
{
    static const char *const modes[] = {"read", "write", "read and write", "?"};
    for (int fd = 0; fd < 65536; fd++) {
        struct stat info;
        if (fstat(fd, &info) < 0)
            continue;
        (void)printf("descriptor %d: %s, %s, flags %#x\n", fd, kind_of(&info),
                     modes[fcntl(fd, F_GETFL) & O_ACCMODE],
                     (unsigned)fcntl(fd, F_GETFL) & ~(unsigned)O_ACCMODE & ~(unsigned)O_LARGEFILE);
    }
}

/* --- directories ----------------------------------------------------------------------------- */

/* Which of these there are depends on the host. */
static bool is_of_the_host(const char *name)
{
    static const char *const names[] = {"lib32",        "lib64", "libx32",         "ld.so.cache",
                                        "alternatives", "ssl",   "ca-certificates"};
    for (size_t i = 0; i < POSTURE_COUNT(names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static int is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
           !is_of_the_host(entry->d_name);
}

static void print_entry(const char *directory, const char *name)
{
    char path[512];
    char target[256] = "";
    struct stat info;
    (void)snprintf(path, sizeof(path), "%s/%s", strcmp(directory, "/") ? directory : "", name);
    if (lstat(path, &info) < 0)
        return;
    if (S_ISLNK(info.st_mode)) {
        ssize_t length = readlink(path, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = '\0';
        /* the zone is the host's */
        (void)printf("%s -> %s\n", path, strcmp(name, "localtime") ? target : "a zone");
        return;
    }
    (void)printf("%s %06o %u:%u\n", path, info.st_mode, info.st_uid, info.st_gid);
}

static void print_directory(const char *directory)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, is_entry, alphasort);
    for (int i = 0; i < count; i++) {
        print_entry(directory, entries[i]->d_name);
        free(entries[i]);
    }
    free((void *)entries);
}

void posture_files(void)
{
    static const char *const directories[] = {"/",    "/dev",  "/dev/pts",   "/dev/shm",
                                              "/etc", "/home", "/home/user", "/run",
                                              "/sys", "/tmp",  "/var",       "/workspace"};
    print_descriptors();
    for (size_t i = 0; i < POSTURE_COUNT(directories); i++)
        print_directory(directories[i]);
}

/* --- namespaces ------------------------------------------------------------------------------ */

static void print_namespace(const char *name, size_t length, const char *of_host)
{
    char path[64];
    char own[64];
    (void)snprintf(path, sizeof(path), "/proc/self/ns/%.*s", (int)length, name);
    ssize_t got = readlink(path, own, sizeof(own) - 1);
    own[got > 0 ? got : 0] = '\0';
    (void)printf("namespace %.*s: %s\n", (int)length, name,
                 got <= 0                    ? "unreadable"
                 : strcmp(own, of_host) == 0 ? "the host's"
                                             : "its own");
}

static void print_cgroup(char *line, void *userdata)
{
    const char *path = strrchr(line, ':');
    (void)userdata;
    if (path && strcmp(path + 1, "/") != 0)
        (void)printf("cgroup in sight: %s\n", line);
}

static void print_line(char *line, void *userdata)
{
    if (!strncmp(line, "Iface", 5))
        return; /* the heading of the routes */
    (void)printf("%s: %s\n", (const char *)userdata, line);
}

static void print_network(void)
{
    struct if_nameindex *interfaces = if_nameindex();
    for (size_t i = 0; interfaces && interfaces[i].if_name; i++)
        (void)printf("network interface: %s\n", interfaces[i].if_name);
    if_freenameindex(interfaces);
    posture_each_line("/proc/net/route", print_line, "route");
}

static int is_process(const struct dirent *entry)
{
    return entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
}

static void print_processes(void)
{
    struct dirent **entries = NULL;
    int count = scandir("/proc", &entries, is_process, alphasort);
    for (int i = 0; i < count; i++) {
        (void)printf("process in sight: %s\n", entries[i]->d_name);
        free(entries[i]);
    }
    free((void *)entries);
}

void posture_namespaces(int argc, char **argv)
{
    struct utsname names;
    for (int i = 1; i < argc; i++) {
        size_t length = strcspn(argv[i], "=");
        if (argv[i][length])
            print_namespace(argv[i], length, argv[i] + length + 1);
    }
    posture_each_line("/proc/self/cgroup", print_cgroup, NULL);
    if (uname(&names) == 0)
        (void)printf("host name: %s\n", names.nodename);
    print_network();
    print_processes();
    posture_each_line("/proc/sys/user/max_user_namespaces", print_line, "user namespaces");
    posture_each_line("/proc/sys/user/max_inotify_instances", print_line, "inotify instances");
    posture_each_line("/proc/sys/user/max_inotify_watches", print_line, "inotify watches");
}

/* --- mounts ---------------------------------------------------------------------------------- */

/* Flags that differ from host to host say nothing about what can be done here. */
static bool is_dull(const char *flag)
{
    static const char *const dull[] = {"relatime", "noatime", "nodiratime", "strictatime",
                                       "idmapped"};
    for (size_t i = 0; i < POSTURE_COUNT(dull); i++)
        if (!strcmp(flag, dull[i]))
            return true;
    return false;
}

static void print_flags(char *flags)
{
    char *rest = NULL;
    const char *separator = "";
    for (char *flag = strtok_r(flags, ",", &rest); flag; flag = strtok_r(NULL, ",", &rest)) {
        if (is_dull(flag))
            continue;
        (void)printf("%s%s", separator, flag);
        separator = ",";
    }
}

static bool is_own_filesystem(const char *type)
{
    static const char *const own[] = {"tmpfs", "proc", "devpts", "overlay"};
    for (size_t i = 0; i < POSTURE_COUNT(own); i++)
        if (!strcmp(type, own[i]))
            return true;
    return false;
}

/* "42 75 254:0 /usr /usr ro,nosuid master:1 - ext4 /dev/vda rw": where, flags, propagation, type.
 * Masks of /proc are told below by what they do: which there are depends on the kernel. */
static void print_mount(char *line, void *userdata)
{
    char point[256], flags[256], type[64];
    const char *dash = strstr(line, " - ");
    (void)userdata;
    if (!dash || sscanf(line, "%*d %*d %*s %*s %255s %255s", point, flags) != 2 ||
        sscanf(dash, " - %63s", type) != 1 || !strncmp(point, "/proc/", 6))
        return;
    const char *name = strrchr(point, '/') + 1;
    if (is_of_the_host(name) || !strncmp(point, "/etc/ssl/", 9))
        return;
    (void)printf("mount %s ", point);
    print_flags(flags);
    (void)printf(" %s%s\n", is_own_filesystem(type) ? type : "of the host",
                 strstr(line, " shared:") || strstr(line, " master:") ? ", propagating" : "");
}

static bool shows_nothing(const char *path)
{
    char byte;
    struct stat info;
    if (lstat(path, &info) < 0)
        return errno == ENOENT;
    if (S_ISDIR(info.st_mode)) {
        struct dirent **entries = NULL;
        int count = scandir(path, &entries, is_entry, alphasort);
        for (int i = 0; i < count; i++)
            free(entries[i]);
        free((void *)entries);
        return count <= 0;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return true;
    bool empty = read(fd, &byte, 1) <= 0;
    (void)close(fd);
    return empty;
}

void posture_mounts(void)
{
    static const char *const hidden[] = {
        "/proc/acpi",        "/proc/asound",        "/proc/scsi",
        "/proc/keys",        "/proc/cmdline",       "/proc/interrupts",
        "/proc/kcore",       "/proc/kmsg",          "/proc/timer_list",
        "/proc/sched_debug", "/proc/latency_stats", "/proc/slabinfo",
        "/proc/vmallocinfo", "/proc/kpagecount",    "/sys"};
    posture_each_line("/proc/self/mountinfo", print_mount, NULL);
    for (size_t i = 0; i < POSTURE_COUNT(hidden); i++)
        (void)printf("%s shows %s\n", hidden[i],
                     shows_nothing(hidden[i]) ? "nothing" : "SOMETHING");
}
