/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/loop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/own.h"

/* A block of either filesystem, so that direct I/O works on disks with sectors of 4096
 * bytes too. */
#define LOOP_BLOCK_SIZE 4096
/* Between asking for a free device and taking it, somebody else may take it. */
#define LOOP_ATTEMPTS 64

static bool is_attached_to(int device, const struct stat *file)
{
    struct loop_info64 info;
    return ioctl(device, LOOP_GET_STATUS64, &info) == 0 && info.lo_device == file->st_dev &&
           info.lo_inode == file->st_ino;
}

/* Two devices on one file would be two filesystems that overwrite each other. The mount may be one
 * that is not seen from here: in another mount namespace, or detached from the tree but still in
 * use. */
static int find_device(int file, char *path, size_t size)
{
    struct stat info;
    struct dirent *entry;
    int found = HUTCH_NO_FD;
    DIR *devices = fstat(file, &info) < 0 ? NULL : opendir("/sys/block");
    if (!devices)
        return HUTCH_NO_FD;
    while (found < 0 && (entry = readdir(devices))) {
        char attribute[320];
        (void)snprintf(attribute, sizeof(attribute), "%s/loop/backing_file", entry->d_name);
        if (strncmp(entry->d_name, "loop", 4) != 0 ||
            faccessat(dirfd(devices), attribute, F_OK, 0) < 0)
            continue;
        (void)snprintf(path, size, "/dev/%.20s", entry->d_name);
        hutch_autofd int device = open(path, O_RDONLY | O_CLOEXEC);
        if (device >= 0 && is_attached_to(device, &info))
            found = HUTCH_TAKE_FD(device);
    }
    (void)closedir(devices);
    return found;
}

/* Without direct I/O every page would be cached twice, once for the file: half the speed. A
 * filesystem that cannot do it gets ordinary reads and writes, which is the kernel's choice. */
static int configure(int device, int file)
{
    struct loop_config config = {
        .fd = (uint32_t)file,
        .block_size = LOOP_BLOCK_SIZE,
        .info = {.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO},
    };
    return ioctl(device, LOOP_CONFIGURE, &config);
}

static int take_free_device(int file, char *path, size_t size, struct hutch_error *err)
{
    hutch_autofd int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control < 0)
        return hutch_fail_errno(err, errno, "open '/dev/loop-control' (try: modprobe loop)");
    for (unsigned i = 0; i < LOOP_ATTEMPTS; i++) {
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        if (number < 0)
            return hutch_fail_errno(err, errno, "get a free loop device");
        (void)snprintf(path, size, "/dev/loop%d", number);
        hutch_autofd int device = open(path, O_RDWR | O_CLOEXEC);
        if (device < 0)
            return hutch_fail_errno(err, errno, "open loop device '%s'", path);
        if (configure(device, file) == 0)
            return HUTCH_TAKE_FD(device);
        if (errno != EBUSY)
            return hutch_fail_errno(err, errno, "attach loop device '%s'", path);
    }
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, EBUSY,
                      "every free loop device was taken by somebody else");
}

int loop_attach(int file, char *ret_path, size_t size, struct hutch_error *err)
{
    int device = find_device(file, ret_path, size);
    return device >= 0 ? device : take_free_device(file, ret_path, size, err);
}
