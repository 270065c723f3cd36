/* SPDX-License-Identifier: Apache-2.0 */
/* The header block and what both halves share. */
#ifndef HUTCH_TAR_FORMAT_H
#define HUTCH_TAR_FORMAT_H

#include <stddef.h>
#include <time.h>

#include "tar/tar.h"

#define TAR_BLOCK 512u
#define TAR_MIN(a, b) ((a) < (b) ? (a) : (b))
#define TAR_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* POSIX.1-2017, pax, "ustar Interchange Format". */
struct tar_ustar {
    char name[100];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6];
    char version[2];
    char uname[32];
    char gname[32];
    char major[8];
    char minor[8];
    char prefix[155];
    char padding[12];
};
_Static_assert(sizeof(struct tar_ustar) == TAR_BLOCK, "a header is one block");

enum tar_type {
    TAR_TYPE_FILE = '0',
    TAR_TYPE_LINK = '1',
    TAR_TYPE_SYMLINK = '2',
    TAR_TYPE_CHARACTER = '3',
    TAR_TYPE_BLOCK = '4',
    TAR_TYPE_DIRECTORY = '5',
    TAR_TYPE_FIFO = '6',
    TAR_TYPE_CONTIGUOUS = '7',
    TAR_TYPE_GLOBAL = 'g',
    TAR_TYPE_PAX = 'x',
    TAR_TYPE_GNU_NAME = 'L',
    TAR_TYPE_GNU_LINK = 'K',
    TAR_TYPE_GNU_SPARSE = 'S',
    TAR_TYPE_GNU_LABEL = 'V',
};

/* Permission bits, owner and time, as they stand in a header. */
struct tar_attributes {
    mode_t mode;
    uid_t uid;
    gid_t gid;
    struct timespec mtime;
};

/* Fills *failure and returns -1. path may be NULL. */
int tar_fail(struct tar_failure *failure, enum tar_what what, int os_errno, const char *path);

static inline uint64_t tar_padding(uint64_t size)
{
    return (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

#endif
