/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "image/archive_save.h"
#include "image/hash.h"
#include "tar/head.h"
#include "util/own.h"

static int fail_write(int os_errno, struct hutch_error *err)
{
    return hutch_fail_errno(err, os_errno, "write the archive");
}

static int write_head(struct save *save, enum tar_type type, const char *name, uint64_t size,
                      struct hutch_error *err)
{
    const struct tar_head head = {.type = type,
                                  .name = name,
                                  .size = size,
                                  .attributes = {.mode = type == TAR_TYPE_DIRECTORY ? 0755 : 0644}};
    return tar_head_write(&save->out, &head, &save->scratch) < 0 ? fail_write(errno, err) : 0;
}

int save_text(struct save *save, const char *name, const char *text, size_t length,
              struct hutch_error *err)
{
    if (write_head(save, TAR_TYPE_FILE, name, length, err) < 0)
        return -(int)err->code;
    if (tar_out_write(&save->out, text, length) < 0 ||
        tar_out_zeros(&save->out, tar_padding(length)) < 0)
        return fail_write(errno, err);
    return 0;
}

int save_directory(struct save *save, const char *name, struct hutch_error *err)
{
    return write_head(save, TAR_TYPE_DIRECTORY, name, 0, err);
}

ssize_t save_read_fd(void *context, void *buffer, size_t size, struct hutch_error *err)
{
    const int *fd = context;
    ssize_t got = 0;
    do
        got = read(*fd, buffer, size);
    while (got < 0 && errno == EINTR);
    return got < 0 ? hutch_fail_errno(err, errno, "read the image store") : got;
}

/* The header has promised the size: a store that does not keep it makes no archive. */
static int copy(struct save *save, const struct save_file *file, struct hash *hash,
                struct hutch_error *err)
{
    for (uint64_t left = file->size; left;) {
        size_t room = 0;
        char *to = tar_out_room(&save->out, &room);
        if (!to)
            return fail_write(errno, err);
        ssize_t got = file->read(file->context, to, left < room ? (size_t)left : room, err);
        if (got < 0)
            return (int)got;
        if (got == 0)
            return hutch_fail(err, HUTCH_E_SYSTEM, 0, "'%s' in the image store is too short",
                              file->digest);
        hash_add(hash, to, (size_t)got);
        tar_out_take(&save->out, (size_t)got);
        left -= (uint64_t)got;
    }
    return tar_out_zeros(&save->out, tar_padding(file->size)) < 0 ? fail_write(errno, err) : 0;
}

bool save_has(const struct save *save, const char *name)
{
    return hutch_strlist_has(&save->written, name);
}

int save_stream(struct save *save, const struct save_file *file, struct hutch_error *err)
{
    char digest[IMAGE_DIGEST_BYTES];
    if (save_has(save, file->name))
        return 0;
    if (hutch_strlist_add(&save->written, file->name, err) < 0 ||
        write_head(save, TAR_TYPE_FILE, file->name, file->size, err) < 0)
        return -(int)err->code;
    struct hash *hash = hash_new();
    if (copy(save, file, hash, err) < 0) {
        hash_free(hash);
        return -(int)err->code;
    }
    if (hash_finish(hash, digest, err) < 0)
        return -(int)err->code;
    if (strcmp(digest, file->digest) != 0)
        return hutch_fail(err, HUTCH_E_SYSTEM, 0,
                          "'%s' in the image store is damaged; remove the image and fetch it again",
                          file->digest);
    return 0;
}
