/* SPDX-License-Identifier: Apache-2.0 */
/* Linked into the program under test: lets the allocation number HUTCH_TORTURE_ALLOC fail. The
 * linker's --wrap (the list is in meson.build) sends here what hutch and libyaml ask for, the
 * functions of the C library that allocate on their behalf included. */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRED_FD = 51 }; /* as in attempt.c */

static bool fails(const char *name)
{
    static long seen;
    static long number = -1;
    if (number < 0) {
        const char *text = getenv("HUTCH_TORTURE_ALLOC");
        number = text ? strtol(text, NULL, 10) : 0;
    }
    if (++seen != number)
        return false;
    (void)!write(FIRED_FD, name, strlen(name));
    errno = ENOMEM;
    return true;
}

#define WRAP(type, name, parameters, arguments, failure)             \
    type __real_##name parameters;                                   \
    type __wrap_##name parameters;                                   \
    type __wrap_##name parameters                                    \
    {                                                                \
        return fails(#name) ? (failure) : (__real_##name arguments); \
    }

WRAP(void *, malloc, (size_t size), (size), NULL)
WRAP(void *, calloc, (size_t count, size_t size), (count, size), NULL)
WRAP(void *, realloc, (void *old, size_t size), (old, size), NULL)
WRAP(void *, reallocarray, (void *old, size_t count, size_t size), (old, count, size), NULL)
WRAP(char *, strdup, (const char *text), (text), NULL)
WRAP(char *, strndup, (const char *text, size_t length), (text, length), NULL)
WRAP(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
WRAP(FILE *, fopen64, (const char *path, const char *mode), (path, mode), NULL)
WRAP(FILE *, open_memstream, (char **data, size_t *length), (data, length), NULL)
WRAP(DIR *, opendir, (const char *path), (path), NULL)
WRAP(DIR *, fdopendir, (int fd), (fd), NULL)
WRAP(ssize_t, getline, (char **line, size_t *size, FILE *file), (line, size, file), -1)
WRAP(ssize_t, __getdelim, (char **line, size_t *size, int end, FILE *file), (line, size, end, file),
     -1)
WRAP(int, vasprintf, (char **text, const char *fmt, va_list args), (text, fmt, args), -1)

int __wrap_asprintf(char **text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int __wrap_asprintf(char **text, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int length = __wrap_vasprintf(text, fmt, args);
    va_end(args);
    return length;
}
