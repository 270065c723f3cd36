/* SPDX-License-Identifier: Apache-2.0 */
/* hutch-init as a file. Mounting it costs nothing, where copying it into a container makes some
 * engines start a program of their own.
 *
 * Its name holds the boot and a sum of its content: so no other machine has a file of this name,
 * and an engine that does not find it does not see this host's files at all. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/docker/plan.h"
#include "backend/docker/state.h"
#include "init/guest_image.h"
#include "util/fs.h"
#include "util/own.h"

static bool is_whole(const char *path)
{
    char buffer[16384];
    size_t at = 0;
    ssize_t length;
    hutch_autofd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    while (fd >= 0 && (length = read(fd, buffer, sizeof(buffer))) > 0) {
        if ((size_t)length > sizeof(hutch_guest_image) - at ||
            memcmp(buffer, hutch_guest_image + at, (size_t)length) != 0)
            return false;
        at += (size_t)length;
    }
    return at == sizeof(hutch_guest_image);
}

int docker_guest_file(char ret_path[PATH_MAX], struct hutch_error *err)
{
    char directory[STATE_BYTES];
    char boot[64] = "";
    if (docker_state(directory, err) < 0)
        return -(int)err->code;
    (void)hutch_read_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
    boot[strcspn(boot, "\n")] = '\0';
    (void)snprintf(ret_path, PATH_MAX, "%s/init-%s-" HUTCH_GUEST_IMAGE_SUM, directory, boot);
    return is_whole(ret_path) ? 0
                              : docker_state_write(ret_path, 0755, hutch_guest_image,
                                                   sizeof(hutch_guest_image), err);
}
