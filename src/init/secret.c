/* SPDX-License-Identifier: Apache-2.0 */
/* A secret as a file. Its value goes from one file in memory to another: this process does not read
 * it. A path elsewhere gets a mount of the file, which then has no other name. */
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "init/init.h"
#include "init/sys.h"

#define SECRET_UNPLACED ".secret" /* until it is mounted elsewhere */
#define SECRET_ATTRS (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

static int fill(int file, int source, const struct init_step *step)
{
    struct stat info;
    off_t done = 0;
    if (fstat(source, &info) < 0)
        return -1;
    while (done < info.st_size) {
        ssize_t sent = sendfile(file, source, &done, (size_t)(info.st_size - done));
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent == 0)
            errno = EIO;
        if (sent <= 0)
            return -1;
    }
    return fchmod(file, step->mode) < 0 ? -1 : fchown(file, step->uid, step->gid);
}

static int make_file(int directory, const char *name, const struct init_step *step, int source)
{
    int file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return -1;
    int status = fill(file, source, step);
    close(file);
    return status;
}

/* A mount of the file alone, for a path that is elsewhere. */
static int clone_file(int directory, const char *name)
{
    int mount = sys_open_tree(directory, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (mount < 0 || tree_restrict(mount, SECRET_ATTRS) == 0)
        return mount;
    close(mount);
    return -1;
}

int secret_make(const struct sandbox *box, const struct init_step *step, const char *path,
                int source, int *ret_mount)
{
    static const char place[] = INIT_SECRETS "/";
    bool is_in_place = !strncmp(path, place, sizeof(place) - 1);
    const char *name = is_in_place ? path + sizeof(place) - 1 : SECRET_UNPLACED;
    int directory = target_open(box, INIT_SECRETS, O_PATH | O_DIRECTORY, true);
    *ret_mount = -1;
    if (directory < 0)
        return -1;
    int status = make_file(directory, name, step, source);
    if (status == 0 && !is_in_place) {
        *ret_mount = clone_file(directory, name);
        status = *ret_mount < 0 ? -1 : 0;
    }
    close(directory);
    return status;
}

int secret_forget_name(const struct sandbox *box)
{
    int directory = target_open(box, INIT_SECRETS, O_PATH | O_DIRECTORY, true);
    if (directory < 0)
        return -1;
    int status = unlinkat(directory, SECRET_UNPLACED, 0);
    close(directory);
    return status;
}
