/* SPDX-License-Identifier: Apache-2.0 */
/* Programs inside are to trust one authority more. A new bundle, of what the root trusts and this
 * one, is made in a tmpfs and covers every bundle that the root has: its own files stay as they
 * are. */
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "init/init.h"
#include "init/sys.h"

#define BUNDLE_MAX_BYTES (8 << 20)

/* Where programs look, by distribution. */
static const char *const bundles[] = {
    "etc/ssl/certs/ca-certificates.crt",
    "etc/pki/tls/certs/ca-bundle.crt",
    "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "etc/ssl/ca-bundle.pem",
    "etc/ssl/cert.pem",
};

static int append(int file, int source)
{
    struct stat info;
    off_t done = 0;
    if (fstat(source, &info) < 0)
        return -1;
    if (!S_ISREG(info.st_mode) || info.st_size > BUNDLE_MAX_BYTES) {
        errno = EFBIG;
        return -1;
    }
    while (done < info.st_size) {
        ssize_t sent = sendfile(file, source, &done, (size_t)(info.st_size - done));
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return -1;
    }
    return write(file, "\n", 1) == 1 ? 0 : -1;
}

/* The first bundle that the root has; -1: none. A link on the way means what it means inside. */
static int open_first(const struct sandbox *box)
{
    for (size_t i = 0; i < sizeof(bundles) / sizeof(bundles[0]); i++) {
        struct stat info;
        int fd = target_open(box, bundles[i], O_RDONLY | O_NONBLOCK | O_NOCTTY, false);
        if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
            info.st_size <= BUNDLE_MAX_BYTES)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

static int write_file(int directory, const char *name, int first, int second)
{
    int file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (file < 0)
        return -1;
    int status = first >= 0 ? append(file, first) : 0;
    if (status == 0)
        status = append(file, second);
    if (status == 0)
        status = fchmod(file, 0444);
    close(file);
    return status;
}

/* Two names may be one file: what is covered already is the new bundle itself. */
static int cover(int directory, int target)
{
    struct stat ours, theirs;
    if (fstatat(directory, INIT_TRUST_BUNDLE, &ours, AT_SYMLINK_NOFOLLOW) < 0 ||
        fstat(target, &theirs) < 0)
        return -1;
    if (!S_ISREG(theirs.st_mode) || (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino))
        return 0;
    int mount = sys_open_tree(directory, INIT_TRUST_BUNDLE, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (mount < 0)
        return -1;
    int status = tree_restrict(mount, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                          MOUNT_ATTR_NOEXEC);
    if (status == 0)
        status = sys_move_mount(mount, target, "");
    close(mount);
    return status;
}

static int cover_all(const struct sandbox *box, int directory)
{
    for (size_t i = 0; i < sizeof(bundles) / sizeof(bundles[0]); i++) {
        int target = target_open(box, bundles[i], O_PATH, false);
        if (target < 0)
            continue;
        int status = cover(directory, target);
        close(target);
        if (status < 0)
            return -1;
    }
    return 0;
}

int trust_add(const struct sandbox *box, int certificate)
{
    int directory = target_open(box, INIT_TRUST, O_PATH | O_DIRECTORY, true);
    if (directory < 0)
        return -1;
    int first = open_first(box);
    int status = write_file(directory, INIT_TRUST_AUTHORITY, -1, certificate);
    if (status == 0)
        status = write_file(directory, INIT_TRUST_BUNDLE, first, certificate);
    if (status == 0)
        status = cover_all(box, directory);
    if (first >= 0)
        close(first);
    close(directory);
    return status;
}
