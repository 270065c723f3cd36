/* SPDX-License-Identifier: Apache-2.0 */
/* The layers are merged by the kernel, as for a sandbox: a child mounts them in a mount namespace
 * of its own, sends a descriptor of the root and ends. The mount is gone with the descriptor,
 * whatever happens. */
#include "backend/native/merged.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/identity.h"
#include "util/fs.h"
#include "util/own.h"

#define STAGING "/proc" /* any directory that is sure to exist; nobody else sees what is there */

/* What the child needs, made before it: it makes system calls and nothing else. */
struct merge {
    char layers[PATH_MAX]; /* by path: a mount of the old namespace cannot be part of a new one */
    char options[4096];
    char uid_map[64];
    char gid_map[64];
    bool privileged;
};

static int send_fd(int socket, int fd, int os_errno)
{
    struct iovec data = {&os_errno, sizeof(os_errno)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = control.space;
        message.msg_controllen = sizeof(control.space);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(rights), &fd, sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static int receive_fd(int socket, struct hutch_error *err)
{
    int os_errno = EIO, fd = HUTCH_NO_FD;
    struct iovec data = {&os_errno, sizeof(os_errno)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof(control.space)};
    ssize_t got;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    const struct cmsghdr *rights = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (rights && rights->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(rights), sizeof(int));
    if (got > 0 && !os_errno) /* sent, and there was no room for it here */
        os_errno = EMFILE;
    return fd >= 0 ? fd : hutch_fail_errno(err, os_errno, "put the image's layers together");
}

static int enter_namespaces(const struct merge *merge)
{
    if (unshare(merge->privileged ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0)
        return -1;
    if (!merge->privileged && (hutch_write_at(AT_FDCWD, "/proc/self/setgroups", "deny") < 0 ||
                               hutch_write_at(AT_FDCWD, "/proc/self/uid_map", merge->uid_map) < 0 ||
                               hutch_write_at(AT_FDCWD, "/proc/self/gid_map", merge->gid_map) < 0))
        return -1;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static int mount_merged(const struct merge *merge)
{
    if (enter_namespaces(merge) < 0 || chdir(merge->layers) < 0 ||
        mount("overlay", STAGING, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, merge->options) < 0)
        return -1;
    return open(STAGING, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int merge_layers(const struct merge *merge, struct hutch_error *err)
{
    int ends[2], status;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return hutch_fail_errno(err, errno, "make a socket pair");
    hutch_autofd int ours = ends[0];
    hutch_autofd int theirs = ends[1];
    pid_t pid = fork();
    if (pid < 0)
        return hutch_fail_errno(err, errno, "start a process");
    if (pid == 0) {
        int root = mount_merged(merge);
        _exit(send_fd(theirs, root, root < 0 ? errno : 0) < 0 ? 1 : 0);
    }
    hutch_fd_close(&theirs);
    int fd = receive_fd(ours, err);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return fd;
}

int merged_open(const struct image_use *image, struct hutch_error *err)
{
    struct merge merge = {.privileged = identity_is_privileged()};
    hutch_cleanup(hutch_buf_done) struct hutch_buf names = HUTCH_BUF(sizeof(merge.options));
    if (image_use_layers_path(image, merge.layers, sizeof(merge.layers), err) < 0)
        return -(int)err->code;
    size_t count = image_use_name_layers(image, &names);
    if (names.failed)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, E2BIG, "the image has too many layers");
    if (count == 1) { /* nothing to merge, and overlayfs would want two */
        hutch_autofd int layers = image_open_layers(&image->store, err);
        if (layers < 0)
            return layers;
        int fd = openat(layers, names.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? hutch_fail_errno(err, errno, "open layer %s", names.data) : fd;
    }
    (void)snprintf(merge.options, sizeof(merge.options), "lowerdir=%s,userxattr", names.data);
    (void)snprintf(merge.uid_map, sizeof(merge.uid_map), "%u %u 1", geteuid(), geteuid());
    (void)snprintf(merge.gid_map, sizeof(merge.gid_map), "%u %u 1", getegid(), getegid());
    return merge_layers(&merge, err);
}
