/* SPDX-License-Identifier: Apache-2.0 */
#include "tar/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#define NEW_FILE (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
#define NAMELESS_FILE (O_WRONLY | O_TMPFILE | O_CLOEXEC)
#define NEW_MODE 0600

/* Nobody can be waiting with this name. */
static int choose_name(struct tar_draft *draft)
{
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return -1;
    (void)snprintf(draft->name, sizeof(draft->name), ".hutch-cp-%016llx",
                   (unsigned long long)number);
    return 0;
}

int tar_draft_open(struct tar_draft *draft, int dir)
{
    *draft = (struct tar_draft){.fd = openat(dir, ".", NAMELESS_FILE, NEW_MODE)};
    if (draft->fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return draft->fd;
    if (choose_name(draft) < 0)
        return -1;
    draft->fd = openat(dir, draft->name, NEW_FILE, NEW_MODE);
    if (draft->fd < 0)
        draft->name[0] = '\0';
    return draft->fd;
}

/* Kernels before 6.10 let only the host's root name a descriptor directly. */
static int link_nameless(const struct tar_draft *draft, int dir, const char *name)
{
    char self[32];
    int status = linkat(draft->fd, "", dir, name, AT_EMPTY_PATH);
    if (status == 0 || errno != ENOENT)
        return status;
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", draft->fd);
    return linkat(AT_FDCWD, self, dir, name, AT_SYMLINK_FOLLOW);
}

int tar_draft_publish(struct tar_draft *draft, int dir, const char *name)
{
    if (!draft->name[0]) {
        if (link_nameless(draft, dir, name) == 0)
            return 0;
        if (errno != EEXIST || choose_name(draft) < 0)
            return -1;
        if (link_nameless(draft, dir, draft->name) < 0) {
            draft->name[0] = '\0';
            return -1;
        }
    }
    if (renameat(dir, draft->name, dir, name) < 0)
        return -1;
    draft->name[0] = '\0';
    return 0;
}

void tar_draft_drop(const struct tar_draft *draft, int dir)
{
    int saved = errno;
    if (draft->name[0])
        (void)unlinkat(dir, draft->name, 0);
    errno = saved;
}
