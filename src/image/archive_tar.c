/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/archive.h"
#include "tar/name.h"
#include "tar/read.h"
#include "util/own.h"

/* An image has two files and one for each layer, and up to three for each in the old layout. */
#define MAX_MEMBERS 100000u
#define MAX_NAME_BYTES 4096u

static const struct tar_unpack_options strict = {.names = TAR_NAMES_REFUSE,
                                                 .max_name_bytes = MAX_NAME_BYTES};

struct list {
    struct archive_members members;
    struct tar_reader reader;
    struct tar_failure failure;
    uint64_t size; /* of the archive */
};

static int fail_tar(const struct tar_failure *failure, struct hutch_error *err)
{
    const char *text = tar_failure_text(failure->what);
    if (failure->os_errno)
        return hutch_fail_errno(err, failure->os_errno, "read the archive: %s '%.200s'", text,
                                failure->path);
    return hutch_fail(err, HUTCH_E_INVALID, 0, "%s%s%.200s%s", text, failure->path[0] ? ": '" : "",
                      failure->path, failure->path[0] ? "'" : "");
}

/* Where the next unread byte of the stream lies in the file. */
static int position(const struct tar_reader *reader, uint64_t *ret_position,
                    struct hutch_error *err)
{
    off_t at = lseek(reader->in.fd, 0, SEEK_CUR);
    if (at < 0)
        return hutch_fail_errno(err, errno, "find the place in the archive");
    *ret_position = (uint64_t)at - (reader->in.end - reader->in.at);
    return 0;
}

/* Content is looked at later, if at all: the reader goes on behind it. */
static int pass_content(struct list *list, uint64_t from, struct hutch_error *err)
{
    struct tar_reader *reader = &list->reader;
    uint64_t length = reader->left;
    if (from > list->size || length > list->size - from)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the archive ends in the middle of '%.200s'; it is not all there",
                          tar_text_of(&reader->entry.name));
    if (length <= reader->in.end - reader->in.at) {
        reader->in.at += length;
    } else if (lseek(reader->in.fd, (off_t)(from + length), SEEK_SET) < 0) {
        return hutch_fail_errno(err, errno, "pass over '%.200s' in the archive",
                                tar_text_of(&reader->entry.name));
    } else {
        reader->in.at = reader->in.end = 0;
    }
    reader->left = 0;
    return 0;
}

/* The name that a symlink in this archive leads to, as far as names alone can tell; NULL when it
 * leads out of it. */
static char *resolve_link(const char *name, const char *target)
{
    char path[2 * MAX_NAME_BYTES + 2];
    const char *slash = strrchr(name, '/');
    size_t used = target[0] != '/' && slash ? (size_t)(slash - name) : 0;
    memcpy(path, name, used);
    for (const char *at = target; *at;) {
        size_t length = strcspn(at, "/");
        if (length == 2 && at[0] == '.' && at[1] == '.') {
            if (used == 0)
                return NULL;
            while (used && path[--used] != '/')
                continue;
        } else if (length && !(length == 1 && at[0] == '.')) {
            if (used + length + 2 > sizeof(path))
                return NULL;
            if (used)
                path[used++] = '/';
            memcpy(path + used, at, length);
            used += length;
        }
        at += length + (at[length] == '/');
    }
    return strndup(path, used);
}

static struct archive_member *add_member(struct archive_members *members)
{
    if (members->count == members->capacity) {
        size_t capacity = members->capacity ? members->capacity * 2 : 64;
        struct archive_member *items = reallocarray(members->items, capacity, sizeof(*items));
        if (!items)
            return NULL;
        members->items = items;
        members->capacity = capacity;
    }
    struct archive_member *member = &members->items[members->count++];
    *member = (struct archive_member){0};
    return member;
}

/* A hard link names its target from the top, a symlink from where it stands. */
static int fill_link(struct archive_member *member, const struct tar_entry *entry,
                     struct hutch_error *err)
{
    bool is_symlink = entry->type == TAR_TYPE_SYMLINK;
    const char *target = tar_text_of(&entry->link);
    if (entry->link.length > MAX_NAME_BYTES)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the link '%.200s' in the archive is too long",
                          member->name);
    member->link = resolve_link(is_symlink ? member->name : "", target);
    if (!member->link)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the link '%.200s' leads out of the archive",
                          member->name);
    return 0;
}

static int take_entry(struct list *list, struct hutch_error *err)
{
    struct tar_entry *entry = &list->reader.entry;
    uint64_t at = 0;
    enum tar_what what = tar_name_clean(&entry->name, &strict);
    if (what != TAR_FINE) {
        (void)tar_fail(&list->failure, what, 0, tar_text_of(&entry->name));
        return fail_tar(&list->failure, err);
    }
    if (position(&list->reader, &at, err) < 0)
        return -(int)err->code;
    bool is_file = entry->type == TAR_TYPE_FILE && !entry->sparse;
    bool is_link = entry->type == TAR_TYPE_SYMLINK || entry->type == TAR_TYPE_LINK;
    uint64_t size = list->reader.left;
    if (is_file || is_link) {
        if (list->members.count == MAX_MEMBERS)
            return hutch_fail(err, HUTCH_E_INVALID, 0, "the archive has more than %u files",
                              MAX_MEMBERS);
        struct archive_member *member = add_member(&list->members);
        if (!member || !(member->name = strdup(tar_text_of(&entry->name))))
            return hutch_fail_nomem(err);
        member->offset = at;
        member->size = is_file ? size : 0;
        if (is_link && fill_link(member, entry, err) < 0)
            return -(int)err->code;
    }
    return pass_content(list, at, err);
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct archive_member *)a)->name,
                  ((const struct archive_member *)b)->name);
}

/* Of two files with one name two readers may take different ones: whoever checked such an archive
 * may have looked at the other. */
static int sort(struct archive_members *members, struct hutch_error *err)
{
    if (members->count)
        qsort(members->items, members->count, sizeof(*members->items), compare);
    for (size_t i = 1; i < members->count; i++)
        if (compare(&members->items[i - 1], &members->items[i]) == 0)
            return hutch_fail(err, HUTCH_E_INVALID, 0, "the archive has '%.200s' twice",
                              members->items[i].name);
    return 0;
}

int archive_tar_list(int fd, struct archive_members *ret_members, struct hutch_error *err)
{
    struct list list = {0};
    struct stat info;
    int got = 0, status = 0;
    if (fstat(fd, &info) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return hutch_fail_errno(err, errno, "read the archive");
    list.size = (uint64_t)info.st_size;
    if (tar_reader_init(&list.reader, &strict, fd, &list.failure) < 0)
        return hutch_fail_nomem(err);
    while (status == 0 && (got = tar_reader_next(&list.reader)) > 0)
        status = take_entry(&list, err);
    if (status == 0 && got < 0)
        status = fail_tar(&list.failure, err);
    if (status == 0)
        status = sort(&list.members, err);
    tar_reader_done(&list.reader);
    if (status < 0)
        archive_members_done(&list.members);
    else
        *ret_members = list.members;
    return status;
}

void archive_members_done(struct archive_members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        free(members->items[i].name);
        free(members->items[i].link);
    }
    free(members->items);
    *members = (struct archive_members){0};
}

const struct archive_member *archive_members_find(const struct archive_members *members,
                                                  const char *name)
{
    /* a link to a link to a link: more than anybody writes, and a ring ends here too */
    for (unsigned hops = 0; hops < 8; hops++) {
        struct archive_member key = {.name = (char *)(uintptr_t)name};
        const struct archive_member *found =
            members->count ? bsearch(&key, members->items, members->count, sizeof(key), compare)
                           : NULL;
        if (!found || !found->link)
            return found;
        name = found->link;
    }
    return NULL;
}
