/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a file. The size in the header is a promise: whatever becomes of the file, exactly
 * that many bytes follow. Holes are not sent; the map of what is not a hole is made first. */
#include "tar/pack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tar/regions.h"

/* A file with more pieces than this is sent without holes after the last of them. */
#define MAX_REGIONS (64u << 10)

struct sparse {
    struct tar_regions regions;
    struct tar_text map;
};

static int send_zeros(struct pack *pack, uint64_t length)
{
    return tar_out_zeros(&pack->out, length) < 0 ? pack_fail(pack, TAR_STREAM, errno) : 0;
}

static int send_region(struct pack *pack, int fd, uint64_t offset, uint64_t length)
{
    while (length) {
        size_t room;
        char *to = tar_out_room(&pack->out, &room);
        if (!to)
            return pack_fail(pack, TAR_STREAM, errno);
        ssize_t got = pread(fd, to, TAR_MIN(room, length), (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return pack_fail(pack, TAR_SOURCE, errno);
        if (got == 0)
            return send_zeros(pack, length);
        tar_out_take(&pack->out, (size_t)got);
        offset += (uint64_t)got;
        length -= (uint64_t)got;
    }
    return 0;
}

/* Finds the pieces. Where the filesystem does not know, or the file shrinks meanwhile, the rest is
 * one piece, or none. */
static int find_regions(struct tar_regions *regions, int fd, uint64_t size)
{
    uint64_t at = 0;
    while (at < size) {
        off_t data = lseek(fd, (off_t)at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break;
        off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
        uint64_t begin = hole < 0 ? at : (uint64_t)data;
        uint64_t end = hole < 0 || regions->count == MAX_REGIONS - 1 ? size : (uint64_t)hole;
        if (begin >= size)
            break;
        end = TAR_MIN(end, size);
        if (tar_regions_add(regions, begin, end - begin) < 0)
            return -1;
        at = end;
    }
    /* a file that ends in a hole is told by an empty piece at its end */
    return at < size || regions->count == 0 ? tar_regions_add(regions, size, 0) : 0;
}

static int write_map(struct sparse *sparse)
{
    static const char zeros[TAR_BLOCK];
    char line[64];
    int length = snprintf(line, sizeof(line), "%zu\n", sparse->regions.count);
    if (tar_text_append(&sparse->map, line, (size_t)length) < 0)
        return -1;
    for (size_t i = 0; i < sparse->regions.count; i++) {
        length = snprintf(line, sizeof(line), "%llu\n%llu\n",
                          (unsigned long long)sparse->regions.items[i].offset,
                          (unsigned long long)sparse->regions.items[i].length);
        if (tar_text_append(&sparse->map, line, (size_t)length) < 0)
            return -1;
    }
    return tar_text_append(&sparse->map, zeros, (size_t)tar_padding(sparse->map.length));
}

static int send_sparse(struct pack *pack, int fd, const struct stat *info,
                       const struct sparse *sparse)
{
    struct tar_head head = {.type = TAR_TYPE_FILE,
                            .size = sparse->map.length + sparse->regions.bytes,
                            .sparse = true,
                            .real_size = (uint64_t)info->st_size};
    if (pack_head(pack, &head, info) < 0)
        return -1;
    if (tar_out_write(&pack->out, sparse->map.data, sparse->map.length) < 0)
        return pack_fail(pack, TAR_STREAM, errno);
    for (size_t i = 0; i < sparse->regions.count; i++)
        if (send_region(pack, fd, sparse->regions.items[i].offset,
                        sparse->regions.items[i].length) < 0)
            return -1;
    return send_zeros(pack, tar_padding(sparse->regions.bytes));
}

static int send_whole(struct pack *pack, int fd, const struct stat *info)
{
    struct tar_head head = {.type = TAR_TYPE_FILE, .size = (uint64_t)info->st_size};
    if (pack_head(pack, &head, info) < 0 || send_region(pack, fd, 0, head.size) < 0)
        return -1;
    return send_zeros(pack, tar_padding(head.size));
}

int pack_file(struct pack *pack, int fd, const struct stat *info)
{
    uint64_t size = (uint64_t)info->st_size;
    struct sparse sparse = {0};
    int status;
    if ((uint64_t)info->st_blocks * 512 >= size || size <= pack->options->whole_until)
        return send_whole(pack, fd, info);
    if (find_regions(&sparse.regions, fd, size) < 0)
        status = pack_fail(pack, TAR_MEMORY, errno);
    else if (sparse.regions.bytes == size) /* compressed, or inside its inode */
        status = send_whole(pack, fd, info);
    else if (write_map(&sparse) < 0)
        status = pack_fail(pack, TAR_MEMORY, errno);
    else
        status = send_sparse(pack, fd, info, &sparse);
    tar_regions_done(&sparse.regions);
    tar_text_done(&sparse.map);
    return status;
}
