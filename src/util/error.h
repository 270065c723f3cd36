/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_UTIL_ERROR_H
#define HUTCH_UTIL_ERROR_H

#include "hutch/error.h"

/* Fills *err and returns -code, so that make-and-return is one line. err may be NULL. */
int hutch_fail(struct hutch_error *err, enum hutch_code code, int os_errno, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts context before the cause ("mount '/a': " + cause). The cause is never cut; the context is.
 * Returns -err->code. */
int hutch_wrap(struct hutch_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The code that fits an errno best. */
enum hutch_code hutch_code_from_errno(int os_errno);

/* hutch_fail with the code taken from errno and ": strerror" appended. */
int hutch_fail_errno(struct hutch_error *err, int os_errno, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

int hutch_fail_nomem(struct hutch_error *err);

#endif
