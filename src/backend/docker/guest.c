/* SPDX-License-Identifier: Apache-2.0 */
/* hutch-init as a file. Mounting it costs nothing, where copying it into a container makes some
 * engines start a program of their own.
 *
 * Its name holds the boot and a sum of its content: so no other machine has a file of this name,
 * and an engine that does not find it does not see this host's files at all. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/docker/plan.h"
#include "init/init_image.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/state_dir.h"

static uint64_t sum_of(const unsigned char *data, size_t length)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ data[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static bool is_whole(const char *path)
{
    char buffer[16384];
    size_t at = 0;
    ssize_t length;
    hutch_autofd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    while (fd >= 0 && (length = read(fd, buffer, sizeof(buffer))) > 0) {
        if ((size_t)length > sizeof(hutch_init_image) - at ||
            memcmp(buffer, hutch_init_image + at, (size_t)length) != 0)
            return false;
        at += (size_t)length;
    }
    return at == sizeof(hutch_init_image);
}

/* Whole under its name or not there at all, whoever else does the same. */
static int write_file(const char *path, struct hutch_error *err)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid()) >= PATH_MAX)
        return hutch_fail(err, HUTCH_E_INVALID, ENAMETOOLONG, "'%.200s...' is too long", path);
    (void)unlink(temporary);
    hutch_autofd int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "make '%.200s'", temporary);
    if (fchmod(fd, 0755) < 0 ||
        hutch_write_all(fd, hutch_init_image, sizeof(hutch_init_image)) < 0 ||
        rename(temporary, path) < 0) {
        int cause = errno;
        (void)unlink(temporary);
        return hutch_fail_errno(err, cause, "write '%.200s'", path);
    }
    return 0;
}

int docker_guest_file(char ret_path[PATH_MAX], struct hutch_error *err)
{
    char directory[400];
    char boot[64] = "";
    uint64_t sum = sum_of(hutch_init_image, sizeof(hutch_init_image));
    if (state_directory("lib", directory, sizeof(directory), err) < 0)
        return -(int)err->code;
    (void)hutch_read_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
    boot[strcspn(boot, "\n")] = '\0';
    size_t length = strlen(directory);
    (void)snprintf(directory + length, sizeof(directory) - length, "/guest");
    if (hutch_mkdir_p(directory, 0755) < 0)
        return hutch_fail_errno(err, errno, "make '%.200s'", directory);
    (void)snprintf(ret_path, PATH_MAX, "%s/init-%s-%016" PRIx64, directory, boot, sum);
    return is_whole(ret_path) ? 0 : write_file(ret_path, err);
}
