/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_NATIVE_FILES_H
#define HUTCH_NATIVE_FILES_H

#include "hutch/files.h"

/* mode: "stat", "list" or "read", with the range as its word. on_bytes: of "read" alone. */
struct files_look {
    const char *mode;
    const char *path;
    const char *word;
    hutch_file_fn on_file;
    hutch_bytes_fn on_bytes;
    void *userdata;
};
int files_look(struct hutch_sandbox *sandbox, const struct files_look *look,
               struct hutch_error *err);
int files_write(struct hutch_sandbox *sandbox, const char *path, uint32_t mode, int fd,
                hutch_whole_fn is_whole, void *userdata, struct hutch_error *err);
int files_remove(struct hutch_sandbox *sandbox, const char *path, bool recursive,
                 struct hutch_error *err);

#endif
