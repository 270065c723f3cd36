/* SPDX-License-Identifier: Apache-2.0 */
/* A directory in which each file is a secret of its name, as Docker and Kubernetes mount them.
 * There, files are symbolic links to others of the same directory, and who may read them is decided
 * by who has the directory: what counts is that nobody else can change it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/secret_spec.h"
#include "secrets/provider.h"
#include "util/own.h"

static int open_directory(const struct provider *provider, struct hutch_error *err)
{
    const char *path = provider->source.items[0];
    struct stat info;
    hutch_autofd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "open the directory '%.200s'", path);
    if (!provider_trusts(&info))
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "others can change the directory '%.200s'; it must be root's or yours, "
                          "and writable for its owner alone",
                          path);
    return HUTCH_TAKE_FD(fd);
}

static int open_beneath(int directory, const char *name)
{
    struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
}

static int check_file(const struct provider *provider, const char *name, int fd,
                      struct hutch_error *err)
{
    struct stat info;
    if (fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "look at '%.200s/%s'", provider->source.items[0], name);
    if (!S_ISREG(info.st_mode))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.200s/%s' is not a regular file",
                          provider->source.items[0], name);
    if (!provider_trusts(&info))
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "others can change '%.200s/%s'; it must be root's or yours, and writable "
                          "for its owner alone",
                          provider->source.items[0], name);
    return 0;
}

int provider_directory_read(const struct provider *provider, const char *name,
                            struct secret_value *ret_value, struct hutch_error *err)
{
    const char *path = provider->source.items[0];
    hutch_autofd int directory = open_directory(provider, err);
    if (directory < 0)
        return -(int)err->code;
    hutch_autofd int fd = open_beneath(directory, name);
    if (fd < 0 && (errno == EXDEV || errno == ELOOP))
        return hutch_fail(err, HUTCH_E_PERMISSION, errno,
                          "'%.200s/%s' is a symbolic link that leads out of the directory", path,
                          name);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "open '%.200s/%s'", path, name);
    if (check_file(provider, name, fd, err) < 0)
        return -(int)err->code;
    if (provider_read_fd(fd, provider->keeps_newline, ret_value, err) < 0)
        return hutch_wrap(err, "'%.200s/%s': ", path, name);
    return 0;
}

bool provider_directory_has(const struct provider *provider, const char *name)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct stat info;
    hutch_autofd int directory = open_directory(provider, &ignored);
    return directory >= 0 && fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           !S_ISDIR(info.st_mode);
}

static int add_names(int directory, DIR *stream, struct hutch_strlist *names,
                     struct hutch_error *err)
{
    const struct dirent *entry;
    while ((entry = readdir(stream))) {
        struct stat info;
        if (!hutch_secret_name_is_valid(entry->d_name) ||
            fstatat(directory, entry->d_name, &info, 0) < 0 || !S_ISREG(info.st_mode))
            continue;
        if (hutch_strlist_add(names, entry->d_name, err) < 0)
            return -(int)err->code;
    }
    return 0;
}

int provider_directory_list(const struct provider *provider, struct hutch_strlist *names,
                            struct hutch_error *err)
{
    hutch_autofd int directory = open_directory(provider, err);
    if (directory < 0)
        return -(int)err->code;
    int own = fcntl(directory, F_DUPFD_CLOEXEC, 0);
    DIR *stream = own < 0 ? NULL : fdopendir(own);
    if (!stream) {
        int os_errno = errno;
        hutch_fd_close(&own);
        return hutch_fail_errno(err, os_errno, "list the directory '%.200s'",
                                provider->source.items[0]);
    }
    int status = add_names(directory, stream, names, err);
    (void)closedir(stream);
    return status;
}
