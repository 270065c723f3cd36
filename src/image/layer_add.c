/* SPDX-License-Identifier: Apache-2.0 */
/* An unpacked layer on its way into the store: its tree is made below tmp/, gets its number by a
 * rename that does not replace, and is entered under its key last. A crash in between leaves a tree
 * without a key, which a prune removes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/record.h"
#include "image/settle.h"
#include "image/store_add.h"
#include "image/store_files.h"
#include "image/store_work.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/remove_tree.h"

struct layer_writer {
    struct image_store store; /* borrowed */
    char work[STORE_WORK_BYTES];
    char tree[STORE_WORK_BYTES + 8]; /* "tmp/ID/layer" */
    int dir;
};

void layer_free(struct layer_writer *writer)
{
    if (!writer)
        return;
    hutch_fd_close(&writer->dir);
    if (writer->work[0])
        (void)remove_tree(writer->store.dir, writer->work);
    free(writer);
}

static void layer_freep(struct layer_writer **writer)
{
    layer_free(*writer);
}

int layer_begin(const struct image_store *store, struct layer_writer **ret_writer, int *ret_dir,
                struct hutch_error *err)
{
    hutch_cleanup(layer_freep) struct layer_writer *writer = calloc(1, sizeof(*writer));
    char work[STORE_WORK_BYTES];
    if (!writer)
        return hutch_fail_nomem(err);
    writer->store = *store;
    writer->dir = HUTCH_NO_FD;
    int r = store_work_path(work, err);
    if (r < 0)
        return r;
    if (mkdirat(store->dir, work, 0700) < 0)
        return hutch_fail_errno(err, errno, "make '%s' in the image store", work);
    memcpy(writer->work, work, sizeof(work));
    (void)snprintf(writer->tree, sizeof(writer->tree), "%s/layer", work);
    if (mkdirat(store->dir, writer->tree, 0755) == 0)
        writer->dir =
            openat(store->dir, writer->tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* the mode of an image's root is not the umask's business */
    if (writer->dir < 0 || fchmod(writer->dir, 0755) < 0)
        return hutch_fail_errno(err, errno, "make '%s' in the image store", writer->tree);
    *ret_dir = writer->dir;
    *ret_writer = HUTCH_TAKE_PTR(writer);
    return 0;
}

static int key_path(const char *key, char path[STORE_PATH_BYTES], struct hutch_error *err)
{
    if (!image_digest_is_valid(key))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.90s' is no key of a layer", key);
    (void)snprintf(path, STORE_PATH_BYTES, "unpacked/%s", IMAGE_DIGEST_HEX(key));
    return 0;
}

bool store_find_layer(const struct image_store *store, const char *key, char ret_name[16])
{
    char path[STORE_PATH_BYTES];
    char text[32];
    if (store->dir < 0 || key_path(key, path, NULL) < 0 ||
        hutch_read_at(store->dir, path, text, sizeof(text)) < 0)
        return false;
    text[strcspn(text, "\n")] = '\0';
    if (!record_layer_is_valid(text))
        return false;
    (void)snprintf(path, sizeof(path), "layers/%s", text);
    if (faccessat(store->dir, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    memcpy(ret_name, text, RECORD_LAYER_BYTES);
    return true;
}

/* One more than the largest there is. A number is not used again while something may remember it:
 * a prune syncs what named it away first. */
static int first_number(const struct image_store *store, uint64_t *ret_number,
                        struct hutch_error *err)
{
    int fd = image_open_layers(store, err);
    if (fd < 0)
        return fd;
    DIR *directory = fdopendir(fd);
    if (!directory) {
        hutch_fd_close(&fd);
        return hutch_fail_nomem(err);
    }
    uint64_t largest = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        uint64_t number = strtoull(entry->d_name, NULL, 10); /* also of one that was set aside */
        largest = number > largest ? number : largest;
    }
    (void)closedir(directory);
    *ret_number = largest + 1;
    return 0;
}

/* Moves a tree. For an ordinary user a directory that moves must be writable, for its ".." changes;
 * many images have a root that is not. */
static int move_tree(const struct layer_writer *writer, const char *from, const char *to)
{
    struct stat info;
    if (fstat(writer->dir, &info) < 0)
        return -1;
    bool denies = geteuid() != 0 && !(info.st_mode & S_IWUSR);
    if (denies && fchmod(writer->dir, (info.st_mode & 07777) | S_IWUSR) < 0)
        return -1;
    int r = (int)syscall(SYS_renameat2, writer->store.dir, from, writer->store.dir, to,
                         RENAME_NOREPLACE);
    int cause = errno;
    if (denies && fchmod(writer->dir, info.st_mode & 07777) < 0)
        return -1;
    errno = cause;
    return r;
}

static int number_tree(const struct layer_writer *writer, char path[STORE_PATH_BYTES],
                       struct hutch_error *err)
{
    uint64_t number = 0;
    int r = first_number(&writer->store, &number, err);
    if (r < 0)
        return r;
    do
        (void)snprintf(path, STORE_PATH_BYTES, "layers/%" PRIu64, number++);
    while ((r = move_tree(writer, writer->tree, path)) < 0 && errno == EEXIST);
    if (r < 0 || store_sync_parent(writer->store.dir, path) < 0)
        return hutch_fail_errno(err, errno, "give a layer its number in the image store");
    return 0;
}

/* Enters the number under the key. One that leads nowhere is damaged and gives way; one that leads
 * to a layer was first, and is the one to use. */
static int enter_key(const struct image_store *store, const char *key, const char *entry,
                     const char *number, char ret_name[16], struct hutch_error *err)
{
    char text[RECORD_LAYER_BYTES + 1];
    int length = snprintf(text, sizeof(text), "%s\n", number);
    for (;;) {
        int r = store_put_file(store, entry, text, (size_t)length, false, err);
        if (r == 0)
            (void)snprintf(ret_name, RECORD_LAYER_BYTES, "%s", number);
        if (r != -HUTCH_E_CONFLICT || store_find_layer(store, key, ret_name))
            return r;
        if (unlinkat(store->dir, entry, 0) < 0 && errno != ENOENT)
            return hutch_fail_errno(err, errno, "remove the damaged 'images/%s'", entry);
    }
}

int layer_commit(struct layer_writer *writer, const char *key, const struct tree_sum *sum,
                 char ret_name[16], struct hutch_error *err)
{
    char entry[STORE_PATH_BYTES], path[STORE_PATH_BYTES];
    int r = key_path(key, entry, err);
    if (r < 0 || store_find_layer(&writer->store, key, ret_name))
        return r;
    r = number_tree(writer, path, err);
    if (r < 0)
        return r;
    const char *number = strchr(path, '/') + 1;
    r = settle_note(&writer->store, number, sum, err);
    if (r >= 0)
        r = enter_key(&writer->store, key, entry, number, ret_name, err);
    if (r < 0)
        (void)move_tree(writer, path, writer->tree); /* goes with the rest */
    return r == -HUTCH_E_CONFLICT ? 0 : r;
}
