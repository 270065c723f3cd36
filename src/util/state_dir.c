/* SPDX-License-Identifier: Apache-2.0 */
#include "util/state_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"

static int format_directory(const char *kind, char *path, size_t size)
{
    const char *home = getenv("HUTCH_HOME");
    const char *base;
    if (home && *home)
        return snprintf(path, size, "%s/%s", home, kind);
    if (geteuid() == 0)
        return snprintf(path, size, "%s/hutch", strcmp(kind, "run") ? "/var/lib" : "/run");
    if (!strcmp(kind, "run") && (base = getenv("XDG_RUNTIME_DIR")) && *base == '/')
        return snprintf(path, size, "%s/hutch", base);
    if ((base = getenv("XDG_STATE_HOME")) && *base == '/')
        return snprintf(path, size, "%s/hutch/%s", base, kind);
    if ((base = getenv("HOME")) && *base == '/' && access(base, W_OK) == 0)
        return snprintf(path, size, "%s/.local/state/hutch/%s", base, kind);
    return snprintf(path, size, "/tmp/hutch-%u/%s", (unsigned)geteuid(), kind);
}

bool state_exists(const char *kind)
{
    char path[400];
    int length = format_directory(kind, path, sizeof(path));
    if (length <= 0 || (size_t)length >= sizeof(path))
        return false;
    return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

int state_directory(const char *kind, char *ret_path, size_t size, struct hutch_error *err)
{
    struct stat info;
    int length = format_directory(kind, ret_path, size);
    if (length < 0 || (size_t)length >= size || *ret_path != '/')
        return hutch_fail(
            err, HUTCH_E_INVALID, 0,
            "the state directory '%.200s' must be an absolute path below %zu bytes; set "
            "HUTCH_HOME to another one",
            ret_path, size);
    if (lstat(ret_path, &info) < 0) {
        if (hutch_mkdir_p(ret_path, 0700) < 0)
            return hutch_fail_errno(
                err, errno, "make state directory '%.200s' (set HUTCH_HOME to a writable one)",
                ret_path);
        if (lstat(ret_path, &info) < 0)
            return hutch_fail_errno(err, errno, "look at state directory '%.200s'", ret_path);
    }
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || info.st_mode & 022)
        return hutch_fail(
            err, HUTCH_E_PERMISSION, 0,
            "the state directory '%.200s' must be a directory that belongs to uid %u and "
            "that nobody else can write to; set HUTCH_HOME to another one",
            ret_path, (unsigned)geteuid());
    return 0;
}
