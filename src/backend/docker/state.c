/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/docker/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/own.h"
#include "util/state_dir.h"

uint64_t docker_sum(const void *data, size_t length)
{
    const unsigned char *bytes = data;
    uint64_t sum = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

int docker_state(char ret_directory[STATE_BYTES], struct hutch_error *err)
{
    char lib[STATE_BYTES - sizeof("/docker")];
    if (state_directory("lib", lib, sizeof(lib), err) < 0)
        return -(int)err->code;
    (void)snprintf(ret_directory, STATE_BYTES, "%s/docker", lib);
    return 0;
}

/* The directory is made with the first file. */
static int open_new(const char *path)
{
    char directory[PATH_MAX];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    (void)snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(path, '/') - path), path);
    if (mkdir(directory, 0755) < 0 && errno != EEXIST)
        return -1;
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

int docker_state_write(const char *path, mode_t mode, const void *data, size_t length,
                       struct hutch_error *err)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid()) >= PATH_MAX)
        return hutch_fail(err, HUTCH_E_INVALID, ENAMETOOLONG, "'%.200s...' is too long", path);
    (void)unlink(temporary);
    hutch_autofd int fd = open_new(temporary);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "make '%.200s'", temporary);
    if (hutch_write_all(fd, data, length) < 0 || fchmod(fd, mode) < 0) {
        int cause = errno;
        (void)unlink(temporary);
        return hutch_fail_errno(err, cause, "write '%.200s'", path);
    }
    /* A file that somebody has open for writing cannot be executed. */
    hutch_fd_close(&fd);
    if (rename(temporary, path) < 0) {
        int cause = errno;
        (void)unlink(temporary);
        return hutch_fail_errno(err, cause, "write '%.200s'", path);
    }
    return 0;
}
