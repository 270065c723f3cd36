/* SPDX-License-Identifier: Apache-2.0 */
/* Single files of a sandbox. What is read and what is changed is noted, what is only looked at is
 * not. */
#include "backend/native/files.h"
#include "backend/native/sandbox.h"
#include "hutch/hutch.h"
#include "libhutch/note.h"
#include "libhutch/scratch.h"
#include "util/error.h"

static int check_path(const char *path, struct hutch_error *err)
{
    return *path ? 0 : hutch_fail(err, HUTCH_E_INVALID, 0, "an empty path; write /some/path");
}

static int look(struct hutch_sandbox *sandbox, const struct files_look *look,
                struct hutch_error *err)
{
    OR_SCRATCH(err);
    if (check_path(look->path, err) < 0)
        return -(int)err->code;
    return files_look(sandbox, look, err);
}

int hutch_sandbox_stat_file(struct hutch_sandbox *sandbox, const char *path, hutch_file_fn on_file,
                            void *userdata, struct hutch_error *err)
{
    const struct files_look stat = {
        .mode = "stat", .path = path, .on_file = on_file, .userdata = userdata};
    return look(sandbox, &stat, err);
}

int hutch_sandbox_list_files(struct hutch_sandbox *sandbox, const char *path, hutch_file_fn on_file,
                             void *userdata, struct hutch_error *err)
{
    const struct files_look list = {
        .mode = "list", .path = path, .on_file = on_file, .userdata = userdata};
    return look(sandbox, &list, err);
}

int hutch_sandbox_read_file(struct hutch_sandbox *sandbox, const char *path, const char *range,
                            hutch_file_fn on_file, hutch_bytes_fn on_bytes, void *userdata,
                            struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "copy_out", .from = path};
    const struct files_look read = {.mode = "read",
                                    .path = path,
                                    .word = range,
                                    .on_file = on_file,
                                    .on_bytes = on_bytes,
                                    .userdata = userdata};
    OR_SCRATCH(err);
    if (note_begin(&note, err) < 0)
        return -(int)err->code;
    int status = look(sandbox, &read, err);
    return err->code ? note_end(&note, status, err) : status;
}

int hutch_sandbox_write_file(struct hutch_sandbox *sandbox, const char *path, uint32_t mode, int fd,
                             hutch_whole_fn is_whole, void *userdata, struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "copy_in", .to = path};
    OR_SCRATCH(err);
    if (check_path(path, err) < 0 || note_begin(&note, err) < 0)
        return -(int)err->code;
    return note_end(&note, files_write(sandbox, path, mode, fd, is_whole, userdata, err), err);
}

int hutch_sandbox_remove_file(struct hutch_sandbox *sandbox, const char *path, bool recursive,
                              struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "remove_file", .to = path};
    OR_SCRATCH(err);
    if (check_path(path, err) < 0 || note_begin(&note, err) < 0)
        return -(int)err->code;
    return note_end(&note, files_remove(sandbox, path, recursive, err), err);
}
