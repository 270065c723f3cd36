/* SPDX-License-Identifier: Apache-2.0 */
#include "image/build_context.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/expand.h"
#include "image/inflate.h"
#include "tar/tar.h"
#include "util/own.h"

#define CONTEXT_NAME "tmp/context"
#define DOCKERFILE_NAME_BYTES 1024

struct unpacking {
    struct inflate *inflate;
    struct hutch_error *err; /* why there is no more to read */
    char buffer[64u << 10];  /* full, it is whole blocks of an archive */
};

static ssize_t lend(void *userdata, const char **ret_data)
{
    struct unpacking *unpacking = userdata;
    ssize_t length = inflate_fill(unpacking->inflate, unpacking->buffer, sizeof(unpacking->buffer),
                                  unpacking->err);
    *ret_data = unpacking->buffer;
    if (length < 0)
        errno = EIO;
    return length;
}

static int fail_unpack(const struct tar_failure *failure, struct hutch_error *err)
{
    if (err->code)
        return hutch_wrap(err, "the directory to build in: ");
    return hutch_fail(err, failure->os_errno ? HUTCH_E_SYSTEM : HUTCH_E_INVALID, failure->os_errno,
                      "the directory to build in: %s%s%.200s%s", tar_failure_text(failure->what),
                      failure->path[0] ? " '" : "", failure->path, failure->path[0] ? "'" : "");
}

static int unpack(int dir, struct inflate *inflate, struct hutch_error *err)
{
    struct unpacking unpacking = {.inflate = inflate, .err = err};
    struct tar_failure failure = {.what = TAR_FINE};
    const struct tar_unpack_options options = {.dir = dir,
                                               .names = TAR_NAMES_REFUSE,
                                               .lend = lend,
                                               .context = &unpacking,
                                               .max_bytes = LAYER_DEFAULT_BYTES,
                                               .max_entries = LAYER_DEFAULT_ENTRIES};
    return tar_unpack(&options, -EBADF, &failure) < 0 ? fail_unpack(&failure, err) : 0;
}

/* Whatever compression it has: programs take the one sort, we the other. */
static int expand_into(int dir, int fd, struct hutch_error *err)
{
    struct expand *expand = NULL;
    struct inflate *inflate = NULL;
    int r = expand_new(fd, &expand, err);
    if (r < 0)
        return r;
    r = inflate_new(expand_read, expand, &inflate, err);
    if (r >= 0)
        r = unpack(dir, inflate, err);
    if (inflate)
        inflate_free(inflate);
    expand_free(expand);
    return r;
}

/* A symlink on the way could lead to a file of the host's, whose lines buildah would tell. */
static int find_dockerfile(int dir, const char *name, struct hutch_error *err)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                 .resolve =
                                     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    struct stat info;
    hutch_autofd int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        strlen(name) < DOCKERFILE_NAME_BYTES)
        return 0;
    return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                      "the archive has no file '%.200s'; put the Dockerfile there, or name another "
                      "that is in it, by a path without symlinks",
                      name);
}

/* Nor may what says which files are left out: who builds follows a link there, and tells lines that
 * make no sense. */
static int check_ignores(int dir, const char *dockerfile, struct hutch_error *err)
{
    static const char *const suffixes[] = {".dockerignore", ".containerignore"};
    char path[DOCKERFILE_NAME_BYTES + 32];
    struct stat info;
    for (size_t i = 0; i < 2 * HUTCH_COUNT(suffixes); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", i % 2 ? dockerfile : "", suffixes[i / 2]);
        if (fstatat(dir, path, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode))
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "'%.200s' of the archive is a link; put the file itself there", path);
    }
    return 0;
}

int build_context_unpack(const struct build_place *place, int fd, const char *dockerfile,
                         struct build_context *ret_context, struct hutch_error *err)
{
    const char *name = dockerfile ? dockerfile : "Dockerfile";
    if (mkdirat(place->dir, CONTEXT_NAME, 0700) < 0)
        return hutch_fail_errno(err, errno, "make a directory in '%s'", place->path);
    hutch_autofd int dir =
        openat(place->dir, CONTEXT_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return hutch_fail_errno(err, errno, "open a directory in '%s'", place->path);
    int r = expand_into(dir, fd, err);
    if (r >= 0)
        r = find_dockerfile(dir, name, err);
    if (r >= 0)
        r = check_ignores(dir, name, err);
    if (r < 0)
        return r;
    (void)snprintf(ret_context->directory, sizeof(ret_context->directory), "%s/" CONTEXT_NAME,
                   place->path);
    (void)snprintf(ret_context->dockerfile, sizeof(ret_context->dockerfile), "%s/%s",
                   ret_context->directory, name);
    return 0;
}
