/* SPDX-License-Identifier: Apache-2.0 */
/* Is there room left where a command writes? Nobody counts writes that were refused, and not every
 * filesystem shows a quota as its size, so at the end of a container its PID 1 looks, and asks for
 * a little room itself. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "init/guest.h"

#define ASKED_BYTES 4096

/* As a container is made (backend/docker/body.c): each is in memory or in the container's layer. */
static const char *const places[] = {"/tmp", "/home/user", "/workspace"};

/* Whoever fails for another reason than want of room has found out nothing. */
static bool is_refused_room(const char *place)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/.hutch-room-%d", place, (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int problem = fd < 0 ? errno : posix_fallocate(fd, 0, ASKED_BYTES);
    if (fd >= 0) {
        (void)unlink(path);
        (void)close(fd);
    }
    return problem == ENOSPC || problem == EDQUOT;
}

uint32_t guest_look_for_room(void)
{
    struct stat top;
    uint32_t full = 0;
    bool has_asked = false;
    if (stat("/", &top) < 0)
        return 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct stat info;
        struct statfs size;
        if (stat(places[i], &info) < 0 || statfs(places[i], &size) < 0)
            continue;
        bool is_out = !size.f_bfree || (size.f_files && !size.f_ffree);
        if (size.f_type == TMPFS_MAGIC && is_out)
            full |= FRAME_MEMORY_IS_FULL;
        if (info.st_dev != top.st_dev || has_asked)
            continue; /* what is mounted there is the host's own */
        has_asked = true;
        if (is_out || is_refused_room(places[i]))
            full |= FRAME_LAYER_IS_FULL;
    }
    return full;
}
