/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as they are written in headers. Nothing is rounded: what does not fit is refused. */
#ifndef HUTCH_TAR_NUMBER_H
#define HUTCH_TAR_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Octal, or GNU's base 256, which may be negative. An empty field is 0. */
bool tar_number_read(const char *field, size_t size, int64_t *ret_value);
/* Octal digits and a NUL. Returns false, with zeros in the field, when there are too many. */
bool tar_number_write(char *field, size_t size, uint64_t value);
/* A decimal number of pax: digits and nothing else, at most INT64_MAX. */
bool tar_decimal_read(const char *text, size_t length, uint64_t *ret_value);
/* A time of pax: [-]digits[.digits] */
bool tar_time_read(const char *text, size_t length, struct timespec *ret_time);
#define TAR_TIME_BYTES 40
void tar_time_write(char text[TAR_TIME_BYTES], const struct timespec *time);

#endif
