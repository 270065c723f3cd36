/* SPDX-License-Identifier: Apache-2.0 */
/* What must go on working: files and memory. */
#include "surface.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/* A file that is gone when it is closed. */
static int scratch(void)
{
    char path[] = "/tmp/hutch-surface-XXXXXX";
    int fd = mkstemp(path);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

static bool permissions(void)
{
    struct stat st;
    int fd = scratch();
    return fchmod(fd, 01755) == 0 && fstat(fd, &st) == 0 && (st.st_mode & 07777) == 01755 &&
           syscall(SYS_fchmod, fd, surface_dirty(0640)) == 0;
}

/* Without O_CREAT the mode may be anything. */
static bool open_with_noise(void)
{
    return syscall(SYS_openat, AT_FDCWD, "/dev/null", surface_dirty(O_RDONLY), 06777UL) >= 0;
}

static bool create_with_noise(void)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/tmp/hutch-surface-%ld", (long)getpid());
    long fd = syscall(SYS_openat, AT_FDCWD, path, surface_dirty(O_CREAT | O_EXCL | O_WRONLY),
                      surface_dirty(0644));
    return fd >= 0 && unlink(path) == 0;
}

static bool unnamed_file(void)
{
    int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 || errno == EOPNOTSUPP;
}

static bool fifo_and_directories(void)
{
    char directory[] = "/tmp/hutch-surface-XXXXXX";
    char name[64];
    if (!mkdtemp(directory))
        return false;
    (void)snprintf(name, sizeof(name), "%s/fifo", directory);
    bool made = mkfifo(name, 0600) == 0 && unlink(name) == 0;
    (void)snprintf(name, sizeof(name), "%s/plain", directory);
    made =
        made && mknod(name, S_IFREG | 0600, 0) == 0 && chmod(name, 0400) == 0 && unlink(name) == 0;
    (void)snprintf(name, sizeof(name), "%s/directory", directory);
    made = made && mkdir(name, 0755) == 0 && rmdir(name) == 0;
    return rmdir(directory) == 0 && made;
}

static bool renaming(void)
{
    char from[64], to[80];
    (void)snprintf(from, sizeof(from), "/tmp/hutch-surface-%ld", (long)getpid());
    (void)snprintf(to, sizeof(to), "%s.new", from);
    int fd = open(from, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    return fd >= 0 &&
           syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1 /* RENAME_NOREPLACE */) == 0 &&
           unlink(to) == 0;
}

static bool inquiries(void)
{
    struct statx stx;
    return statx(AT_FDCWD, "/", 0, STATX_BASIC_STATS, &stx) == 0 &&
           syscall(SYS_faccessat2, AT_FDCWD, "/", F_OK, AT_EACCESS) == 0;
}

static bool copying(void)
{
    int from = scratch(), to = scratch();
    off_t start = 0, copied = 0;
    return write(from, "hello", 5) == 5 && fallocate(to, 0, 0, 64) == 0 &&
           copy_file_range(from, &start, to, &copied, 5, 0) == 5 && (start = 0) == 0 &&
           sendfile(to, from, &start, 5) == 5 && flock(to, LOCK_EX) == 0 && fsync(to) == 0;
}

static bool splicing(void)
{
    int fds[2];
    int from = scratch();
    off_t start = 0;
    return pipe(fds) == 0 && write(from, "hello", 5) == 5 &&
           splice(from, &start, fds[1], NULL, 5, 0) == 5;
}

static bool watching(void)
{
    int fd = inotify_init1(IN_CLOEXEC);
    return fd >= 0 && inotify_add_watch(fd, "/tmp", IN_CREATE) >= 0;
}

static bool device_control(void)
{
    int fds[2];
    int waiting = 0;
    return pipe(fds) == 0 && write(fds[1], "xyz", 3) == 3 &&
           syscall(SYS_ioctl, fds[0], surface_dirty(FIONREAD), &waiting) == 0 && waiting == 3;
}

static bool closing(void)
{
    return syscall(SYS_close_range, 100U, ~0U, 0) == 0;
}

static bool memory(void)
{
    size_t size = 65536;
    int fd = memfd_create("surface", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
        return false;
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return shared != MAP_FAILED && madvise(shared, size, MADV_DONTNEED) == 0 &&
           mlock(shared, 4096) == 0 && mprotect(shared, size, PROT_READ | PROT_EXEC) == 0 &&
           munmap(shared, size) == 0;
}

static bool memory_policy(void)
{
    int policy = 0;
    return syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0) == 0 &&
           syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0) == 0;
}

void surface_ordinary_files(struct surface *surface)
{
    surface_works(surface, "chmod", permissions);
    surface_works(surface, "open with noise", open_with_noise);
    surface_works(surface, "create with noise", create_with_noise);
    surface_works(surface, "O_TMPFILE", unnamed_file);
    surface_works(surface, "fifo and directory", fifo_and_directories);
    surface_works(surface, "rename", renaming);
    surface_works(surface, "statx and faccessat2", inquiries);
    surface_works(surface, "copying", copying);
    surface_works(surface, "splice", splicing);
    surface_works(surface, "inotify", watching);
    surface_works(surface, "ioctl with noise", device_control);
    surface_works(surface, "close_range", closing);
    surface_works(surface, "memory", memory);
    surface_works(surface, "memory policy", memory_policy);
}
