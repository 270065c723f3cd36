/* SPDX-License-Identifier: Apache-2.0 */
/* What may be installed on the host: ids for ordinary users, the disk pool, other engines. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backend/native/doctor_check.h"
#include "util/own.h"

void doctor_check_map_helper(const struct doctor_row *row, struct hutch_check *check)
{
    char path[256];
    if (doctor_find_program(row->subject, path, sizeof(path))) {
        doctor_ok(check, "%s", path);
    } else if (doctor_is_root()) {
        doctor_ok(check, "not installed; root needs none");
    } else {
        doctor_warn(check, "not installed: every file inside belongs to one user");
        doctor_remedy(check, "sudo apt-get install uidmap");
    }
}

/* The caller's name without the name service, whose modules a static program cannot load. */
static bool own_name(char *ret_name, size_t size)
{
    hutch_autofree char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    FILE *file = fopen("/etc/passwd", "re");
    if (!file)
        return false;
    while (!found && getline(&line, &capacity, file) > 0) {
        char *rest = line;
        const char *name = strsep(&rest, ":");
        (void)strsep(&rest, ":");
        const char *uid = strsep(&rest, ":");
        if (uid && *uid && strtoul(uid, NULL, 10) == geteuid())
            found = snprintf(ret_name, size, "%s", name) < (int)size;
    }
    (void)fclose(file);
    return found;
}

void doctor_check_sub_ids(const struct doctor_row *row, struct hutch_check *check)
{
    char name[64];
    char number[16];
    if (doctor_is_root()) {
        doctor_ok(check, "root needs none");
        return;
    }
    (void)snprintf(number, sizeof(number), "%u", (unsigned)geteuid());
    if (!own_name(name, sizeof(name)))
        (void)snprintf(name, sizeof(name), "%s", number);
    /* "name:first:count": a later field could only be taken for the owner if it were a number */
    if (doctor_file_has_word(row->subject, name, ":\n")) {
        doctor_ok(check, "'%s' has ids in %s", name, row->subject);
        return;
    }
    doctor_warn(check, "'%s' has no ids in %s", name, row->subject);
    doctor_remedy(check, "sudo usermod --add-sub%s 100000-165535 %s",
                  strstr(row->subject, "uid") ? "uids" : "gids", name);
}

void doctor_check_loop(const struct doctor_row *row, struct hutch_check *check)
{
    (void)row;
    if (!doctor_is_root()) {
        doctor_ok(check, "not used: only root has a disk pool");
    } else if (access("/dev/loop-control", R_OK | W_OK) == 0) {
        doctor_ok(check, "loop devices are there");
    } else {
        doctor_warn(check, "/dev/loop-control: %s", strerror(errno));
        doctor_remedy(check, "modprobe loop");
    }
}

/* Is a module for this kernel installed or built in? */
static bool kernel_has_module(const char *file)
{
    static const char *const lists[] = {"modules.builtin", "modules.dep"};
    struct utsname name;
    if (uname(&name) < 0)
        return false;
    for (size_t i = 0; i < HUTCH_COUNT(lists); i++) {
        char path[sizeof(name.release) + 64];
        (void)snprintf(path, sizeof(path), "/lib/modules/%s/%s", name.release, lists[i]);
        if (doctor_file_has_word(path, file, "/:\n "))
            return true;
    }
    return false;
}

static bool kernel_has_btrfs(void)
{
    return doctor_file_has_word("/proc/filesystems", "btrfs", "\t\n") ||
           kernel_has_module("btrfs.ko");
}

/* Quota format v2, built in and without a module list as in small virtual machines, is told only by
 * the symbol table, whose names are for everybody to read. */
static bool kernel_has_project_quota(void)
{
    return kernel_has_module("quota_v2.ko") ||
           doctor_file_has_word("/proc/kallsyms", "v2_read_file_info", " \t\n");
}

/* Either of the two can carry the pool of disk-backed writable layers. */
static const struct pool_kind {
    const char *name;
    bool (*in_kernel)(void);
    const char *kernel_needs;
    const char *program;
    const char *package;
} pool_kinds[] = {
    {"btrfs", kernel_has_btrfs, "btrfs", "mkfs.btrfs", "btrfs-progs"},
    {"ext4", kernel_has_project_quota, "quota format v2 (CONFIG_QFMT_V2)", "mkfs.ext4",
     "e2fsprogs"},
};

void doctor_check_pool(const struct doctor_row *row, struct hutch_check *check)
{
    char path[256];
    const struct pool_kind *lacking = NULL;
    (void)row;
    if (!doctor_is_root()) {
        doctor_ok(check, "not used: only root has a disk pool");
        return;
    }
    for (size_t i = 0; i < HUTCH_COUNT(pool_kinds); i++) {
        if (!pool_kinds[i].in_kernel())
            continue;
        if (doctor_find_program(pool_kinds[i].program, path, sizeof(path))) {
            doctor_ok(check, "%s with quotas: kernel and %s are there", pool_kinds[i].name, path);
            return;
        }
        lacking = &pool_kinds[i];
    }
    if (lacking) {
        doctor_warn(check, "%s is not installed", lacking->program);
        doctor_remedy(check, "sudo apt-get install %s", lacking->package);
        return;
    }
    doctor_warn(check, "this kernel has neither %s nor %s", pool_kinds[0].kernel_needs,
                pool_kinds[1].kernel_needs);
    doctor_remedy(check, "a distribution kernel: apt-get install linux-image-amd64");
}

static int connect_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    hutch_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return errno;
    return 0;
}

void doctor_check_docker(const struct doctor_row *row, struct hutch_check *check)
{
    static const char scheme[] = "unix://";
    const char *host = getenv("DOCKER_HOST");
    const char *path = "/var/run/docker.sock";
    char program[256];
    if (host && *host && strncmp(host, scheme, sizeof(scheme) - 1) != 0) {
        doctor_ok(check, "DOCKER_HOST is '%.100s' (not tried)", host);
        return;
    }
    if (host && *host)
        path = host + sizeof(scheme) - 1;
    int error = connect_unix(path);
    if (!error) {
        doctor_ok(check, "answers at '%.100s'", path);
        return;
    }
    doctor_warn(check, "optional; nothing answers at '%.100s': %s", path, strerror(error));
    if (error == EACCES)
        doctor_remedy(check, "sudo usermod -aG docker $USER, then log in again");
    else if (doctor_find_program("dockerd", program, sizeof(program)))
        doctor_remedy(check, "sudo systemctl start docker");
    else
        doctor_remedy(check, "sudo apt-get install %s", row->package);
}

void doctor_check_program(const struct doctor_row *row, struct hutch_check *check)
{
    char path[256];
    if (doctor_find_program(row->subject, path, sizeof(path))) {
        doctor_ok(check, "%s", path);
        return;
    }
    doctor_warn(check, "optional; %s is not installed", row->subject);
    doctor_remedy(check, "sudo apt-get install %s", row->package);
}
