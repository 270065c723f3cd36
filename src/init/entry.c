/* SPDX-License-Identifier: Apache-2.0 */
/* Directories, files and symlinks of the plan. What is there already stays as it is, so nothing
 * half made may be left: whoever tried again would take it for whole. Unless a step replaces it. */
#include "init/init.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "init/sys.h"

/* Present in the image: it keeps its mode and owner, but it must be a real directory. */
static int check_directory(int parent, const char *name)
{
    int existing =
        sys_openat2(parent, name, O_PATH | O_DIRECTORY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    return existing < 0 ? -1 : close(existing);
}

static int take_back(int parent, const char *name, int flags)
{
    int saved = errno;
    (void)unlinkat(parent, name, flags);
    errno = saved;
    return -1;
}

static int make_directory(int parent, const char *name, const struct init_step *step)
{
    if (mkdirat(parent, name, step->mode) < 0)
        return errno == EEXIST ? check_directory(parent, name) : -1;
    if (!step->uid && !step->gid)
        return 0;
    if (fchownat(parent, name, step->uid, step->gid, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    return take_back(parent, name, AT_REMOVEDIR);
}

static int make_file(int parent, const char *name, const struct init_step *step, const char *text)
{
    if (step->flags & INIT_STEP_REPLACE && unlinkat(parent, name, 0) < 0 && errno != ENOENT)
        return -1;
    int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, step->mode);
    if (fd < 0)
        return errno == EEXIST ? 0 : -1;
    size_t length = step->text_length;
    ssize_t written = length ? write(fd, text, length) : 0;
    close(fd);
    if (written == (ssize_t)length)
        return 0;
    if (written >= 0)
        errno = ENOSPC;
    return take_back(parent, name, 0);
}

static int make_symlink(int parent, const char *name, const char *text)
{
    int status = symlinkat(text, parent, name);
    return status < 0 && errno == EEXIST ? 0 : status;
}

int entry_make(int parent, const char *name, const struct init_step *step, const char *text)
{
    switch (step->op) {
    case INIT_OP_MKDIR:
        return make_directory(parent, name, step);
    case INIT_OP_FILE:
        return make_file(parent, name, step, text);
    default:
        return make_symlink(parent, name, text);
    }
}
