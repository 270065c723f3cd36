/* SPDX-License-Identifier: Apache-2.0 */
/* The walk shows each pair of entries twice where it is a directory: on the way in directories are
 * made and everything else is written or removed; on the way out directories are removed, and get
 * permissions that would have kept us from writing into them.
 *
 * What tells a file that somebody has changed from one that an earlier, interrupted apply has
 * written: the latter is equal to the sandbox's and therefore no change at all. A directory's times
 * say nothing of that kind, because they change with what is put into it; it is new when it was
 * born since. */
#include "store/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "store/beneath.h"
#include "store/birth.h"
#include "store/compare.h"
#include "store/put.h"
#include "util/own.h"

#define KEPT_BITS 01777 /* no set-id bits */

struct apply {
    const struct hutch_apply_options *options;
    struct hutch_apply_counts counts;
    char *last_conflict; /* its path */
    struct hutch_error *err;
};

const char *hutch_conflict_reason_text(enum hutch_conflict_reason reason)
{
    static const char *const texts[HUTCH_CONFLICT_REASON_COUNT] = {
        [HUTCH_CONFLICT_CHANGED] = "was changed since the sandbox was created",
        [HUTCH_CONFLICT_APPEARED] = "was made since the sandbox was created",
        [HUTCH_CONFLICT_NOT_EMPTY] = "holds something that stays",
        [HUTCH_CONFLICT_UNREACHABLE] = "is in a directory that was replaced or mounted over",
        [HUTCH_CONFLICT_SPECIAL] = "is a device, FIFO or socket, which is never applied",
        [HUTCH_CONFLICT_RESERVED] = "has the name that is used for temporary files",
    };
    size_t index = (size_t)reason;
    return index < HUTCH_CONFLICT_REASON_COUNT ? texts[index] : "";
}

/* ---- judging ---- */

static int conflict(struct apply *apply, const struct store_pair *pair,
                    enum hutch_conflict_reason reason)
{
    char *path = strdup(pair->path);
    if (!path)
        return hutch_fail_nomem(apply->err);
    free(apply->last_conflict);
    apply->last_conflict = path;
    apply->counts.conflicts++;
    if (apply->options->conflict)
        apply->options->conflict(apply->options->context, pair->path, reason);
    return STORE_WALK_SKIP;
}

/* Conflicts come in the order of the walk, so that the last one tells. */
static bool had_conflict_in(const struct apply *apply, const char *directory)
{
    size_t length = strlen(directory);
    return apply->last_conflict && strncmp(apply->last_conflict, directory, length) == 0 &&
           apply->last_conflict[length] == '/';
}

static bool is_later(const struct timespec *time, uint64_t since_ns)
{
    return time->tv_sec >= 0 &&
           (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec > since_ns;
}

static bool is_born_since(const struct apply *apply, const struct store_pair *pair)
{
    return store_birth_ns(pair->lower_dir, pair->name) > apply->options->since_ns;
}

static bool is_touched_since(const struct apply *apply, const struct store_pair *pair)
{
    if (S_ISDIR(pair->lower.st_mode))
        return is_born_since(apply, pair);
    return is_later(&pair->lower.st_ctim, apply->options->since_ns) ||
           is_later(&pair->lower.st_mtim, apply->options->since_ns);
}

static int conflict_over(struct apply *apply, const struct store_pair *pair)
{
    return conflict(apply, pair,
                    is_born_since(apply, pair) ? HUTCH_CONFLICT_APPEARED : HUTCH_CONFLICT_CHANGED);
}

/* The sandbox has it, so it is the place below that is gone. */
static bool is_still_wanted(const struct store_pair *pair)
{
    struct stat info;
    return pair->in_upper && store_stat(pair->upper_dir, pair->name, &info) == 0 &&
           store_is_same_inode(&info, &pair->upper);
}

/* What a failed step means: somebody was faster, the sandbox took its file away, or it is an error.
 */
static int judge_failure(struct apply *apply, const struct store_pair *pair, const char *what)
{
    int failure = errno;
    if (failure == EEXIST)
        return conflict(apply, pair, HUTCH_CONFLICT_APPEARED);
    if (failure == EBUSY || failure == ENOTEMPTY)
        return conflict(apply, pair, HUTCH_CONFLICT_CHANGED);
    if (store_is_gone(failure) && is_still_wanted(pair))
        return conflict(apply, pair, HUTCH_CONFLICT_UNREACHABLE);
    if (store_is_gone(failure))
        return STORE_WALK_SKIP;
    return hutch_fail_errno(apply->err, failure, "%s '%.300s'", what, pair->path);
}

/* ---- writing ---- */

static bool is_directory(bool present, const struct stat *info)
{
    return present && S_ISDIR(info->st_mode);
}

/* The directory's own permissions and what it takes to write into it. */
static mode_t open_mode(mode_t mode)
{
    return S_ISDIR(mode) ? mode | S_IRWXU : mode;
}

static struct store_put put_of(const struct apply *apply, const struct store_pair *pair)
{
    struct store_put put = {
        .upper_dir = pair->upper_dir,
        .lower_dir = pair->lower_dir,
        .name = pair->name,
        .mode = open_mode(pair->upper.st_mode & (S_IFMT | KEPT_BITS)),
        .uid = (uid_t)-1,
        .gid = (gid_t)-1,
        .sync = apply->options->sync,
        .replaced = pair->in_lower ? &pair->lower : NULL,
    };
    if (apply->options->owner || pair->in_lower) {
        put.uid = apply->options->owner ? pair->upper.st_uid : pair->lower.st_uid;
        put.gid = apply->options->owner ? pair->upper.st_gid : pair->lower.st_gid;
        put.may_keep_owner = !apply->options->owner;
    }
    return put;
}

static int put_entry(struct apply *apply, struct store_pair *pair, uint64_t *count)
{
    if (pair->lost)
        return conflict(apply, pair, HUTCH_CONFLICT_UNREACHABLE);
    if (!apply->options->dry_run) {
        struct store_put put = put_of(apply, pair);
        if (store_put(&put) < 0)
            return judge_failure(apply, pair, "write");
        pair->in_lower = store_stat(pair->lower_dir, pair->name, &pair->lower) == 0;
    }
    ++*count;
    return 0;
}

static int apply_added(struct apply *apply, struct store_pair *pair)
{
    return put_entry(apply, pair, &apply->counts.added);
}

static int apply_modified(struct apply *apply, struct store_pair *pair)
{
    if (is_touched_since(apply, pair))
        return conflict_over(apply, pair);
    return put_entry(apply, pair, &apply->counts.modified);
}

/* A directory in the way is emptied first, see leave. A directory cannot be renamed over a file, so
 * there is a moment with neither; after a crash in it the directory is simply new. */
static int apply_type(struct apply *apply, struct store_pair *pair)
{
    if (is_touched_since(apply, pair))
        return conflict_over(apply, pair);
    if (S_ISDIR(pair->lower.st_mode))
        return 0;
    if (S_ISDIR(pair->upper.st_mode) && !apply->options->dry_run) {
        if (store_remove(pair->lower_dir, pair->name, &pair->lower) < 0)
            return judge_failure(apply, pair, "remove");
        pair->in_lower = false;
    }
    return put_entry(apply, pair, &apply->counts.modified);
}

static int apply_deleted(struct apply *apply, struct store_pair *pair)
{
    if (is_touched_since(apply, pair))
        return conflict_over(apply, pair);
    if (S_ISDIR(pair->lower.st_mode))
        return 0;
    if (!apply->options->dry_run && store_remove(pair->lower_dir, pair->name, &pair->lower) < 0)
        return judge_failure(apply, pair, "remove");
    apply->counts.deleted++;
    return 0;
}

/* Between the two changes of a directory's permissions, see leave. */
static bool is_half_done(const struct store_pair *pair)
{
    return S_ISDIR(pair->lower.st_mode) &&
           ((pair->lower.st_mode ^ open_mode(pair->upper.st_mode)) & KEPT_BITS) == 0;
}

/* A conflict over a directory's permissions says nothing about what is in it. */
static int apply_metadata(struct apply *apply, struct store_pair *pair)
{
    bool own = apply->options->owner && (pair->upper.st_uid != pair->lower.st_uid ||
                                         pair->upper.st_gid != pair->lower.st_gid);
    if (!own && is_half_done(pair))
        return 0;
    if (is_later(&pair->lower.st_ctim, apply->options->since_ns)) {
        int status = conflict_over(apply, pair);
        return status < 0 ? status : 0;
    }
    if (own && S_ISREG(pair->upper.st_mode)) /* both at once, by a rename */
        return put_entry(apply, pair, &apply->counts.metadata);
    if (!apply->options->dry_run) {
        struct store_put put = put_of(apply, pair);
        if (!own)
            put.uid = (uid_t)-1, put.gid = (gid_t)-1;
        if (store_put_metadata(&put) < 0)
            return judge_failure(apply, pair, "change");
    }
    apply->counts.metadata++;
    return 0;
}

/* ---- the walk ---- */

static bool is_special(const struct store_pair *pair)
{
    return pair->in_upper && !S_ISREG(pair->upper.st_mode) && !S_ISDIR(pair->upper.st_mode) &&
           !S_ISLNK(pair->upper.st_mode);
}

/* To the owner outside. Each look at the pair shows the one inside again. */
static void map_owner(const struct apply *apply, struct store_pair *pair)
{
    const struct hutch_apply_options *options = apply->options;
    if (options->owner && pair->in_upper)
        options->owner(options->context, pair->upper.st_uid, pair->upper.st_gid,
                       &pair->upper.st_uid, &pair->upper.st_gid);
}

static int enter(void *context, struct store_pair *pair, struct hutch_error *err)
{
    static int (*const table[HUTCH_CHANGE_KIND_COUNT])(struct apply *, struct store_pair *) = {
        [HUTCH_CHANGE_ADDED] = apply_added,       [HUTCH_CHANGE_MODIFIED] = apply_modified,
        [HUTCH_CHANGE_DELETED] = apply_deleted,   [HUTCH_CHANGE_TYPE] = apply_type,
        [HUTCH_CHANGE_METADATA] = apply_metadata,
    };
    struct apply *apply = context;
    struct store_comparison how = {.mode_mask = KEPT_BITS, .ignore_owner = !apply->options->owner};
    if (strcmp(pair->name, HUTCH_APPLY_TEMPORARY) == 0)
        return pair->in_upper ? conflict(apply, pair, HUTCH_CONFLICT_RESERVED) : STORE_WALK_SKIP;
    map_owner(apply, pair);
    int kind = store_compare(pair, &how, err);
    if (kind <= HUTCH_CHANGE_NONE)
        return kind;
    if (is_special(pair))
        return conflict(apply, pair, HUTCH_CONFLICT_SPECIAL);
    return table[kind](apply, pair);
}

static int remove_directory(struct apply *apply, const struct store_pair *pair)
{
    if (had_conflict_in(apply, pair->path))
        return conflict(apply, pair, HUTCH_CONFLICT_NOT_EMPTY);
    if (!apply->options->dry_run && unlinkat(pair->lower_dir, pair->name, AT_REMOVEDIR) < 0) {
        if (errno == ENOTEMPTY || errno == EEXIST)
            return conflict(apply, pair, HUTCH_CONFLICT_NOT_EMPTY);
        if (errno == EBUSY)
            return conflict(apply, pair, HUTCH_CONFLICT_UNREACHABLE);
        return judge_failure(apply, pair, "remove directory");
    }
    return 0;
}

/* Permissions that would have kept us out are set last. */
static int finish_directory(struct apply *apply, const struct store_pair *pair)
{
    mode_t mode = pair->upper.st_mode & KEPT_BITS;
    if (mode != (pair->lower.st_mode & KEPT_BITS) && is_half_done(pair) &&
        fchmod(pair->lower_self, mode) < 0)
        return judge_failure(apply, pair, "change");
    if (apply->options->sync && fsync(pair->lower_self) < 0)
        return judge_failure(apply, pair, "write");
    return 0;
}

static int replace_directory(struct apply *apply, const struct store_pair *pair)
{
    struct store_pair rest = *pair;
    int status = remove_directory(apply, pair);
    if (status != 0)
        return status;
    if (!pair->in_upper) {
        apply->counts.deleted++;
        return 0;
    }
    rest.in_lower = false;
    rest.lost = false;
    map_owner(apply, &rest);
    return put_entry(apply, &rest, &apply->counts.modified);
}

static int leave(void *context, const struct store_pair *pair, struct hutch_error *err)
{
    struct apply *apply = context;
    int status = 0;
    (void)err;
    if (pair->lower_self >= 0 && !apply->options->dry_run)
        store_put_clean(pair->lower_self);
    if (!is_directory(pair->in_lower, &pair->lower))
        return 0;
    if (!is_directory(pair->in_upper, &pair->upper))
        status = replace_directory(apply, pair);
    else if (pair->lower_self >= 0 && !apply->options->dry_run)
        status = finish_directory(apply, pair);
    return status < 0 ? status : 0;
}

/* ---- the whole ---- */

/* Two at the same time would use the same temporary names. Returns a descriptor that holds the
 * lock, or a negative code. */
static int lock(int lower, struct hutch_error *err)
{
    hutch_autofd int fd = openat(lower, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "open the directory to write to");
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return HUTCH_TAKE_FD(fd);
    if (errno == EWOULDBLOCK)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, EWOULDBLOCK,
                          "somebody else is writing changes to this directory; try again when they "
                          "are done");
    return hutch_fail_errno(err, errno, "lock the directory to write to");
}

int hutch_apply(int upper, int lower, const struct hutch_apply_options *options,
                struct hutch_apply_counts *ret_counts, struct hutch_error *err)
{
    struct apply apply = {.options = options, .err = err};
    struct store_visitor visitor = {.enter = enter, .leave = leave, .context = &apply};
    if (ret_counts)
        *ret_counts = apply.counts;
    hutch_autofd int locked = options->dry_run ? HUTCH_NO_FD : lock(lower, err);
    if (!options->dry_run && locked < 0)
        return locked;
    int status = store_walk(upper, lower, &visitor, err);
    if (locked >= 0)
        store_put_clean(locked);
    if (status == 0 && locked >= 0 && options->sync && fsync(locked) < 0)
        status = hutch_fail_errno(err, errno, "write the directory");
    free(apply.last_conflict);
    if (ret_counts)
        *ret_counts = apply.counts;
    return status;
}
