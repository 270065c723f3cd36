/* SPDX-License-Identifier: Apache-2.0 */
#include "util/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/own.h"

static const char *const endings[] = {".yml", ".yaml", ".json"};

static bool is_json_name(const char *path)
{
    size_t length = strlen(path);
    return length > 5 && !strcmp(path + length - 5, ".json");
}

void config_file_done(struct config_file *file)
{
    free(file->text);
    file->text = NULL;
}

/* ---- trust ----------------------------------------------------------------------------------- */

static bool is_trusted_owner(const struct stat *info)
{
    return info->st_uid == 0 || info->st_uid == geteuid();
}

static int fail_trust(const char *path, const char *what, struct hutch_error *err)
{
    return hutch_fail(
        err, HUTCH_E_PERMISSION, 0,
        "'%.200s' is not used, for others can change %s; it must belong to root or to "
        "uid %u and be writable for its owner alone: chmod go-w",
        path, what, (unsigned)geteuid());
}

static int check_trust(int dir, int fd, const char *path, struct hutch_error *err)
{
    struct stat info;
    if (fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "look at '%.200s'", path);
    if (!S_ISREG(info.st_mode))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.200s' is not a regular file", path);
    if (!is_trusted_owner(&info) || info.st_mode & 022)
        return fail_trust(path, "it", err);
    if (fstat(dir, &info) < 0)
        return hutch_fail_errno(err, errno, "look at the directory of '%.200s'", path);
    /* in a sticky one nobody can put another file in the place of mine */
    bool is_shared = info.st_mode & 022 && !(info.st_mode & S_ISVTX);
    if (!is_trusted_owner(&info) || is_shared)
        return fail_trust(path, "its directory", err);
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int take(int dir, int fd, const char *path, struct config_file *ret_file,
                struct hutch_error *err)
{
    struct config_file file = {.is_json = is_json_name(path)};
    char self[32];
    if (check_trust(dir, fd, path, err) < 0)
        return -(int)err->code;
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    (void)snprintf(file.path, sizeof(file.path), "%s", path);
    if (hutch_read_file(self, CONFIG_MAX_BYTES, &file.text, &file.length, err) < 0)
        return hutch_wrap(err, "'%.200s': ", path);
    *ret_file = file;
    return 0;
}

static int open_in(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static int fail_open(const char *path, struct hutch_error *err)
{
    if (errno == ELOOP)
        return hutch_fail(err, HUTCH_E_INVALID, ELOOP,
                          "'%.200s' is a symbolic link, which others may lead elsewhere; put the "
                          "file itself there",
                          path);
    return hutch_fail_errno(err, errno, "read '%.200s'", path);
}

int config_file_read(const char *path, struct config_file *ret_file, struct hutch_error *err)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    int length = slash
                     ? snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path + 1), path)
                     : snprintf(directory, sizeof(directory), ".");
    if (!*name || length < 0 || (size_t)length >= sizeof(directory) || strlen(path) >= PATH_MAX)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.200s' is not the name of a file", path);
    hutch_autofd int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    hutch_autofd int fd = dir < 0 ? -1 : open_in(dir, name);
    return fd < 0 ? fail_open(path, err) : take(dir, fd, path, ret_file, err);
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool place_path(enum config_place place, char path[PATH_MAX])
{
    const char *base;
    int length = 0;
    if (place == CONFIG_SYSTEM)
        length = snprintf(path, PATH_MAX, "%s", CONFIG_SYSTEM_DIRECTORY);
    else if ((base = getenv("XDG_CONFIG_HOME")) && *base == '/')
        length = snprintf(path, PATH_MAX, "%s/hutch", base);
    else if ((base = getenv("HOME")) && *base == '/')
        length = snprintf(path, PATH_MAX, "%s/.config/hutch", base);
    return length > 0 && length < PATH_MAX - 64;
}

/* A user's own directory that this process may not even enter is somebody else's: there is no
 * document of the user's in it. The host's own must be readable, or its rules would be lost. */
static bool is_absent(enum config_place place, int os_errno)
{
    return os_errno == ENOENT ||
           (place == CONFIG_USER && (os_errno == ENOTDIR || os_errno == EACCES));
}

/* Not inlined: its paths take pages of stack, and mostly there is no directory to look into. */
static __attribute__((noinline)) int find_in(int dir, const char *directory, const char *name,
                                             struct config_file *ret_file, struct hutch_error *err)
{
    hutch_autofd int found = HUTCH_NO_FD;
    char file[64], path[PATH_MAX + 64], first[PATH_MAX + 64] = "";
    for (size_t i = 0; i < HUTCH_COUNT(endings); i++) {
        (void)snprintf(file, sizeof(file), "%s%s", name, endings[i]);
        (void)snprintf(path, sizeof(path), "%s/%s", directory, file);
        hutch_autofd int fd = open_in(dir, file);
        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0)
            return fail_open(path, err);
        if (found >= 0)
            return hutch_fail(err, HUTCH_E_CONFLICT, 0,
                              "both '%.180s' and '%.180s' are there, keep one of them", first,
                              path);
        found = HUTCH_TAKE_FD(fd);
        memcpy(first, path, sizeof(first));
    }
    if (found < 0)
        return 0;
    int status = take(dir, found, first, ret_file, err);
    return status < 0 ? status : 1;
}

int config_file_find(enum config_place place, const char *name, struct config_file *ret_file,
                     struct hutch_error *err)
{
    char directory[PATH_MAX];
    if (!place_path(place, directory))
        return 0;
    hutch_autofd int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 && is_absent(place, errno))
        return 0;
    if (dir < 0)
        return hutch_fail_errno(err, errno, "look for '%s' in '%.200s'", name, directory);
    return find_in(dir, directory, name, ret_file, err);
}

bool config_has_yaml(const char *const *names, size_t count)
{
    char directory[PATH_MAX], file[64];
    bool found = false;
    for (int place = CONFIG_SYSTEM; place <= CONFIG_USER && !found; place++) {
        if (!place_path((enum config_place)place, directory))
            continue;
        hutch_autofd int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (size_t i = 0; dir >= 0 && i < count && !found; i++)
            for (size_t e = 0; e < HUTCH_COUNT(endings) && !found; e++) {
                (void)snprintf(file, sizeof(file), "%s%s", names[i], endings[e]);
                found = !is_json_name(file) && faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
            }
    }
    return found;
}
