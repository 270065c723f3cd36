/* SPDX-License-Identifier: Apache-2.0 */
#include "image/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "image/layer_rules.h"
#include "util/own.h"

#define MAX_NAME_BYTES (64u << 10)

static ssize_t lend(void *context, const char **ret_data)
{
    const struct layer_work *work = context;
    return feed_next(work->feed, ret_data);
}

static void keep_owner(void *context, uid_t *uid, gid_t *gid)
{
    (void)context;
    (void)uid;
    (void)gid;
}

/* What the thread says is the cause: to the unpacker it is only a stream that broke. */
static int fail_unpack(struct feed *feed, const struct tar_failure *failure,
                       struct hutch_error *err)
{
    if (feed_has_failed(feed, err))
        return -(int)err->code;
    enum hutch_code code = failure->what == TAR_MEMORY ? HUTCH_E_NO_MEMORY
                           : failure->os_errno         ? HUTCH_E_SYSTEM
                                                       : HUTCH_E_INVALID;
    return hutch_fail(err, code, failure->os_errno, "cannot unpack the layer: %s%s%.200s%s%s%s",
                      tar_failure_text(failure->what), failure->path[0] ? " '" : "", failure->path,
                      failure->path[0] ? "'" : "", failure->os_errno ? ": " : "",
                      failure->os_errno ? strerror(failure->os_errno) : "");
}

/* ---- directories that the archive does not mention ---- */

static int compare(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

static void sort(struct hutch_strlist *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), compare);
}

/* What lies below has no say in a directory that hides it, nor in anything beneath that. Also true
 * when the directory was replaced by something else. */
static bool is_hiding(int top, const char *path)
{
    hutch_autofd int dir = fcntl(top, F_DUPFD_CLOEXEC, 0);
    while (dir >= 0) {
        char name[NAME_MAX + 1], value[4];
        size_t length = strcspn(path, "/");
        if (length == 0)
            return false;
        memcpy(name, path, length); /* the kernel has taken it before */
        name[length] = '\0';
        int next = openat(dir, name, TAR_OPEN_DIRECTORY);
        hutch_fd_close(&dir);
        dir = next;
        if (dir >= 0 && fgetxattr(dir, LAYER_OPAQUE_XATTR, value, sizeof(value)) > 0)
            return true;
        path += length + (path[length] == '/');
    }
    return true;
}

/* Both lists are sorted, so one pass tells which were never mentioned. */
static int list_implicit(const struct layer_options *options, struct layer_work *work,
                         struct hutch_strlist *ret_list, struct hutch_error *err)
{
    const struct hutch_strlist *implied = &work->implied, *mentioned = &work->mentioned;
    size_t other = 0;
    sort(&work->implied);
    sort(&work->mentioned);
    for (size_t i = 0; i < implied->count; i++) {
        const char *path = implied->items[i];
        while (other < mentioned->count && strcmp(mentioned->items[other], path) < 0)
            other++;
        if ((other < mentioned->count && strcmp(mentioned->items[other], path) == 0) ||
            (i && strcmp(path, implied->items[i - 1]) == 0) || is_hiding(options->dir, path))
            continue;
        if (hutch_strlist_add(ret_list, path, err) < 0)
            return -(int)err->code;
    }
    return 0;
}

/* ---- */

static int unpack(const struct layer_options *options, struct layer_work *work,
                  struct layer_result *result, struct hutch_error *err)
{
    struct tar_failure failure = {0};
    const struct tar_unpack_options how = {
        .dir = options->dir,
        .names = TAR_NAMES_REFUSE,
        .keep_special = true,
        .make_fifos = true,
        .map_owner = options->keeps_owners ? keep_owner : NULL,
        .context = work,
        .lend = lend,
        .rules = &layer_rules,
        .max_bytes = options->max_bytes ? options->max_bytes : LAYER_DEFAULT_BYTES,
        .max_entries = options->max_entries ? options->max_entries : LAYER_DEFAULT_ENTRIES,
        .max_name_bytes = MAX_NAME_BYTES,
    };
    int status = feed_start(options->source, options->context, how.max_bytes, &work->feed, err);
    if (status < 0)
        return status;
    if (tar_unpack(&how, -EBADF, &failure) < 0)
        return fail_unpack(work->feed, &failure, err);
    result->sum = work->sum;
    result->is_miscounted = work->is_miscounted;
    status = feed_finish(work->feed, result->diff_id, &result->bytes, err);
    return status < 0 ? status : list_implicit(options, work, &result->implicit_dirs, err);
}

int layer_unpack(const struct layer_options *options, struct layer_result *ret_result,
                 struct hutch_error *err)
{
    struct layer_work work = {.sum.entries = 1};
    struct layer_result result = {0};
    int status = unpack(options, &work, &result, err);
    feed_free(work.feed);
    hutch_strlist_done(&work.implied);
    hutch_strlist_done(&work.mentioned);
    if (status < 0)
        layer_result_done(&result);
    else
        *ret_result = result;
    return status;
}

void layer_result_done(struct layer_result *result)
{
    hutch_strlist_done(&result->implicit_dirs);
}

/* Directories that were not mentioned may yet move, and an ordinary user does not see into every
 * directory that an image has. */
const struct tree_sum *layer_known_sum(const struct layer_result *result)
{
    bool is_known = !result->is_miscounted && !result->implicit_dirs.count && geteuid() == 0;
    return is_known ? &result->sum : NULL;
}
