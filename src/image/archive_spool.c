/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/archive.h"
#include "image/inflate.h"
#include "image/store_work.h"
#include "util/fs.h"
#include "util/own.h"

#define COPY_BYTES (256u << 10)

bool archive_is_compressed(int fd, uint64_t at)
{
    unsigned char front[INFLATE_FRONT_BYTES];
    ssize_t got = pread(fd, front, sizeof(front), (off_t)at);
    return got > 0 && inflate_name(front, (size_t)got)[0];
}

/* A file without a name. Where the filesystem cannot make one it has its name for a moment, below
 * the store's directory for work under way, where a prune would find it. */
static int make_file(const struct image_store *store, struct hutch_error *err)
{
    char name[STORE_WORK_BYTES];
    hutch_autofd int fd = openat(store->dir, "tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return HUTCH_TAKE_FD(fd);
    int r = store_work_path(name, err);
    if (r < 0)
        return r;
    fd = openat(store->dir, name, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || (unlinkat(store->dir, name, 0) < 0 && errno != ENOENT))
        return hutch_fail_errno(err, errno, "make a temporary file in the image store");
    return HUTCH_TAKE_FD(fd);
}

static ssize_t read_fd(void *context, void *buffer, size_t size, struct hutch_error *err)
{
    const int *fd = context;
    ssize_t got = 0;
    do
        got = read(*fd, buffer, size);
    while (got < 0 && errno == EINTR);
    return got < 0 ? hutch_fail_errno(err, errno, "read the archive") : got;
}

static int copy(struct inflate *from, int to, struct hutch_error *err)
{
    hutch_autofree char *buffer = malloc(COPY_BYTES);
    uint64_t left = LAYER_DEFAULT_BYTES;
    ssize_t got = 0;
    if (!buffer)
        return hutch_fail_nomem(err);
    while ((got = inflate_read(from, buffer, COPY_BYTES, err)) > 0) {
        if ((uint64_t)got > left)
            return hutch_fail(err, HUTCH_E_INVALID, 0, "the archive has more than %llu bytes",
                              (unsigned long long)LAYER_DEFAULT_BYTES);
        left -= (uint64_t)got;
        if (hutch_write_all(to, buffer, (size_t)got) < 0)
            return hutch_fail_errno(err, errno, "keep the archive in the image store");
    }
    return got < 0 ? -(int)err->code : 0;
}

int archive_spool(const struct image_store *store, int fd, struct hutch_error *err)
{
    struct inflate *inflate = NULL;
    hutch_autofd int file = make_file(store, err);
    if (file < 0)
        return file;
    if (inflate_new(read_fd, &fd, &inflate, err) < 0)
        return -(int)err->code;
    int status = copy(inflate, file, err);
    inflate_free(inflate);
    return status < 0 ? status : HUTCH_TAKE_FD(file);
}
