/* SPDX-License-Identifier: Apache-2.0 */
/* What every file here needs: ownership, and how a failure is made. */
#ifndef HUTCH_SERVER_UTIL_H
#define HUTCH_SERVER_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "hutch/error.h"

#define SERVER_CLEANUP(fn) __attribute__((cleanup(fn)))
#define SERVER_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SERVER_NO_FD (-1)

static inline void server_freep(void *pointer)
{
    free(*(void **)pointer);
}

static inline void server_closep(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = SERVER_NO_FD;
}

/* Its owner is another from now on. */
static inline int server_take(int *fd)
{
    int taken = *fd;
    *fd = SERVER_NO_FD;
    return taken;
}

#define server_autofree SERVER_CLEANUP(server_freep)
#define server_autofd SERVER_CLEANUP(server_closep)

/* Fills *err and returns -code. */
int server_fail(struct hutch_error *err, enum hutch_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "what: why", from errno. */
int server_fail_errno(struct hutch_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int server_fail_nomem(struct hutch_error *err);

/* "hutch: ..." on standard error, as one line. */
void server_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Since 1970, and of a clock that only goes forward. */
uint64_t server_time_us(void);
uint64_t server_clock_us(void);

/* A whole decimal number; false for anything else, or more than most. */
bool server_number(const char *text, uint64_t most, uint64_t *ret_number);
bool server_is_utf8(const char *text, size_t length);
/* All of it, or -1 and errno. */
int server_write_all(int fd, const void *data, size_t length);
/* A file as it is, up to most bytes; NULL and errno otherwise. Free it with free(). */
char *server_read_file(int directory, const char *name, size_t most, size_t *ret_length);
/* In place of what was there, or not at all: 0600. */
int server_write_file(int directory, const char *name, const void *data, size_t length);

#endif
