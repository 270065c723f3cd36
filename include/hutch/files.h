/* SPDX-License-Identifier: Apache-2.0 */
/* Single files of a sandbox that runs. Everything is done inside it, by a program of hutch's own:
 * links lead nowhere but inside. A path is absolute, or relative to "/". */
#ifndef HUTCH_FILES_H
#define HUTCH_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hutch/error.h"
#include "hutch/sandbox.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hutch_file {
    const char *name;   /* any bytes but '/' and NUL */
    const char *type;   /* "file", "directory", "link", "fifo", "socket" or "device" */
    const char *target; /* of a link, as it is written there; else NULL */
    uint32_t mode;      /* who may do what: 0777 and less */
    uint32_t uid;       /* as they are inside */
    uint32_t gid;
    uint64_t size;
    int64_t modified_us; /* since 1970 */
    uint64_t start;      /* of hutch_sandbox_read_file(): which of its bytes follow; UINT64_MAX when
                            there are none in that range */
    uint64_t length;
};
/* Anything but 0 ends it, and is returned. */
typedef int (*hutch_file_fn)(void *userdata, const struct hutch_file *file);
typedef int (*hutch_bytes_fn)(void *userdata, const char *data, size_t length);

/* A link is told as a link. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_stat_file(struct hutch_sandbox *sandbox,
                                                       const char *path, hutch_file_fn on_file,
                                                       void *userdata, struct hutch_error *err);
/* The directory itself as ".", then what it holds, in no order. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_list_files(struct hutch_sandbox *sandbox,
                                                        const char *path, hutch_file_fn on_file,
                                                        void *userdata, struct hutch_error *err);
/* What it is, then its bytes: length of them, unless this fails. range: "FIRST-LAST", "FIRST-",
 * "-LENGTH", or NULL for all. Links are followed. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_read_file(struct hutch_sandbox *sandbox,
                                                       const char *path, const char *range,
                                                       hutch_file_fn on_file,
                                                       hutch_bytes_fn on_bytes, void *userdata,
                                                       struct hutch_error *err);
/* Asked at the end of what can be read: was that all of it? Otherwise there will be no file. */
typedef bool (*hutch_whole_fn)(void *userdata);
/* Makes a file of what can be read from fd, which belongs to the sandbox's user. It takes the place
 * of another one at the moment when it is whole. is_whole may be NULL. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_write_file(struct hutch_sandbox *sandbox,
                                                        const char *path, uint32_t mode, int fd,
                                                        hutch_whole_fn is_whole, void *userdata,
                                                        struct hutch_error *err);
/* recursive: also a directory that is not empty. A link goes, not what it leads to. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_remove_file(struct hutch_sandbox *sandbox,
                                                         const char *path, bool recursive,
                                                         struct hutch_error *err);

#ifdef __cplusplus
}
#endif
#endif
