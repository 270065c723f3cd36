/* SPDX-License-Identifier: Apache-2.0 */
/* What can be known about a kind of pool before there is one. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backend/native/pool_kind.h"
#include "util/fs.h"
#include "util/own.h"

#define LIST_CEILING (8 << 20)

bool pool_find_program(const char *name, char *ret_path, size_t size)
{
    static const char *const places[] = {"/usr/sbin", "/sbin", "/usr/bin", "/bin"};
    for (size_t i = 0; i < HUTCH_COUNT(places); i++) {
        (void)snprintf(ret_path, size, "%s/%s", places[i], name);
        if (access(ret_path, X_OK) == 0)
            return true;
    }
    return false;
}

static enum pool_prospect list_has(const char *path, const char *text)
{
    hutch_autofree char *list = NULL;
    size_t length;
    struct hutch_error ignored;
    if (hutch_read_file(path, LIST_CEILING, &list, &length, &ignored) < 0)
        return POOL_MIGHT;
    return strstr(list, text) ? POOL_CAN : POOL_CANNOT;
}

/* A module that is loaded has a directory, a filesystem that is there is listed, and what could be
 * loaded or is built in stands in the lists that come with the kernel. A kernel without such lists,
 * as in small virtual machines, keeps it to itself. */
static enum pool_prospect kernel_has(const char *module)
{
    static const char *const lists[] = {"modules.builtin", "modules.dep"};
    char path[320], line[64];
    struct utsname kernel;
    (void)snprintf(path, sizeof(path), "/sys/module/%s", module);
    (void)snprintf(line, sizeof(line), "\t%s\n", module);
    if (access(path, F_OK) == 0 || list_has("/proc/filesystems", line) == POOL_CAN)
        return POOL_CAN;
    if (uname(&kernel) < 0)
        return POOL_MIGHT;
    enum pool_prospect best = POOL_CANNOT;
    (void)snprintf(line, sizeof(line), "/%s.ko", module);
    for (size_t i = 0; i < HUTCH_COUNT(lists); i++) {
        (void)snprintf(path, sizeof(path), "/lib/modules/%s/%s", kernel.release, lists[i]);
        enum pool_prospect prospect = list_has(path, line);
        if (prospect > best)
            best = prospect;
    }
    return best;
}

enum pool_prospect pool_prospect(const struct pool_kind *kind, char *why, size_t why_size)
{
    char path[64];
    enum pool_prospect worst = POOL_CAN;
    if (!pool_find_program(kind->program, path, sizeof(path))) {
        (void)snprintf(why, why_size, "%s is not installed (apt-get install %s)", kind->program,
                       kind->package);
        return POOL_CANNOT;
    }
    for (const char *const *module = kind->modules; *module; module++) {
        enum pool_prospect prospect = kernel_has(*module);
        if (prospect == POOL_CANNOT)
            (void)snprintf(why, why_size, "the kernel has no %s", *module);
        if (prospect < worst)
            worst = prospect;
    }
    return worst;
}
