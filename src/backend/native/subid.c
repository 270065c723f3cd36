/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/subid.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/identity.h"
#include "util/own.h"

#define SUBID_COUNT 65535 /* with the caller's own: every id of the sandbox */

/* The caller's name, without the name service: a static program cannot load its modules. */
static bool own_name(char *name, size_t size)
{
    char line[512];
    bool found = false;
    FILE *file = fopen("/etc/passwd", "re");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof(line), file)) {
        char *rest = NULL;
        char *fields[3];
        for (size_t i = 0; i < 3; i++)
            fields[i] = strtok_r(i ? NULL : line, ":", &rest);
        if (!fields[2] || strtoul(fields[2], NULL, 10) != geteuid())
            continue;
        found = snprintf(name, size, "%s", fields[0]) < (int)size;
    }
    (void)fclose(file);
    return found;
}

static bool find_range(const char *path, const char *name, uint32_t *ret_first)
{
    char line[256];
    char number[16];
    bool found = false;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    (void)snprintf(number, sizeof(number), "%u", (unsigned)geteuid());
    while (!found && fgets(line, sizeof(line), file)) {
        char *rest = NULL;
        char *owner = strtok_r(line, ":", &rest);
        char *first = strtok_r(NULL, ":", &rest);
        char *count = strtok_r(NULL, ":\n", &rest);
        if (!owner || !first || !count || (strcmp(owner, name) != 0 && strcmp(owner, number) != 0))
            continue;
        found = strtoul(count, NULL, 10) >= SUBID_COUNT;
        *ret_first = (uint32_t)strtoul(first, NULL, 10);
    }
    (void)fclose(file);
    return found;
}

static const char *helper(const char *name, char *path, size_t size)
{
    static const char *const places[] = {"/usr/bin", "/bin", "/usr/local/bin"};
    for (size_t i = 0; i < HUTCH_COUNT(places); i++) {
        (void)snprintf(path, size, "%s/%s", places[i], name);
        if (access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}

bool subid_find(uint32_t *ret_uid, uint32_t *ret_gid)
{
    char name[64];
    char path[64];
    return helper("newuidmap", path, sizeof(path)) && helper("newgidmap", path, sizeof(path)) &&
           own_name(name, sizeof(name)) && find_range("/etc/subuid", name, ret_uid) &&
           find_range("/etc/subgid", name, ret_gid);
}

/* The command's id is the caller's; ids below and above it come from the range. */
static int run_helper(const char *name, pid_t child, uint32_t inside, uint32_t own, uint32_t first,
                      struct hutch_error *err)
{
    char path[64];
    char numbers[10][16];
    char *argv[12] = {0};
    const uint32_t values[10] = {
        (uint32_t)child,     0, first, inside, inside, own, 1, inside + 1, first + inside,
        SUBID_COUNT - inside};
    if (!helper(name, path, sizeof(path)))
        return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT, "%s is not installed; install 'uidmap'",
                          name);
    argv[0] = path;
    for (size_t i = 0; i < 10; i++) {
        (void)snprintf(numbers[i], sizeof(numbers[i]), "%u", values[i]);
        argv[i + 1] = numbers[i];
    }
    /* an empty range, below the first id or above the last, is not allowed: skip its three numbers
     */
    if (inside == SUBID_COUNT)
        argv[8] = NULL;
    if (inside == 0)
        memmove(&argv[2], &argv[5], 7 * sizeof(argv[0]));
    pid_t pid;
    int status;
    char *const no_environment[] = {NULL};
    int failed = posix_spawn(&pid, path, NULL, NULL, argv, no_environment);
    if (failed)
        return hutch_fail_errno(err, failed, "run '%s'", path);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return hutch_fail_errno(err, errno, "wait for '%s'", path);
    if (status)
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "'%s' refused the ids of /etc/subuid and /etc/subgid", path);
    return 0;
}

int subid_write_maps(const struct identity *identity, pid_t child, struct hutch_error *err)
{
    if (run_helper("newuidmap", child, identity->uid, geteuid(), identity->first_host_id, err) < 0)
        return -(int)err->code;
    return run_helper("newgidmap", child, identity->gid, getegid(), identity->first_host_gid, err);
}
