/* SPDX-License-Identifier: Apache-2.0 */
/* The socket in a sandbox's home: the only way to its keeper. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "backend/native/home.h"
#include "util/own.h"

#define BACKLOG 128

/* A socket's path has 108 bytes at most; the way through our own descriptor is short. */
static struct sockaddr_un address_of(const struct home *home)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/socket",
                   home->dir);
    return address;
}

int home_bind(const struct home *home, struct hutch_error *err)
{
    struct sockaddr_un address = address_of(home);
    hutch_autofd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)unlinkat(home->dir, "socket", 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return hutch_fail_errno(err, errno, "make the socket of sandbox '%s'", home->name);
    return HUTCH_TAKE_FD(fd);
}

int home_listen(const struct home *home, int fd, struct hutch_error *err)
{
    return listen(fd, BACKLOG) < 0
               ? hutch_fail_errno(err, errno, "listen for sandbox '%s'", home->name)
               : 0;
}

static bool has_socket(const struct home *home)
{
    struct stat info;
    return fstatat(home->dir, "socket", &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(info.st_mode);
}

int home_connect(const struct home *home, bool waits, struct hutch_error *err)
{
    struct sockaddr_un address = address_of(home);
    const struct timeval patience = {.tv_sec = 10}; /* with a queue that nobody serves */
    int type = SOCK_SEQPACKET | SOCK_CLOEXEC | (waits ? 0 : SOCK_NONBLOCK);
    hutch_autofd int fd = socket(AF_UNIX, type, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        (waits || fcntl(fd, F_SETFL, 0) == 0))
        return HUTCH_TAKE_FD(fd);
    int failure = errno;
    if (failure == ECONNREFUSED || failure == ENOENT || !has_socket(home))
        return hutch_fail(err, HUTCH_E_CONFLICT, failure,
                          "sandbox '%s' is not running; 'hutch start %s' starts it", home->name,
                          home->name);
    return hutch_fail_errno(err, failure, "reach the keeper of sandbox '%s'", home->name);
}
