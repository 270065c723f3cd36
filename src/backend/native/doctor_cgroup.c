/* SPDX-License-Identifier: Apache-2.0 */
/* Can this process make a control group and set limits on it? Looks where the engine puts its
 * groups (cgroup_probe.c): beneath our own group on v1 and for users on v2, at the top for root on
 * v2. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backend/native/doctor_check.h"
#include "util/fs.h"
#include "util/own.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

/* What is written into a trial group to see whether limits take. */
struct setting {
    const char *subject;
    const char *file[3]; /* by version */
    const char *value;
};

static const struct setting settings[] = {
    {"memory", {"", "memory.limit_in_bytes", "memory.max"}, "67108864"},
    {"cpu", {"", "cpu.cfs_quota_us", "cpu.max"}, "100000"},
    {"pids", {"", "pids.max", "pids.max"}, "64"},
    {"swap", {"", "memory.memsw.limit_in_bytes", "memory.swap.max"}, "67108864"},
};

static const struct setting *setting_of(const char *subject)
{
    for (size_t i = 0; i < HUTCH_COUNT(settings); i++)
        if (!strcmp(settings[i].subject, subject))
            return &settings[i];
    return NULL;
}

static long magic_of(const char *path)
{
    struct statfs info;
    return statfs(path, &info) < 0 ? 0 : (long)info.f_type;
}

static int host_version(void)
{
    return magic_of(CGROUP_ROOT) == CGROUP2_SUPER_MAGIC ? 2 : 1;
}

static bool has_v1_controllers(void)
{
    return magic_of(CGROUP_ROOT "/memory") == CGROUP_SUPER_MAGIC ||
           magic_of(CGROUP_ROOT "/pids") == CGROUP_SUPER_MAGIC ||
           magic_of(CGROUP_ROOT "/cpu") == CGROUP_SUPER_MAGIC;
}

void doctor_check_cgroup_version(const struct doctor_row *row, struct hutch_check *check)
{
    (void)row;
    if (host_version() == 2) {
        doctor_ok(check, "v2");
    } else if (has_v1_controllers()) {
        bool hybrid = magic_of(CGROUP_ROOT "/unified") == CGROUP2_SUPER_MAGIC;
        doctor_ok(check, hybrid ? "hybrid: controllers on v1, beside a v2 tree" : "v1");
    } else {
        doctor_fail(check, "no control groups are mounted under " CGROUP_ROOT);
        doctor_remedy(check, "sudo mount -t cgroup2 none " CGROUP_ROOT);
    }
}

/* Our own path in a hierarchy, from a line such as "4:memory:/a/b"; the empty controller is v2. */
static bool own_path(const char *controller, char *ret_path, size_t size)
{
    hutch_autofree char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return false;
    while (!found && getline(&line, &capacity, file) > 0) {
        char *names = strchr(line, ':');
        char *path = names ? strchr(names + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (!*controller)
            found = names[1] == '\0';
        for (char *rest = names + 1; *controller && rest && !found;) {
            char *name = strsep(&rest, ",");
            found = !strcmp(name, controller);
        }
        if (found)
            found = snprintf(ret_path, size, "%s", strcmp(path, "/") != 0 ? path : "") < (int)size;
    }
    (void)fclose(file);
    return found;
}

/* The directory beneath which the engine would make its groups. */
static bool find_place(const char *controller, int version, char *ret_path, size_t size)
{
    char own[300];
    if (version == 2 && doctor_is_root())
        return snprintf(ret_path, size, CGROUP_ROOT) < (int)size;
    if (!own_path(version == 2 ? "" : controller, own, sizeof(own)))
        return false;
    if (version == 1)
        return snprintf(ret_path, size, CGROUP_ROOT "/%s%s", controller, own) < (int)size;
    char *leaf = strstr(own, "/hutch-supervisor"); /* where the engine puts itself, see there */
    if (leaf)
        *leaf = '\0';
    return snprintf(ret_path, size, CGROUP_ROOT "%s", own) < (int)size;
}

static bool list_has(const char *directory, const char *file, const char *controller)
{
    char path[512];
    return snprintf(path, sizeof(path), "%s/%s", directory, file) < (int)sizeof(path) &&
           doctor_file_has_word(path, controller, " \n");
}

/* Makes a group, writes one limit into it (none when setting is NULL), removes it. 0 or errno. */
static int try_group(const char *place, int version, const struct setting *setting)
{
    char path[512];
    int error = 0;
    int length = snprintf(path, sizeof(path), "%s/hutch-doctor-%d", place, (int)getpid());
    if (length >= (int)sizeof(path))
        return ENAMETOOLONG;
    if (mkdir(path, 0755) < 0)
        return errno;
    if (setting) {
        hutch_autofd int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        /* memory and swap together may not be less than memory alone */
        if (version == 1 && !strcmp(setting->subject, "swap"))
            (void)hutch_write_at(dir, settings[0].file[1], settings[0].value);
        if (hutch_write_at(dir, setting->file[version], setting->value) < 0)
            error = errno;
    }
    (void)rmdir(path);
    return error;
}

static void fail_v1(struct hutch_check *check, const char *controller, const char *place, int error)
{
    if (error == ENOENT) {
        doctor_fail(check, "no '%s', although the controller is mounted", place);
        doctor_remedy(check, "inside a container: docker run --cgroupns=host -v "
                             "/sys/fs/cgroup:/sys/fs/cgroup ...");
        return;
    }
    doctor_fail(check, "no group can be made in '%s': %s", place, strerror(error));
    doctor_remedy(check, "run hutch as root, or do without it: hutch run --allow-missing %s ...",
                  strcmp(controller, "cpu") != 0 ? controller : "cpus");
}

static void check_v1(const char *controller, struct hutch_check *check)
{
    char place[400];
    char mounted[64];
    (void)snprintf(mounted, sizeof(mounted), CGROUP_ROOT "/%s", controller);
    if (magic_of(mounted) != CGROUP_SUPER_MAGIC ||
        !find_place(controller, 1, place, sizeof(place))) {
        doctor_fail(check, "the %s controller is not mounted at '%s'", controller, mounted);
        doctor_remedy(check,
                      "sudo mkdir -p %s && sudo mount -t cgroup -o %s none %s; when that "
                      "fails, boot with cgroup_enable=%s",
                      mounted, controller, mounted, controller);
        return;
    }
    int error = try_group(place, 1, setting_of(controller));
    if (error)
        fail_v1(check, controller, place, error);
    else
        doctor_ok(check, "v1, limits can be set under '%s'", place);
}

static void fail_undelegated(struct hutch_check *check, const char *place, int error)
{
    doctor_fail(check, "'%.150s' is not delegated: %s", place, strerror(error));
    if (doctor_is_root())
        doctor_remedy(check, "inside a container: docker run --privileged --cgroupns=host ...");
    else
        doctor_remedy(check, "systemd-run --user --scope -p Delegate=yes hutch run ..., or run "
                             "hutch as root");
}

static void fail_absent(struct hutch_check *check, const char *controller, const char *place)
{
    doctor_fail(check, "'%.100s' does not offer the %s controller", place, controller);
    if (doctor_is_root())
        doctor_remedy(check, "boot with cgroup_enable=%s on the kernel's command line", controller);
    else
        doctor_remedy(check, "sudo mkdir -p /etc/systemd/system/user@.service.d && printf "
                             "'[Service]\\nDelegate=cpu memory pids\\n' | sudo tee "
                             "/etc/systemd/system/user@.service.d/delegate.conf && sudo systemctl "
                             "daemon-reload, then log in again");
}

/* "No internal processes": a group hands controllers down only when it holds none itself. The
 * engine steps into a leaf for that, which works when it is the only one there. */
static bool can_hand_down(const char *place)
{
    char path[512];
    char text[64];
    if (snprintf(path, sizeof(path), "%s/cgroup.subtree_control", place) >= (int)sizeof(path) ||
        access(path, W_OK) < 0)
        return false;
    (void)snprintf(path, sizeof(path), "%s/cgroup.type", place);
    if (access(path, F_OK) < 0) /* the very root is free of the rule */
        return true;
    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", place);
    if (hutch_read_at(AT_FDCWD, path, text, sizeof(text)) < 0)
        return false;
    return !*text ||
           (strtol(text, NULL, 10) == (long)getpid() && strchr(text, '\n') == strrchr(text, '\n'));
}

static void check_v2(const char *controller, struct hutch_check *check)
{
    char place[400];
    if (!find_place(controller, 2, place, sizeof(place))) {
        doctor_fail(check, "/proc/self/cgroup does not tell this process's group");
        return;
    }
    bool enabled = list_has(place, "cgroup.subtree_control", controller);
    int error = try_group(place, 2, enabled ? setting_of(controller) : NULL);
    if (error) {
        fail_undelegated(check, place, error);
    } else if (!list_has(place, "cgroup.controllers", controller)) {
        fail_absent(check, controller, place);
    } else if (!enabled && !can_hand_down(place)) {
        doctor_fail(check, "'%.120s' holds other processes, so it cannot hand limits down", place);
        doctor_remedy(check, "systemd-run --user --scope -p Delegate=yes hutch run ...");
    } else {
        doctor_ok(check, "v2, limits can be set under '%s'", place);
    }
}

void doctor_check_controller(const struct doctor_row *row, struct hutch_check *check)
{
    if (host_version() == 2)
        check_v2(row->subject, check);
    else
        check_v1(row->subject, check);
    /* without a group, processes are counted by RLIMIT_NPROC in the sandbox's user namespace */
    if (check->status == HUTCH_CHECK_FAIL && !strcmp(row->subject, "pids"))
        check->status = HUTCH_CHECK_WARN;
}

static bool has_swap(void)
{
    char text[512];
    if (hutch_read_at(AT_FDCWD, "/proc/swaps", text, sizeof(text)) < 0)
        return false;
    const char *second_line = strchr(text, '\n');
    return second_line && second_line[1];
}

/* A group has the file when the kernel accounts swap; our own has it even before controllers are
 * handed down to a new one. */
static int try_swap(const char *place, int version)
{
    char path[512];
    if (version == 1 || list_has(place, "cgroup.subtree_control", "memory"))
        return try_group(place, version, setting_of("swap"));
    (void)snprintf(path, sizeof(path), "%s/memory.swap.max", place);
    return access(path, F_OK) < 0 ? errno : 0;
}

void doctor_check_swap(const struct doctor_row *row, struct hutch_check *check)
{
    char place[400];
    int version = host_version();
    (void)row;
    if (!has_swap()) {
        doctor_ok(check, "the machine has no swap");
        return;
    }
    int error =
        find_place("memory", version, place, sizeof(place)) ? try_swap(place, version) : ESRCH;
    if (!error) {
        doctor_ok(check, "the memory limit covers swap");
        return;
    }
    doctor_warn(check, "the memory limit does not cover swap: %s", strerror(error));
    doctor_remedy(check, "%s",
                  error == ENOENT ? "boot with swapaccount=1 on the kernel's command line, or turn "
                                    "swap off: sudo swapoff -a"
                                  : "see cgroup.memory");
}
