/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tar/format.h"
#include "tar/name.h"

#define OPEN_PLACE (O_PATH | O_DIRECTORY | O_CLOEXEC)

static int set_name(struct tar_destination *destination, const char *name,
                    struct tar_failure *failure)
{
    size_t length = strlen(name);
    if (length >= sizeof(destination->name))
        return tar_fail(failure, TAR_TARGET, ENAMETOOLONG, name);
    if (!tar_name_is_component(name))
        return tar_fail(failure, TAR_NAME, 0, name);
    memcpy(destination->name, name, length + 1);
    return 0;
}

/* The path up to and with its last slash. */
static int open_parent(int dir, const char *path, const char *last)
{
    char parent[4096];
    size_t length = (size_t)(last - path);
    if (length == 0)
        return openat(dir, ".", OPEN_PLACE);
    if (length >= sizeof(parent)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(parent, path, length);
    parent[length] = '\0';
    return openat(dir, parent, OPEN_PLACE);
}

/* Somebody who writes /dev/null or /dev/stdout does not want a file there. Only a guard against
 * mistakes: what comes to have the name later is replaced. */
static bool is_special(int dir, const char *name)
{
    struct stat info;
    return fstatat(dir, name, &info, 0) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

int tar_destination_open(int dir, const char *path, const char *source_name,
                         struct tar_destination *ret_destination, struct tar_failure *failure)
{
    struct tar_destination found;
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    const char *name = source_name;
    found.fd = openat(dir, *path ? path : ".", OPEN_PLACE);
    /* a name that is not there yet, or that a file has */
    if (found.fd < 0 && *last && (errno == ENOENT || errno == ENOTDIR)) {
        found.fd = open_parent(dir, path, last);
        name = last;
    }
    if (found.fd < 0)
        return tar_fail(failure, TAR_TARGET, errno, path);
    int status = set_name(&found, name, failure);
    if (status == 0 && is_special(found.fd, found.name))
        status = tar_fail(failure, TAR_SPECIAL, 0, path);
    if (status < 0) {
        (void)close(found.fd);
        return -1;
    }
    *ret_destination = found;
    return 0;
}
