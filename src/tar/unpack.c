/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacking: reads entry after entry, decides what each may be called, and makes it. */
#include "tar/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tar/name.h"

int unpack_fail(const struct unpack *unpack, enum tar_what what, int os_errno)
{
    return tar_fail(unpack->failure, what, os_errno, tar_text_of(&unpack->reader.entry.name));
}

/* ---- names ---- */

/* The one tree's name is what the first entry says; every other has to lie in the same. */
static int check_top(struct unpack *unpack, const char *name, size_t length)
{
    if (unpack->top.length == 0 && tar_text_set(&unpack->top, name, length) < 0)
        return unpack_fail(unpack, TAR_MEMORY, errno);
    if (length != unpack->top.length || memcmp(unpack->top.data, name, length) != 0)
        return unpack_fail(unpack, TAR_OTHER_TREE, 0);
    return 0;
}

/* The place beneath the target of a name out of the archive, be it an entry's or a link target's.
 */
static int place(struct unpack *unpack, struct tar_text *name, struct tar_text *ret_place)
{
    const char *new_top = unpack->options->rename_first;
    bool one_tree = new_top || unpack->options->strip_first;
    enum tar_what what = tar_name_clean(name, unpack->options);
    if (what != TAR_FINE)
        return unpack_fail(unpack, what, 0);
    size_t top = one_tree ? strcspn(tar_text_of(name), "/") : 0;
    if (one_tree && top == 0)
        return unpack_fail(unpack, TAR_NAME, 0);
    if (one_tree && check_top(unpack, name->data, top) < 0)
        return -1;
    if (unpack->options->strip_first && name->data[top] == '/')
        top++;
    tar_text_cut(ret_place, 0);
    if ((new_top && tar_text_append(ret_place, new_top, strlen(new_top)) < 0) ||
        tar_text_append(ret_place, name->data + top, name->length - top) < 0)
        return unpack_fail(unpack, TAR_MEMORY, errno);
    return 0;
}

/* Returns 1 when the entry is settled with that. */
static int place_entry(struct unpack *unpack)
{
    struct tar_entry *entry = &unpack->reader.entry;
    const struct tar_rules *rules = unpack->options->rules;
    if (place(unpack, &entry->name, &unpack->name) < 0)
        return -1;
    int settled = rules ? rules->admit(unpack) : 0;
    if (settled)
        return settled;
    if (entry->type != TAR_TYPE_LINK)
        return 0;
    if (place(unpack, &entry->link, &unpack->link) < 0)
        return -1;
    return unpack->link.length ? 0 : unpack_fail(unpack, TAR_NAME, 0);
}

/* ---- entries ---- */

static int count(struct unpack *unpack)
{
    uint64_t size = unpack->reader.entry.type == TAR_TYPE_FILE ? unpack->reader.entry.file_size : 0;
    if (unpack->entries_left-- == 0)
        return unpack_fail(unpack, TAR_TOO_MANY, 0);
    if (size > unpack->bytes_left)
        return unpack_fail(unpack, TAR_TOO_BIG, 0);
    unpack->bytes_left -= size;
    return 0;
}

static int unpack_entry(struct unpack *unpack)
{
    const struct tar_unpack_options *options = unpack->options;
    enum tar_type type = unpack->reader.entry.type;
    struct tar_attributes *attributes = &unpack->reader.entry.attributes;
    if (count(unpack) < 0)
        return -1;
    if (options->map_owner) /* from here on it is the owner here */
        options->map_owner(options->context, &attributes->uid, &attributes->gid);
    int placed = place_entry(unpack);
    if (placed)
        return placed < 0 ? -1 : 0;
    if (unpack->name.length == 0 && type != TAR_TYPE_DIRECTORY)
        return unpack_fail(unpack, TAR_NAME, 0);
    if (unpack->name.length == 0) /* the target itself: it is there, and keeps what it has */
        return options->rules ? options->rules->top(unpack) : 0;
    if (type == TAR_TYPE_DIRECTORY)
        return unpack_directory(unpack);
    if (type != TAR_TYPE_FIFO || options->make_fifos)
        return unpack_make(unpack);
    if (options->rename_first && !strchr(unpack->name.data, '/')) /* all that was asked for */
        return unpack_fail(unpack, TAR_KIND, 0);
    if (options->skipped)
        options->skipped(options->context, unpack->name.data, S_IFIFO, 0);
    return 0;
}

/* What stays of a failed copy belongs to whom it was for, who can remove it. */
static int leave_broken(struct unpack *unpack)
{
    struct tar_failure cause = *unpack->failure;
    (void)unpack_leave(unpack, 1);
    *unpack->failure = cause;
    return -1;
}

static int unpack_all(struct unpack *unpack)
{
    struct stat info;
    int more;
    const struct tar_rules *rules = unpack->options->rules;
    int dir = openat(unpack->options->dir, ".", (rules ? 0 : O_PATH) | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &info) < 0) {
        more = unpack_fail(unpack, TAR_TARGET, errno);
        if (dir >= 0)
            (void)close(dir);
        return more;
    }
    if (tar_dirs_push(&unpack->dirs, dir, &info) < 0)
        return unpack_fail(unpack, TAR_MEMORY, errno);
    while ((more = tar_reader_next(&unpack->reader)) > 0)
        if (unpack_entry(unpack) < 0)
            return leave_broken(unpack);
    if (more < 0)
        return leave_broken(unpack);
    if (unpack_leave(unpack, 1) < 0)
        return -1;
    return rules ? rules->end(unpack) : 0;
}

/* ---- both ways to unpack ---- */

static int begin(struct unpack *unpack, const struct tar_unpack_options *options, int in_fd,
                 struct tar_failure *failure)
{
    *unpack =
        (struct unpack){.options = options, .failure = failure, .uid = geteuid(), .gid = getegid()};
    unpack->bytes_left = options->max_bytes ? options->max_bytes : UINT64_MAX;
    unpack->entries_left = options->max_entries ? options->max_entries : UINT64_MAX;
    return tar_reader_init(&unpack->reader, options, in_fd, failure);
}

static void end(struct unpack *unpack)
{
    tar_reader_done(&unpack->reader);
    tar_dirs_done(&unpack->dirs);
    tar_text_done(&unpack->top);
    tar_text_done(&unpack->name);
    tar_text_done(&unpack->link);
}

int tar_unpack(const struct tar_unpack_options *options, int in_fd, struct tar_failure *failure)
{
    struct unpack unpack;
    if (options->rename_first &&
        (options->strip_first || !tar_name_is_component(options->rename_first)))
        return tar_fail(failure, TAR_OPTIONS, 0, options->rename_first);
    int status = begin(&unpack, options, in_fd, failure);
    if (status == 0)
        status = unpack_all(&unpack);
    end(&unpack);
    return status;
}

static int unpack_one(struct unpack *unpack, int out_fd)
{
    int more = tar_reader_next(&unpack->reader);
    if (more == 0)
        return unpack_fail(unpack, TAR_TRUNCATED, 0);
    if (more < 0 || count(unpack) < 0)
        return -1;
    if (unpack->reader.entry.type != TAR_TYPE_FILE)
        return unpack_fail(unpack, TAR_KIND, 0);
    if (unpack_content(unpack, out_fd, false) < 0)
        return -1;
    more = tar_reader_next(&unpack->reader);
    return more > 0 ? unpack_fail(unpack, TAR_OTHER_TREE, 0) : more;
}

int tar_unpack_content(const struct tar_unpack_options *options, int in_fd, int out_fd,
                       struct tar_failure *failure)
{
    struct unpack unpack;
    int status = begin(&unpack, options, in_fd, failure);
    if (status == 0)
        status = unpack_one(&unpack, out_fd);
    end(&unpack);
    return status;
}
