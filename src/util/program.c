/* SPDX-License-Identifier: Apache-2.0 */
#include "util/program.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *hutch_program_path(void)
{
    static const char name[] = "/hutch";
    char self[PATH_MAX];
    const char *given = getenv("HUTCH_PROGRAM");
    if (given && *given == '/')
        return given;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[length > 0 ? length : 0] = '\0';
    const char *base = strrchr(self, '/');
    if (base && (!strcmp(base, name) || !strcmp(base, "/hutch-full")))
        return "/proc/self/exe";
    return HUTCH_BINDIR "/hutch";
}
