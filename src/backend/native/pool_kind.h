/* SPDX-License-Identifier: Apache-2.0 */
/* What the kinds of quota pool do each in its own way, and the parts of the pool they share. */
#ifndef HUTCH_NATIVE_POOL_KIND_H
#define HUTCH_NATIVE_POOL_KIND_H

#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/pool.h"

/* A write that does not fit fails with a little room left: it is refused as a whole, and a new file
 * takes several blocks of metadata. Nearer to its limit than this, a directory is full. */
#define POOL_SLACK_BYTES UINT64_C(65536)

struct pool_option {
    const char *key;
    const char *value; /* NULL for a flag */
};

struct pool_kind {
    const char *name; /* of the filesystem; the pool's file is called pool.<name> */
    uint32_t magic;
    hutch_promise_set enforces;
    const char *const *modules; /* what the kernel must have */
    const char *program;        /* that formats */
    const char *package;        /* where Debian has it */
    const char *const *arguments;
    const struct pool_option *options;

    /* Makes sure that quotas are on, before anybody can see the mount. */
    int (*prepare)(int root, struct hutch_error *err);
    /* These return 0, or -1 with errno. */
    int (*make)(int root, const char *name);
    /* A copy that shares everything until either is written to. NULL: this kind cannot. */
    int (*snapshot)(int root, int source, const char *name);
    int (*limit)(int dir, uint64_t disk_bytes, uint64_t inodes, uint64_t *ret_id);
    int (*usage)(const struct pool_dir *dir, uint64_t *ret_bytes, bool *ret_full);
    int (*remove)(int root, const char *name);
};

extern const struct pool_kind pool_ext4;
extern const struct pool_kind pool_btrfs;

/* ioctl, whose second argument is of another type in every C library. */
static inline int pool_ioctl(int fd, unsigned long request, void *data)
{
    return (int)syscall(SYS_ioctl, fd, request, data);
}

/* pool_probe.c */
enum pool_prospect {
    POOL_CANNOT,
    POOL_MIGHT, /* the kernel does not tell */
    POOL_CAN,
};
enum pool_prospect pool_prospect(const struct pool_kind *kind, char *why, size_t why_size);
bool pool_find_program(const char *name, char *ret_path, size_t size);

/* pool_mount.c. The caller holds the pool's lock. Both return a descriptor of the root of the
 * mounted filesystem. */
int pool_mount(const char *lib, const struct pool_kind *kind, int file, struct hutch_error *err);
int pool_make(const char *lib, const struct pool_kind *kind, uint64_t size_bytes, int lock,
              struct hutch_error *err);

#endif
