/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of hutch's own, which it carries with it and executes by descriptor. */
#ifndef HUTCH_NATIVE_PROGRAMS_H
#define HUTCH_NATIVE_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "util/error.h"

struct program {
    const char *name;
    const char *sum; /* of the image: tells versions apart */
    const void *image;
    size_t length;
    mode_t mode; /* of the copy that root keeps: nobody but root reads or writes it */
};

extern const struct program program_init;
extern const struct program program_gateway;

/* Where root keeps a copy, that; otherwise a sealed memory file, and root makes the copy for the
 * next time. The descriptor is never INIT_SOCKET_FD. */
int program_open(const struct program *program, bool privileged, struct hutch_error *err);
/* One that was started and never said a word: should it have been a copy, the next is not. */
void program_forget(const struct program *program);
/* In a sealed memory file. */
int program_memfd(const char *name, const void *image, size_t length, struct hutch_error *err);
/* hutch-init for a container, as a file: never a sanitizer's, which needs libraries. */
const void *program_guest(size_t *ret_length);
/* Removes copies that are other versions'. Were there any? */
bool program_remove_old(bool dry_run);

#endif
