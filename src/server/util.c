/* SPDX-License-Identifier: Apache-2.0 */
#include "server/util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

int server_fail(struct hutch_error *err, enum hutch_code code, const char *format, ...)
{
    va_list args;
    err->code = code;
    err->os_errno = 0;
    va_start(args, format);
    (void)vsnprintf(err->msg, sizeof(err->msg), format, args);
    va_end(args);
    return -(int)code;
}

int server_fail_errno(struct hutch_error *err, const char *format, ...)
{
    int cause = errno;
    char what[360];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    enum hutch_code code = cause == EACCES || cause == EPERM ? HUTCH_E_PERMISSION
                           : cause == ENOENT                 ? HUTCH_E_NOT_FOUND
                           : cause == ENOMEM                 ? HUTCH_E_NO_MEMORY
                                                             : HUTCH_E_SYSTEM;
    (void)server_fail(err, code, "%s: %s", what, strerror(cause));
    err->os_errno = cause;
    return -(int)code;
}

int server_fail_nomem(struct hutch_error *err)
{
    return server_fail(err, HUTCH_E_NO_MEMORY, "out of memory");
}

void server_say(const char *format, ...)
{
    char text[640];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
    (void)fprintf(stderr, "hutch: %s\n", text);
}

static uint64_t clock_us(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t server_time_us(void)
{
    return clock_us(CLOCK_REALTIME);
}

uint64_t server_clock_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

bool server_number(const char *text, uint64_t most, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        uint64_t digit = (uint64_t)(unsigned char)*text - '0';
        if (digit > 9 || number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    if (number > most)
        return false;
    *ret_number = number;
    return true;
}

/* The length of the sequence that starts here; 0 when it is none. */
static size_t sequence(const unsigned char *at, size_t left)
{
    if (at[0] < 0x80)
        return 1;
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || left < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool is_long_form = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool is_surrogate = at[0] == 0xed && at[1] > 0x9f;
    bool is_beyond = at[0] == 0xf4 && at[1] > 0x8f;
    return is_long_form || is_surrogate || is_beyond ? 0 : length;
}

bool server_is_utf8(const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t step = sequence((const unsigned char *)text + at, length - at);
        if (!step)
            return false;
        at += step;
    }
    return true;
}

int server_write_all(int fd, const void *data, size_t length)
{
    const char *at = data;
    while (length) {
        ssize_t written = write(fd, at, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        at += written;
        length -= (size_t)written;
    }
    return 0;
}

static char *read_whole(int fd, size_t most, size_t *ret_length)
{
    size_t length = 0;
    char *data = malloc(most + 1);
    for (ssize_t got = 1; data && got > 0; length += (size_t)(got > 0 ? got : 0)) {
        got = length > most ? 0 : read(fd, data + length, most + 1 - length);
        if (got < 0 && errno != EINTR) {
            free(data);
            return NULL;
        }
    }
    if (data && length > most) {
        free(data);
        errno = EFBIG;
        return NULL;
    }
    if (data) {
        data[length] = '\0';
        *ret_length = length;
    }
    return data;
}

char *server_read_file(int directory, const char *name, size_t most, size_t *ret_length)
{
    struct stat info;
    server_autofd int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) < 0)
        return NULL;
    if (!S_ISREG(info.st_mode)) {
        errno = EINVAL;
        return NULL;
    }
    return read_whole(fd, most, ret_length);
}

int server_write_file(int directory, const char *name, const void *data, size_t length)
{
    char fresh[NAME_MAX + 1];
    int written = snprintf(fresh, sizeof(fresh), ".%s.%d", name, (int)gettid());
    if (written < 0 || (size_t)written >= sizeof(fresh)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    server_autofd int fd =
        openat(directory, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (server_write_all(fd, data, length) < 0 || renameat(directory, fresh, directory, name) < 0) {
        int cause = errno;
        (void)unlinkat(directory, fresh, 0);
        errno = cause;
        return -1;
    }
    return 0;
}
