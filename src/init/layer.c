/* SPDX-License-Identifier: Apache-2.0 */
/* What the plan adds to a root filesystem is put into the layer above it before the two are joined.
 * Through the joined tree each new name costs several times as much, and the first one in a
 * directory of the image has that directory copied up.
 *
 * This is done only where the outcome is surely the same. Whatever is out of the ordinary (a
 * symlink or a device in the way, an owner whom the sandbox does not have, attributes to be copied)
 * is left to the joined tree, with all the steps that follow. */
#include "init/init.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "init/sys.h"

#define OVERFLOW_ID 65534 /* how the kernel shows an id that the namespace does not have */

/* One directory in both layers. */
struct pair {
    int upper;
    int lower; /* -1: the image has no such directory */
};

int layer_mkdir(int writable, const char *name)
{
    int status = mkdirat(writable, name, 0755);
    return status < 0 && errno == EEXIST ? 1 : status;
}

static void pair_close(const struct pair *pair)
{
    if (pair->upper >= 0)
        close(pair->upper);
    if (pair->lower >= 0)
        close(pair->lower);
}

/* What copying the directory up would make of it. */
static int copy_up(int upper, const char *name, int lower)
{
    struct stat info;
    if (fstat(lower, &info) < 0 || info.st_uid == OVERFLOW_ID || info.st_gid == OVERFLOW_ID ||
        flistxattr(lower, NULL, 0) != 0)
        return -1;
    if (mkdirat(upper, name, 0700) < 0)
        return errno == EEXIST ? 0 : -1; /* it was copied before: the layer is fresh */
    const struct timespec times[2] = {info.st_atim, info.st_mtim};
    if (fchownat(upper, name, info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW) == 0 &&
        fchmodat(upper, name, info.st_mode & 07777, 0) == 0 &&
        utimensat(upper, name, times, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    (void)unlinkat(upper, name, AT_REMOVEDIR);
    return -1;
}

static int pair_enter(const struct pair *at, const char *name, struct pair *ret_pair)
{
    struct pair next = {-1, -1};
    if (at->lower >= 0)
        next.lower = sys_openat2(at->lower, name, O_RDONLY | O_DIRECTORY,
                                 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
    if (at->lower >= 0 && next.lower < 0 && errno != ENOENT)
        return -1;
    int status =
        next.lower >= 0 ? copy_up(at->upper, name, next.lower) : layer_mkdir(at->upper, name);
    if (status >= 0)
        next.upper = sys_openat2(at->upper, name, O_PATH | O_DIRECTORY,
                                 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
    if (next.upper < 0) {
        pair_close(&next);
        return -1;
    }
    *ret_pair = next;
    return 0;
}

/* A character device may be an overlay's way to say that there is nothing. */
static bool is_kept(const struct init_step *step, mode_t mode)
{
    return step->op == INIT_OP_MKDIR ? S_ISDIR(mode) : !S_ISCHR(mode);
}

static int add_entry(const struct pair *at, const char *name, const struct init_step *step,
                     const char *text)
{
    struct stat info;
    if (at->lower >= 0 && !(step->flags & INIT_STEP_REPLACE)) { /* it hides what is below */
        if (fstatat(at->lower, name, &info, AT_SYMLINK_NOFOLLOW) == 0)
            return is_kept(step, info.st_mode) ? 0 : -1;
        if (errno != ENOENT)
            return -1;
    }
    return entry_make(at->upper, name, step, text);
}

/* A path may come from the image, whose passwd names homes: ".." would lead out of the layer, and
 * from there to the host. */
static bool is_plain(const char *name, size_t length)
{
    return length > 0 && !(name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.')));
}

/* The directory at the top that was entered last: neighbouring steps mostly want the same one. */
struct entered {
    struct pair pair;
    char name[256];
};

static int add_path(const struct pair *top, const char *path, const struct init_step *step,
                    const char *text, struct entered *last)
{
    char name[sizeof(last->name)];
    size_t length = strcspn(path, "/");
    if (!is_plain(path, length) || length >= sizeof(name))
        return -1;
    if (!path[length])
        return add_entry(top, path, step, text);
    memcpy(name, path, length);
    name[length] = '\0';
    struct pair below;
    bool is_open = last && !strcmp(last->name, name);
    if (is_open)
        below = last->pair;
    else if (pair_enter(top, name, &below) < 0)
        return -1;
    int status = add_path(&below, path + length + 1, step, text, NULL);
    if (last && !is_open) {
        pair_close(&last->pair);
        last->pair = below;
        memcpy(last->name, name, length + 1);
    } else if (!last) {
        pair_close(&below);
    }
    return status;
}

uint32_t layer_prepare(int writable, const struct init_plan *plan)
{
    const struct init_step *steps = blob_at(plan, plan->steps);
    struct pair top = {openat(writable, "upper", O_PATH | O_DIRECTORY | O_CLOEXEC),
                       openat(writable, "lower", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    struct entered last = {.pair = {-1, -1}};
    uint32_t done = 0;
    while (top.upper >= 0 && top.lower >= 0 && done < plan->step_count) {
        const struct init_step *step = &steps[done];
        if (step->op > INIT_OP_SYMLINK || step->flags & INIT_STEP_INSIDE ||
            add_path(&top, blob_at(plan, step->path), step, blob_at(plan, step->text), &last) < 0)
            break;
        done++;
    }
    pair_close(&last.pair);
    pair_close(&top);
    return done;
}
