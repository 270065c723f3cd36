/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "init/init.h"

union control {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int) * INIT_MAX_FDS_PER_MESSAGE)];
};

int message_send(const struct init_message *message, const int *fds, uint32_t fd_count)
{
    struct iovec data = {(void *)(uintptr_t)message, sizeof(*message)};
    union control control;
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd_count) {
        header.msg_control = control.space;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        memset(control.space, 0, header.msg_controllen);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(rights), fds, sizeof(int) * fd_count);
    }
    return sendmsg(INIT_SOCKET_FD, &header, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int message_receive(struct received *received)
{
    struct iovec data[2] = {{&received->message, sizeof(received->message)},
                            {received->blob, sizeof(received->blob)}};
    union control control;
    struct msghdr header = {.msg_iov = data,
                            .msg_iovlen = 2,
                            .msg_control = control.space,
                            .msg_controllen = sizeof(control.space)};
    received->fd_count = 0;
    ssize_t got = recvmsg(INIT_SOCKET_FD, &header, MSG_CMSG_CLOEXEC);
    if (got < (ssize_t)sizeof(received->message) ||
        received->message.inline_length != (size_t)got - sizeof(received->message)) {
        errno = EPROTO;
        return -1;
    }
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    if (rights) {
        received->fd_count = (int)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(received->fds, CMSG_DATA(rights), (size_t)received->fd_count * sizeof(int));
    }
    return 0;
}

static const void *map_blob(struct received *received, int fd, uint32_t minimum)
{
    struct stat info;
    if (fstat(fd, &info) < 0)
        return NULL;
    if (info.st_size < (off_t)minimum) {
        errno = EPROTO;
        return NULL;
    }
    void *blob = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (blob == MAP_FAILED)
        return NULL;
    received->mapped = blob;
    received->mapped_length = (size_t)info.st_size;
    return blob;
}

const void *message_blob(struct received *received, uint32_t minimum)
{
    if (received->message.inline_length >= minimum)
        return received->blob;
    if (received->fd_count < 1) {
        errno = EPROTO;
        return NULL;
    }
    const void *blob = map_blob(received, received->fds[0], minimum);
    close(received->fds[0]);
    received->fd_count--;
    memmove(received->fds, received->fds + 1, (size_t)received->fd_count * sizeof(int));
    return blob;
}

void message_forget(struct received *received)
{
    if (received->mapped)
        munmap(received->mapped, received->mapped_length);
    received->mapped = NULL;
}
