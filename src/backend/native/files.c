/* SPDX-License-Identifier: Apache-2.0 */
/* Single files, by the half of a copy that runs inside: see copy/entry.h. What it says is held
 * against what it can have said: names have no '/', a range lies within the file, and no byte more
 * is passed on than was announced. */
#include "backend/native/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/copy_half.h"
#include "copy/entry.h"
#include "util/fs.h"
#include "util/own.h"

/* ---- looking --------------------------------------------------------------------------------- */

/* 1, 0 when there is no more, -1 when it ends in the middle. */
static int read_all(int fd, void *target, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t got = read(fd, (char *)target + done, length - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 && done == 0 ? 0 : -1;
        done += (size_t)got;
    }
    return 1;
}

static const char *type_of(uint32_t mode)
{
    static const struct {
        mode_t type;
        const char *name;
    } rows[] = {{S_IFREG, "file"},
                {S_IFDIR, "directory"},
                {S_IFLNK, "link"},
                {S_IFIFO, "fifo"},
                {S_IFSOCK, "socket"}};
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++)
        if ((mode & S_IFMT) == rows[i].type)
            return rows[i].name;
    return "device";
}

static bool is_sound(const struct copy_entry *entry, const char *name, const char *target)
{
    bool is_nowhere = entry->start == COPY_NOWHERE && entry->length == 0;
    return strlen(name) == entry->name_length && strlen(target) == entry->target_length &&
           entry->size <= INT64_MAX &&
           (is_nowhere ||
            (entry->length <= entry->size && entry->start <= entry->size - entry->length));
}

/* Returns 1 with a sound record, 0 at the end, -1 otherwise. */
static int read_entry(int fd, struct copy_entry *entry, char *name, char *target)
{
    int got = read_all(fd, entry, sizeof(*entry));
    if (got <= 0)
        return got;
    if (entry->name_length >= COPY_NAME_BYTES || entry->target_length >= COPY_NAME_BYTES ||
        (entry->name_length && read_all(fd, name, entry->name_length) <= 0) ||
        (entry->target_length && read_all(fd, target, entry->target_length) <= 0))
        return -1;
    name[entry->name_length] = target[entry->target_length] = '\0';
    return is_sound(entry, name, target) ? 1 : -1;
}

static int tell(const struct files_look *look, const struct copy_entry *entry, const char *name,
                const char *target)
{
    const char *last = strrchr(name, '/'); /* whose it is, the caller has said */
    const struct hutch_file file = {.name = last && last[1] ? last + 1 : name,
                                    .type = type_of(entry->mode),
                                    .target = S_ISLNK(entry->mode) ? target : NULL,
                                    .mode = entry->mode & 0777,
                                    .uid = entry->uid,
                                    .gid = entry->gid,
                                    .size = entry->size,
                                    .modified_us = entry->mtime_ns / 1000,
                                    .start = entry->start,
                                    .length = entry->length};
    return look->on_file(look->userdata, &file);
}

/* As many bytes as were announced, or -1. */
static int pass_bytes(int fd, const struct files_look *look, uint64_t left, bool *ret_is_callers)
{
    hutch_autofree char *piece = left ? malloc(COPY_PIECE_BYTES) : NULL;
    while (left) {
        size_t part = left < COPY_PIECE_BYTES ? (size_t)left : COPY_PIECE_BYTES;
        ssize_t got = piece ? read(fd, piece, part) : -1;
        if (got < 0 && piece && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        int status = look->on_bytes(look->userdata, piece, (size_t)got);
        *ret_is_callers = status != 0;
        if (status)
            return status;
        left -= (uint64_t)got;
    }
    return 0;
}

/* 0, what the caller has returned, or -1 with the failure of a stream that makes no sense. */
static int hear(const struct copy *copy, const struct files_look *look, bool *ret_is_callers,
                struct tar_failure *failure)
{
    struct copy_entry entry;
    hutch_autofree char *names = malloc((size_t)2 * COPY_NAME_BYTES);
    int got, status = 0;
    *failure = (struct tar_failure){.what = names ? TAR_TRUNCATED : TAR_MEMORY};
    if (!names)
        return -1;
    char *target = names + COPY_NAME_BYTES;
    while ((got = read_entry(copy->data, &entry, names, target)) > 0 && status == 0) {
        status = tell(look, &entry, names, target);
        *ret_is_callers = status != 0;
        if (status == 0 && look->on_bytes)
            return pass_bytes(copy->data, look, entry.length, ret_is_callers);
    }
    return status ? status : got;
}

int files_look(struct hutch_sandbox *sandbox, const struct files_look *look,
               struct hutch_error *err)
{
    struct copy copy = COPY_INIT(sandbox, NULL, NULL);
    struct tar_failure failure = {0};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    bool is_callers = false;
    if (copy_begin_piped(&copy, look->mode, look->path, look->word, err) < 0)
        return copy_give_up(&copy, err);
    int ours = hear(&copy, look, &is_callers, &failure);
    if (!is_callers)
        return copy_finish(&copy, ours, &failure, err);
    (void)!copy_finish(&copy, 0, &failure, &ignored); /* it only lost its pipe */
    return ours;
}

/* ---- changing -------------------------------------------------------------------------------- */

static int fail_stream(enum tar_what what, struct tar_failure *failure)
{
    *failure = (struct tar_failure){.what = what, .os_errno = errno};
    return -1;
}

/* In pieces, and at last one of length 0 if that was all. */
static int send_pieces(int from, int to, struct tar_failure *failure)
{
    hutch_autofree char *piece = malloc(sizeof(uint32_t) + COPY_PIECE_BYTES);
    ssize_t got = 0;
    if (!piece)
        return fail_stream(TAR_MEMORY, failure);
    while (copy_await(from, to) &&
           ((got = read(from, piece + sizeof(uint32_t), COPY_PIECE_BYTES)) > 0 ||
            (got < 0 && errno == EINTR))) {
        uint32_t length = got > 0 ? (uint32_t)got : 0;
        memcpy(piece, &length, sizeof(length));
        if (length && hutch_write_all(to, piece, sizeof(length) + length) < 0)
            return fail_stream(TAR_STREAM, failure);
    }
    return got < 0 ? fail_stream(TAR_SOURCE, failure) : 0;
}

int files_write(struct hutch_sandbox *sandbox, const char *path, uint32_t mode, int fd,
                hutch_whole_fn is_whole, void *userdata, struct hutch_error *err)
{
    struct copy copy = COPY_INIT(sandbox, NULL, NULL);
    struct tar_failure failure = {0};
    static const uint32_t end = 0;
    char digits[16];
    (void)snprintf(digits, sizeof(digits), "%o", mode & 0777);
    if (copy_learn_user(&copy, err) < 0)
        return -(int)err->code;
    copy_write_map(&copy);
    if (copy_begin_piped(&copy, "put", path, digits, err) < 0)
        return copy_give_up(&copy, err);
    int ours = send_pieces(fd, copy.data, &failure);
    if (ours == 0 && (!is_whole || is_whole(userdata)) &&
        hutch_write_all(copy.data, &end, sizeof(end)) < 0)
        ours = fail_stream(TAR_STREAM, &failure);
    return copy_finish(&copy, ours, &failure, err);
}

int files_remove(struct hutch_sandbox *sandbox, const char *path, bool recursive,
                 struct hutch_error *err)
{
    struct copy copy = COPY_INIT(sandbox, NULL, NULL);
    const struct tar_failure none = {0};
    if (copy_begin_piped(&copy, "remove", path, recursive ? "tree" : NULL, err) < 0)
        return copy_give_up(&copy, err);
    return copy_finish(&copy, 0, &none, err);
}
