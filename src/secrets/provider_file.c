/* SPDX-License-Identifier: Apache-2.0 */
/* A file of the operator's, for nobody else to read, and a variable of the process that asks. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "secrets/provider.h"
#include "util/own.h"

static int check_file(const char *path, int fd, struct hutch_error *err)
{
    struct stat info;
    if (fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "look at '%.200s'", path);
    if (!S_ISREG(info.st_mode))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.200s' is not a regular file", path);
    if (info.st_uid != 0 && info.st_uid != geteuid())
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "'%.200s' belongs to user %u; it must be root's or yours", path,
                          (unsigned)info.st_uid);
    if (info.st_mode & 077)
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "'%.200s' has mode %04o, so others can use it; 'chmod 600 %.100s' keeps "
                          "it for its owner",
                          path, (unsigned)info.st_mode & 07777, path);
    return 0;
}

int provider_file_read(const struct provider *provider, struct secret_value *ret_value,
                       struct hutch_error *err)
{
    const char *path = provider->source.items[0];
    /* non-blocking: a FIFO in its place does not make anybody wait */
    hutch_autofd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP)
        return hutch_fail(err, HUTCH_E_PERMISSION, ELOOP,
                          "'%.200s' is a symbolic link; name the file itself", path);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "open '%.200s'", path);
    if (check_file(path, fd, err) < 0)
        return -(int)err->code;
    if (provider_read_fd(fd, provider->keeps_newline, ret_value, err) < 0)
        return hutch_wrap(err, "'%.200s': ", path);
    return 0;
}

int provider_env_read(const struct provider *provider, struct secret_value *ret_value,
                      struct hutch_error *err)
{
    const char *variable = provider->source.items[0];
    const char *text = getenv(variable);
    if (!text)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, 0, "the variable '%.100s' is not set", variable);
    if (provider_take(text, strlen(text), true, ret_value, err) < 0)
        return hutch_wrap(err, "variable '%.100s': ", variable);
    return 0;
}
