/* SPDX-License-Identifier: Apache-2.0 */
#include "image/settle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/record.h"
#include "image/store_files.h"
#include "util/fs.h"
#include "util/own.h"

#define NOTES "unsettled"
#define BOOT_BYTES 40
#define MOST_NOTES_BYTES (16u << 20)

/* Where the kernel does not tell, every boot is the same one and nothing is ever compared. */
static void read_boot(char ret_boot[BOOT_BYTES])
{
    if (store_read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", ret_boot, BOOT_BYTES) < 0)
        ret_boot[0] = '\0';
    ret_boot[strcspn(ret_boot, "\n")] = '\0';
}

/* The notes, locked. They are emptied and never removed, so the name always leads to the lock. */
static int open_notes(const struct image_store *store, int flags)
{
    hutch_autofd int fd = openat(store->dir, NOTES, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || store_lock(fd, F_WRLCK, 0, true) < 0)
        return -1;
    return HUTCH_TAKE_FD(fd);
}

/* Compares one layer with its note, and sets it aside if it has not all of it. */
static int check_layer(const struct image_store *store, const char *layer, uint64_t entries,
                       uint64_t bytes)
{
    char path[STORE_PATH_BYTES], aside[STORE_PATH_BYTES];
    struct tree_sum sum;
    (void)snprintf(path, sizeof(path), "layers/%s", layer);
    int r = tree_sum(store->dir, path, &sum);
    if (r == 0 && sum.entries == entries && sum.bytes == bytes)
        return 0;
    if (r < 0 && errno == ENOENT)
        return 0;
    (void)snprintf(aside, sizeof(aside), "layers/%s.bad", layer);
    /* an ordinary user may not move a directory that denies writing */
    if (fchmodat(store->dir, path, 0700, 0) < 0)
        return -1;
    return renameat(store->dir, path, store->dir, aside);
}

/* A number that was given again after a prune has a later note. */
static bool has_later(const char *rest, const char *layer)
{
    char start[RECORD_LAYER_BYTES + 2];
    (void)snprintf(start, sizeof(start), "\n%s ", layer);
    return rest && strstr(rest, start);
}

static int check_notes(const struct image_store *store, const char *text, struct hutch_error *err)
{
    const char *line = strchr(text, '\n');
    for (; line && line[1]; line = strchr(line + 1, '\n')) {
        char layer[RECORD_LAYER_BYTES];
        uint64_t entries, bytes;
        if (sscanf(line + 1, "%15s %" SCNu64 " %" SCNu64, layer, &entries, &bytes) != 3 ||
            !record_layer_is_valid(layer))
            continue; /* the power went while it was written: then the layer has no key */
        if (has_later(strchr(line + 1, '\n'), layer))
            continue;
        if (check_layer(store, layer, entries, bytes) < 0)
            return hutch_fail_errno(err, errno, "check layer %s of the image store", layer);
    }
    return 0;
}

/* Under the lock of the notes. They go when all of them are checked. */
static int check_former(const struct image_store *store, int notes, const char *boot,
                        struct hutch_error *err)
{
    struct stat info;
    if (fstat(notes, &info) < 0)
        return hutch_fail_errno(err, errno, "look at 'images/" NOTES "'");
    if (info.st_size > MOST_NOTES_BYTES)
        return hutch_fail(err, HUTCH_E_INVALID, EFBIG, "'images/" NOTES "' is too large");
    hutch_autofree char *text = calloc(1, (size_t)info.st_size + 1);
    if (!text)
        return hutch_fail_nomem(err);
    ssize_t got = pread(notes, text, (size_t)info.st_size, 0);
    if (got < 0)
        return hutch_fail_errno(err, errno, "read 'images/" NOTES "'");
    if (!boot[0] || !strncmp(text, boot, strlen(boot)))
        return 0;
    int r = check_notes(store, text, err);
    if (r >= 0 && ftruncate(notes, 0) < 0)
        return hutch_fail_errno(err, errno, "empty 'images/" NOTES "'");
    return r;
}

int settle_check(const struct image_store *store, struct hutch_error *err)
{
    char boot[BOOT_BYTES], noted[BOOT_BYTES];
    ssize_t length = store_read_small(store->dir, NOTES, noted, sizeof(noted));
    if (length < 0 && errno == ENOENT)
        return 0;
    if (length < 0)
        return hutch_fail_errno(err, errno, "read 'images/" NOTES "'");
    read_boot(boot);
    if (length == 0 || !boot[0] || !strncmp(noted, boot, strlen(boot)))
        return 0;
    hutch_autofd int notes = open_notes(store, O_RDWR);
    if (notes < 0)
        return errno == ENOENT ? 0 : hutch_fail_errno(err, errno, "open 'images/" NOTES "'");
    return check_former(store, notes, boot, err);
}

int settle_note(const struct image_store *store, const char *layer, const struct tree_sum *sum,
                struct hutch_error *err)
{
    char boot[BOOT_BYTES], line[BOOT_BYTES + 80], path[STORE_PATH_BYTES];
    struct tree_sum found;
    struct stat info;
    read_boot(boot);
    (void)snprintf(path, sizeof(path), "layers/%s", layer);
    if (!sum && tree_sum(store->dir, path, &found) < 0)
        return hutch_fail_errno(err, errno, "look through layer %s", layer);
    sum = sum ? sum : &found;
    hutch_autofd int notes = open_notes(store, O_RDWR | O_CREAT | O_APPEND);
    if (notes < 0)
        return hutch_fail_errno(err, errno, "open 'images/" NOTES "'");
    int r = check_former(store, notes, boot, err);
    if (r < 0)
        return r;
    if (fstat(notes, &info) < 0)
        return hutch_fail_errno(err, errno, "look at 'images/" NOTES "'");
    bool is_first = info.st_size == 0;
    int length =
        snprintf(line, sizeof(line), "%s%s%s %" PRIu64 " %" PRIu64 "\n", is_first ? boot : "",
                 is_first ? "\n" : "", layer, sum->entries, sum->bytes);
    if (hutch_write_all(notes, line, (size_t)length) == 0 && fdatasync(notes) == 0 &&
        (!is_first || fsync(store->dir) == 0))
        return 0;
    r = hutch_fail_errno(err, errno, "write 'images/" NOTES "'");
    if (ftruncate(notes, info.st_size) < 0) /* half a line would spoil the next */
        return hutch_wrap(err, "and cannot undo it: ");
    return r;
}
