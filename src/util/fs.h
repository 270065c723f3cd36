/* SPDX-License-Identifier: Apache-2.0 */
/* Small files: the kernel's knobs and our own records. */
#ifndef HUTCH_UTIL_FS_H
#define HUTCH_UTIL_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

/* Reads at most size - 1 bytes and ends them with NUL. Returns the length, or -1 with errno. */
ssize_t hutch_read_at(int dir, const char *path, char *buffer, size_t size);
/* Writes the text in one call, as kernel files want it. Returns 0, or -1 with errno. */
int hutch_write_at(int dir, const char *path, const char *text);
/* Writes all of it, however often the kernel cuts it short. Returns 0, or -1 with errno. */
int hutch_write_all(int fd, const void *data, size_t length);
/* The number after "key " in a text of such lines, or the whole text's when key is NULL. Returns
 * false when absent. */
bool hutch_find_number(const char *text, const char *key, uint64_t *ret_value);
/* The same in a file. */
bool hutch_read_number_at(int dir, const char *path, const char *key, uint64_t *ret_value);
/* mkdir -p of an absolute path with mode, whatever the umask, for what is missing. Returns 0, or -1
 * with errno. */
int hutch_mkdir_p(const char *path, mode_t mode);
/* Reads a whole file of at most ceiling bytes. */
int hutch_read_file(const char *path, size_t ceiling, char **ret_text, size_t *ret_length,
                    struct hutch_error *err);

#endif
