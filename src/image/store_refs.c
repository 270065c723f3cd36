/* SPDX-License-Identifier: Apache-2.0 */
/* The names of images, one file each, in directories that are there as long as they hold one. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/store_add.h"
#include "image/store_files.h"
#include "image/store_work.h"
#include "util/own.h"

struct name {
    struct image_reference reference;
    char text[IMAGE_REFERENCE_BYTES];
    char digest[IMAGE_DIGEST_BYTES];
    uint64_t changed_us;
};

struct names {
    struct name *items;
    size_t count;
    size_t capacity;
};

static void names_done(struct names *names)
{
    free(names->items);
}

/* ---- giving and taking ---- */

static int make_parents(int dir, const char *path)
{
    char prefix[STORE_REFERENCE_PATH_BYTES];
    (void)snprintf(prefix, sizeof(prefix), "%s", path);
    for (char *slash = strchr(prefix, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdirat(dir, prefix, 0700) < 0 && errno != EEXIST)
            return -1;
        *slash = '/';
    }
    return 0;
}

static void remove_empty_parents(int dir, char *path)
{
    for (char *slash; (slash = strrchr(path, '/')) && strchr(path, '/') != slash;) {
        *slash = '\0';
        if (unlinkat(dir, path, AT_REMOVEDIR) < 0)
            return;
    }
}

/* Whoever takes the last name out of a directory takes that away too, at any moment. */
int store_set_reference(const struct image_store *store, const struct image_reference *reference,
                        const char *digest, struct hutch_error *err)
{
    char path[STORE_REFERENCE_PATH_BYTES];
    char text[IMAGE_DIGEST_BYTES + 1];
    int r = 0;
    if (!image_digest_is_valid(digest))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.90s' is no digest", digest);
    store_reference_path(reference, path);
    int length = snprintf(text, sizeof(text), "%s\n", digest);
    for (int tries = 0; tries < 100; tries++) {
        r = make_parents(store->dir, path) < 0 && errno != ENOENT
                ? hutch_fail_errno(err, errno, "make the directories of 'images/%.200s'", path)
                : store_put_file(store, path, text, (size_t)length, true, err);
        if (r != -HUTCH_E_NOT_FOUND)
            break;
    }
    if (r < 0)
        remove_empty_parents(store->dir, path);
    return r;
}

int store_remove_reference(const struct image_store *store, const struct image_reference *reference,
                           struct hutch_error *err)
{
    char path[STORE_REFERENCE_PATH_BYTES];
    store_reference_path(reference, path);
    if (store->dir < 0 || unlinkat(store->dir, path, 0) < 0) {
        if (store->dir < 0 || errno == ENOENT || errno == ENOTDIR)
            return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT, "there is no such image here");
        return hutch_fail_errno(err, errno, "remove 'images/%.200s'", path);
    }
    if (store_sync_parent(store->dir, path) < 0 && errno != ENOENT)
        return hutch_fail_errno(err, errno, "sync the names of images");
    remove_empty_parents(store->dir, path);
    return 0;
}

/* ---- listing ---- */

/* "REGISTRY/REPOSITORY/:TAG" taken apart. False for what is no name of ours. */
static bool split(const char *path, struct image_reference *ret_reference)
{
    const char *first = strchr(path, '/'), *last = strrchr(path, '/');
    *ret_reference = (struct image_reference){0};
    if (!first || last == first || (last[1] != ':' && last[1] != '@'))
        return false;
    size_t registry = (size_t)(first - path), repository = (size_t)(last - first) - 1;
    size_t rest = strlen(last + 2);
    char *into = last[1] == ':' ? ret_reference->tag : ret_reference->digest;
    size_t room = last[1] == ':' ? sizeof(ret_reference->tag) : sizeof(ret_reference->digest);
    if (registry >= sizeof(ret_reference->registry) ||
        repository >= sizeof(ret_reference->repository) || rest >= room)
        return false;
    memcpy(ret_reference->registry, path, registry);
    memcpy(ret_reference->repository, first + 1, repository);
    memcpy(into, last + 2, rest);
    return true;
}

/* One damaged file keeps nobody from the others. */
static int read_digest(const struct image_store *store, const char *path,
                       char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    struct hutch_error problem = HUTCH_ERROR_INIT;
    int r = store_read_reference(store, path, ret_digest, &problem);
    if (r == -HUTCH_E_INVALID) {
        (void)snprintf(ret_digest, IMAGE_DIGEST_BYTES, STORE_NO_DIGEST);
        return 0;
    }
    if (r < 0 && err)
        *err = problem;
    return r;
}

static int add_name(const struct image_store *store, struct names *names, const char *path,
                    struct hutch_error *err)
{
    struct name name = {0};
    struct stat info;
    if (!split(path + strlen("refs/"), &name.reference))
        return 0;
    int r = read_digest(store, path, name.digest, err);
    if (r < 0 || fstatat(store->dir, path, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return r == -HUTCH_E_NOT_FOUND ? 0 : r; /* taken away meanwhile */
    image_reference_format(&name.reference, name.text);
    name.changed_us =
        (uint64_t)info.st_mtim.tv_sec * 1000000 + (uint64_t)info.st_mtim.tv_nsec / 1000;
    if (names->count == names->capacity) {
        size_t capacity = names->capacity ? names->capacity * 2 : 16;
        struct name *items = reallocarray(names->items, capacity, sizeof(*items));
        if (!items)
            return hutch_fail_nomem(err);
        names->items = items;
        names->capacity = capacity;
    }
    names->items[names->count++] = name;
    return 0;
}

static int open_listing(const struct image_store *store, const char *path, DIR **ret_directory,
                        struct hutch_error *err)
{
    int fd = openat(store->dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return hutch_fail_errno(err, errno, "open 'images/%.200s'", path);
    *ret_directory = fdopendir(fd);
    if (*ret_directory)
        return 0;
    hutch_fd_close(&fd);
    return hutch_fail_nomem(err);
}

/* The length of the path bounds the depth. */
static int collect(const struct image_store *store, struct names *names, const char *path,
                   struct hutch_error *err)
{
    DIR *directory = NULL;
    int r = open_listing(store, path, &directory, err);
    if (r < 0 || !directory)
        return r;
    /* a prune takes what no name leads to: half a list would be the loss of the other half */
    for (struct dirent *entry; r >= 0 && (errno = 0, entry = readdir(directory));) {
        char below[STORE_REFERENCE_PATH_BYTES];
        int length = snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || length < 0 || (size_t)length >= sizeof(below))
            continue;
        if (entry->d_name[0] == ':' || entry->d_name[0] == '@')
            r = add_name(store, names, below, err);
        else
            r = collect(store, names, below, err);
    }
    if (r >= 0 && errno)
        r = hutch_fail_errno(err, errno, "list 'images/%.200s'", path);
    (void)closedir(directory);
    return r;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

int store_references(const struct image_store *store, store_reference_fn *on_reference,
                     void *context, struct hutch_error *err)
{
    hutch_cleanup(names_done) struct names names = {0};
    int r = store->dir < 0 ? 0 : collect(store, &names, "refs", err);
    if (r < 0)
        return r;
    if (names.count)
        qsort(names.items, names.count, sizeof(*names.items), compare_names);
    for (size_t i = 0; i < names.count; i++) {
        const struct name *name = &names.items[i];
        if (on_reference(context, &name->reference, name->digest, name->changed_us) != 0)
            break;
    }
    return 0;
}
