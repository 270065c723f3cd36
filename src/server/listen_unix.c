/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "hutch/host.h"
#include "server/listen.h"
#include "server/util.h"

#define BACKLOG 4096

int listen_unix_path(const char *given, char *ret_path, size_t size, struct hutch_error *err)
{
    char run[PATH_MAX - 16];
    if (given) {
        int length = snprintf(ret_path, size, "%s", given);
        if (!*given || length < 0 || (size_t)length >= size)
            return server_fail(err, HUTCH_E_INVALID,
                               "the path of a socket has 1 to %zu bytes, which '%.80s' has not",
                               size - 1, given);
        return 0;
    }
    int status = hutch_state_directory("run", run, sizeof(run), err);
    if (status < 0)
        return status;
    int length = snprintf(ret_path, size, "%s/serve.sock", run);
    if (length < 0 || (size_t)length >= size)
        return server_fail(err, HUTCH_E_INVALID,
                           "'%.200s' is too long for a socket below it; say --socket", run);
    return 0;
}

static int address_of(const char *path, struct sockaddr_un *address, struct hutch_error *err)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    return listen_unix_path(path, address->sun_path, sizeof(address->sun_path), err);
}

static bool has_listener(const struct sockaddr_un *address)
{
    server_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
           errno != ECONNREFUSED;
}

/* Is there one that answers? What is left of one that does not is removed. */
static int make_room(const struct sockaddr_un *address, struct hutch_error *err)
{
    struct stat info;
    if (lstat(address->sun_path, &info) < 0)
        return errno == ENOENT ? 0 : server_fail_errno(err, "look at '%s'", address->sun_path);
    if (!S_ISSOCK(info.st_mode))
        return server_fail(err, HUTCH_E_CONFLICT,
                           "'%s' is there and no socket; remove it, or say another --socket",
                           address->sun_path);
    unsigned waited_ms = 0;
    bool is_alive;
    while ((is_alive = has_listener(address)) && listen_try_again(&waited_ms))
        ;
    if (is_alive)
        return server_fail(err, HUTCH_E_CONFLICT,
                           "another daemon listens on '%s'; end it, or say another --socket",
                           address->sun_path);
    if (unlink(address->sun_path) < 0 && errno != ENOENT)
        return server_fail_errno(err, "remove '%s'", address->sun_path);
    return 0;
}

static int give_to_group(const char *path, const char *group, struct hutch_error *err)
{
    if (!group)
        return chmod(path, 0600) < 0 ? server_fail_errno(err, "chmod '%s'", path) : 0;
    char buffer[4096];
    struct group entry, *found = NULL;
    if (getgrnam_r(group, &entry, buffer, sizeof(buffer), &found) != 0 || !found)
        return server_fail(err, HUTCH_E_INVALID, "there is no group '%.64s'", group);
    if (chown(path, (uid_t)-1, found->gr_gid) < 0 || chmod(path, 0660) < 0)
        return server_fail_errno(err, "give '%s' to group '%.64s'", path, group);
    return 0;
}

static int open_socket(const struct sockaddr_un *address, const char *group, int *ret_fd,
                       struct hutch_error *err)
{
    server_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return server_fail_errno(err, "make a socket");
    mode_t before = umask(0177); /* nobody else, from its first moment on */
    int failed = bind(fd, (const struct sockaddr *)address, sizeof(*address));
    (void)umask(before);
    if (failed < 0)
        return server_fail_errno(err, "listen on '%s'", address->sun_path);
    int status = give_to_group(address->sun_path, group, err);
    if (!status && listen(fd, BACKLOG) < 0)
        status = server_fail_errno(err, "listen on '%s'", address->sun_path);
    if (status < 0) {
        (void)unlink(address->sun_path);
        return status;
    }
    *ret_fd = server_take(&fd);
    return 0;
}

/* The directory is locked meanwhile: of two that start at once, the second finds the first. */
int listen_unix(const char *path, const char *group, int *ret_fd, struct hutch_error *err)
{
    struct sockaddr_un address;
    char directory[sizeof(address.sun_path) + 1];
    int status = address_of(path, &address, err);
    if (status < 0)
        return status;
    (void)snprintf(directory, sizeof(directory), "%s", address.sun_path);
    char *slash = strrchr(directory, '/');
    if (slash)
        slash[slash == directory] = '\0';
    server_autofd int lock = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX) < 0)
        return server_fail_errno(err, "open the directory of '%s'", address.sun_path);
    status = make_room(&address, err);
    return status ? status : open_socket(&address, group, ret_fd, err);
}
