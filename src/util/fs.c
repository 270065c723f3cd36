/* SPDX-License-Identifier: Apache-2.0 */
#include "util/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/own.h"

ssize_t hutch_read_at(int dir, const char *path, char *buffer, size_t size)
{
    hutch_autofd int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t length = 0;
    while (length < size - 1) {
        ssize_t got = read(fd, buffer + length, size - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        length += (size_t)got;
    }
    buffer[length] = '\0';
    return (ssize_t)length;
}

int hutch_write_at(int dir, const char *path, const char *text)
{
    hutch_autofd int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t length = strlen(text);
    ssize_t written;
    do /* lowering a memory limit can be interrupted */
        written = write(fd, text, length);
    while (written < 0 && errno == EINTR);
    if (written == (ssize_t)length)
        return 0;
    if (written >= 0)
        errno = EIO;
    return -1;
}

int hutch_write_all(int fd, const void *data, size_t length)
{
    const char *next = data;
    while (length) {
        ssize_t written = write(fd, next, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        next += written;
        length -= (size_t)written;
    }
    return 0;
}

bool hutch_find_number(const char *text, const char *key, uint64_t *ret_value)
{
    const char *line = text;
    size_t key_length = key ? strlen(key) : 0;
    while (key && (strncmp(line, key, key_length) != 0 || line[key_length] != ' ')) {
        line = strchr(line, '\n');
        if (!line)
            return false;
        line++;
    }
    char *end;
    errno = 0;
    const char *digits = key ? line + key_length + 1 : line;
    unsigned long long value = strtoull(digits, &end, 10);
    if (end == digits || errno)
        return false;
    *ret_value = value;
    return true;
}

bool hutch_read_number_at(int dir, const char *path, const char *key, uint64_t *ret_value)
{
    char text[4096];
    return hutch_read_at(dir, path, text, sizeof(text)) >= 0 &&
           hutch_find_number(text, key, ret_value);
}

/* The umask is the whole process's, and not ours to change: what it took away is given back. */
static int make_directory(const char *path, mode_t mode)
{
    struct stat info;
    if (mkdir(path, mode) < 0)
        return errno == EEXIST ? 0 : -1;
    if (lstat(path, &info) < 0)
        return -1;
    return (info.st_mode & 0777) == mode ? 0 : fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW);
}

int hutch_mkdir_p(const char *path, mode_t mode)
{
    char prefix[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof(prefix)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(prefix, path, length + 1);
    for (char *slash = strchr(prefix + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (make_directory(prefix, mode) < 0)
            return -1;
        *slash = '/';
    }
    return make_directory(prefix, mode);
}

int hutch_read_file(const char *path, size_t ceiling, char **ret_text, size_t *ret_length,
                    struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf buf = HUTCH_BUF(ceiling);
    hutch_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "open '%s'", path);
    char chunk[16384];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof(chunk));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hutch_fail_errno(err, errno, "read '%s'", path);
        if (got == 0)
            break;
        if (buf.length + (size_t)got > ceiling)
            return hutch_fail(err, HUTCH_E_INVALID, EFBIG, "'%s' is larger than %zu bytes", path,
                              ceiling);
        hutch_buf_append(&buf, chunk, (size_t)got);
    }
    return hutch_buf_take(&buf, ret_text, ret_length, err);
}
