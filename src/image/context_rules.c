/* SPDX-License-Identifier: Apache-2.0 */
#include "image/context_rules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/context_pack.h"
#include "util/own.h"

#define DEEPEST_LEVEL 64

void context_owner(void *context, uid_t *uid, gid_t *gid)
{
    (void)context;
    *uid = 0;
    *gid = 0;
}

static int no_xattrs(int fd, struct tar_text *xattrs)
{
    (void)fd, (void)xattrs;
    return 0;
}

/* ---- what is left out ---- */

static bool holds_something(const struct context_pack *context, int parent, const char *name,
                            const char *path, unsigned level);

static bool is_wanted(const struct context_pack *context, int dir, const struct dirent *entry,
                      const char *path, unsigned level)
{
    hutch_autofree char *below = NULL;
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
        return false;
    if (asprintf(&below, "%s/%s", path, entry->d_name) < 0) {
        below = NULL;
        return true; /* a directory too much is no harm */
    }
    return !ignore_excludes(&context->ignore, below) ||
           holds_something(context, dir, entry->d_name, below, level + 1);
}

/* A directory that is left out is there all the same when something below it is taken in again. */
static bool holds_something(const struct context_pack *context, int parent, const char *name,
                            const char *path, unsigned level)
{
    bool found = false;
    if (!ignore_may_hold(&context->ignore, path) || level == DEEPEST_LEVEL)
        return false;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        hutch_fd_close(&fd);
        return false;
    }
    for (const struct dirent *entry; !found && (entry = readdir(directory));)
        found = is_wanted(context, fd, entry, path, level);
    (void)closedir(directory);
    return found;
}

/* An ignore file that is a link: podman would follow it into the files of its own host, and there
 * is nothing left for it to say. */
static bool leads_out(const char *path, const struct stat *info)
{
    return S_ISLNK(info->st_mode) &&
           (!strcmp(path, CONTEXT_IGNORE) || !strcmp(path, CONTEXT_IGNORE_OF_PODMAN));
}

static int admit(struct pack *pack, const char *name, const struct stat *info)
{
    const struct context_pack *context = pack->options->context;
    const char *path = tar_text_of(&pack->dirs.path);
    path += strncmp(path, "./", 2) ? 0 : 2;
    bool is_ignore = !strcmp(path, CONTEXT_IGNORE),
         is_dockerfile = !strcmp(path, context->dockerfile);
    if ((context->ignore_text && is_ignore) || (context->dockerfile_text && is_dockerfile) ||
        leads_out(path, info))
        return 1;
    if (context->keeps_dockerfile && is_dockerfile)
        return 0;
    if (!ignore_excludes(&context->ignore, path))
        return 0;
    return !S_ISDIR(info->st_mode) ||
           !holds_something(context, tar_dirs_inner(&pack->dirs)->fd, name, path, 0);
}

/* ---- what is not in the directory ---- */

static int add_member(struct pack *pack, const char *name, const char *text)
{
    const struct stat info = {.st_mode = S_IFREG | 0644};
    size_t length = strlen(text);
    struct tar_head head = {.type = TAR_TYPE_FILE, .size = length};
    if (tar_dirs_name(&pack->dirs, name, strlen(name)) < 0)
        return pack_fail(pack, TAR_MEMORY, errno);
    int status = pack_head(pack, &head, &info);
    if (status == 0 &&
        (tar_out_write(&pack->out, text, length) < 0 ||
         tar_out_zeros(&pack->out, (TAR_BLOCK - length % TAR_BLOCK) % TAR_BLOCK) < 0))
        status = pack_fail(pack, TAR_STREAM, errno);
    tar_text_cut(&pack->dirs.path, tar_dirs_inner(&pack->dirs)->name_end);
    return status;
}

static int entered(struct pack *pack, int fd)
{
    const struct context_pack *context = pack->options->context;
    int status = 0;
    (void)fd;
    if (pack->dirs.depth > 1)
        return 0;
    if (context->dockerfile_text)
        status = add_member(pack, context->dockerfile, context->dockerfile_text);
    if (status == 0 && context->ignore_text)
        status = add_member(pack, CONTEXT_IGNORE, context->ignore_text);
    return status;
}

const struct tar_pack_rules context_rules = {
    .next = pack_list_next,
    .admit = admit,
    .xattrs = no_xattrs,
    .entered = entered,
};
