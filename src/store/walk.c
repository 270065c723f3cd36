/* SPDX-License-Identifier: Apache-2.0 */
/* The walk goes down with a stack of its own, one frame per directory, because a hostile tree is
 * deeper than any stack of calls. A frame holds its directory's names, sorted, and the place in
 * them. Only the deepest frames keep their descriptors: on the way back up a directory is opened
 * again as its child's "..", and must be the inode that it was.
 *
 * An upper directory whose lower counterpart shows through speaks only of the names it holds. Where
 * it does not (it is opaque, lies in an opaque one, is new, or is gone), the names of the lower one
 * are looked at as well: what has no counterpart above was deleted. */
#include "store/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "store/beneath.h"
#include "store/marks.h"
#include "store/names.h"
#include "util/buf.h"
#include "util/own.h"

#define OPEN_FRAMES 32
#define MAX_DEPTH 16384
#define MAX_NAMES_BYTES ((size_t)256 << 20) /* in all the frames together */
#define MAX_PATH_BYTES ((size_t)8 << 20)

struct side {
    int fd; /* negative: not there, or closed for the time being */
    bool present;
    struct stat info;
};

struct frame {
    struct side upper;
    struct side lower;
    enum store_marks marks;
    bool hides_lower;
    bool lost_lower;
    struct store_names names;
    size_t next;
    size_t path_length; /* of the walk's path, while it is in this directory */
    size_t name_offset; /* where this directory's own name begins in it */
};

struct walk {
    const struct store_visitor *visitor;
    struct hutch_error *err;
    bool plain;
    struct frame *frames;
    size_t depth; /* frames in use */
    size_t capacity;
    size_t names_bytes;
    struct hutch_buf path;
};

static const char *shown_path(const struct walk *walk)
{
    return walk->path.data && walk->path.length ? walk->path.data : ".";
}

static int fail_at(const struct walk *walk, int os_errno, const char *what)
{
    const char *path = shown_path(walk);
    if (os_errno == E2BIG)
        return hutch_fail(walk->err, HUTCH_E_UNSUPPORTED, E2BIG,
                          "directory '%.300s' holds too many names to be compared", path);
    return hutch_fail_errno(walk->err, os_errno, "%s '%.300s'", what, path);
}

static void cut_path(struct walk *walk, size_t length)
{
    walk->path.length = length;
    if (walk->path.data)
        walk->path.data[length] = '\0';
}

/* Appends a component. Returns where it begins, or a negative code. */
static int extend_path(struct walk *walk, const char *name, size_t *ret_offset)
{
    if (walk->path.length)
        hutch_buf_puts(&walk->path, "/");
    *ret_offset = walk->path.length;
    hutch_buf_puts(&walk->path, name);
    return walk->path.failed ? hutch_fail_nomem(walk->err) : 0;
}

/* ---- frames ---- */

static void close_frame(struct frame *frame)
{
    hutch_fd_close(&frame->upper.fd);
    hutch_fd_close(&frame->lower.fd);
}

static void pop_frame(struct walk *walk)
{
    struct frame *frame = &walk->frames[--walk->depth];
    walk->names_bytes -= frame->names.size_bytes;
    store_names_done(&frame->names);
    close_frame(frame);
}

static bool grow_frames(struct walk *walk)
{
    if (walk->depth < walk->capacity)
        return true;
    size_t capacity = walk->capacity ? walk->capacity * 2 : 64;
    struct frame *frames = reallocarray(walk->frames, capacity, sizeof(*frames));
    if (!frames)
        return false;
    walk->frames = frames;
    walk->capacity = capacity;
    return true;
}

static int read_names(struct walk *walk, struct frame *frame)
{
    return store_names_read(frame->upper.fd, frame->hides_lower ? frame->lower.fd : -1,
                            MAX_NAMES_BYTES - walk->names_bytes, &frame->names);
}

/* Takes the frame's descriptors over, also on failure. */
static int push_frame(struct walk *walk, struct frame *frame)
{
    int status;
    if (walk->depth == MAX_DEPTH) {
        status = hutch_fail(walk->err, HUTCH_E_UNSUPPORTED, 0,
                            "directories are nested more than %d deep", MAX_DEPTH);
    } else if (!grow_frames(walk)) {
        status = hutch_fail_nomem(walk->err);
    } else if (read_names(walk, frame) < 0) {
        status = fail_at(walk, errno, "read directory");
    } else {
        walk->names_bytes += frame->names.size_bytes;
        walk->frames[walk->depth++] = *frame;
        /* the top one stays open: from there every other can be found again */
        if (walk->depth > OPEN_FRAMES + 1)
            close_frame(&walk->frames[walk->depth - OPEN_FRAMES - 1]);
        return 0;
    }
    close_frame(frame);
    return status;
}

/* ---- the way back up ---- */

static struct side *side_of(struct frame *frame, bool upper)
{
    return upper ? &frame->upper : &frame->lower;
}

static bool is_known(int fd, const struct side *side)
{
    struct stat info;
    return fd >= 0 && fstat(fd, &info) == 0 && store_is_same_inode(&info, &side->info);
}

/* From the top, by name. */
static int find_again(struct walk *walk, const struct frame *frame, bool upper)
{
    hutch_autofd int at = fcntl(side_of(walk->frames, upper)->fd, F_DUPFD_CLOEXEC, 0);
    hutch_autofree char *path = strndup(walk->path.data, frame->path_length);
    char *rest = NULL;
    if (!path)
        return -1;
    for (char *name = strtok_r(path, "/", &rest); at >= 0 && name;
         name = strtok_r(NULL, "/", &rest)) {
        int next = store_open_directory(at, name);
        hutch_fd_close(&at);
        at = next;
    }
    return HUTCH_TAKE_FD(at);
}

static int reopen_side(struct walk *walk, struct frame *frame, struct frame *child, bool upper)
{
    struct side *side = side_of(frame, upper);
    const struct side *below = side_of(child, upper);
    if (!side->present || side->fd >= 0)
        return 0;
    hutch_autofd int fd = below->fd >= 0 ? store_open_parent(below->fd) : HUTCH_NO_FD;
    if (!is_known(fd, side)) {
        hutch_fd_close(&fd);
        fd = find_again(walk, frame, upper);
    }
    if (!is_known(fd, side)) {
        cut_path(walk, frame->path_length);
        return hutch_fail(walk->err, HUTCH_E_UNAVAILABLE, 0,
                          "directory '%.300s' was moved while it was read; pause the sandbox, or "
                          "try again",
                          shown_path(walk));
    }
    side->fd = HUTCH_TAKE_FD(fd);
    return 0;
}

static int reopen_parent(struct walk *walk)
{
    if (walk->depth < 2)
        return 0;
    struct frame *child = &walk->frames[walk->depth - 1];
    int status = reopen_side(walk, child - 1, child, true);
    return status < 0 ? status : reopen_side(walk, child - 1, child, false);
}

/* ---- one name ---- */

/* Fills in what is there by this name. */
static int look(struct walk *walk, const struct frame *frame, struct store_pair *pair)
{
    pair->upper_dir = frame->upper.fd;
    pair->lower_dir = frame->lower.fd;
    pair->lower_self = HUTCH_NO_FD;
    pair->lost = frame->lost_lower;
    if (frame->upper.present) {
        pair->in_upper = store_stat(frame->upper.fd, pair->name, &pair->upper) == 0;
        if (!pair->in_upper && !store_is_gone(errno))
            return fail_at(walk, errno, "look at");
    }
    if (frame->lower.present) {
        pair->in_lower = store_stat(frame->lower.fd, pair->name, &pair->lower) == 0;
        if (!pair->in_lower && !store_is_gone(errno))
            return fail_at(walk, errno, "look below at");
    }
    if (!walk->plain && pair->in_upper &&
        store_is_whiteout(frame->upper.fd, pair->name, &pair->upper, frame->marks))
        pair->in_upper = false;
    else if (!pair->in_upper && frame->upper.present && !frame->hides_lower)
        pair->in_lower = false; /* taken away while we looked: nothing is said of what is below */
    if (pair->in_lower &&
        store_is_whiteout(frame->lower.fd, pair->name, &pair->lower, STORE_MARK_NONE))
        pair->in_lower = false;
    return 0;
}

/* Sets ret_side->fd where there is a directory to go into. Returns 0, or -1 with errno. */
static int open_side(int dir, const char *name, bool wanted, struct side *ret_side)
{
    *ret_side = (struct side){.fd = HUTCH_NO_FD};
    if (!wanted)
        return 0;
    hutch_autofd int fd = store_open_directory(dir, name);
    if (fd < 0 || fstat(fd, &ret_side->info) < 0)
        return store_is_gone(errno) || errno == EXDEV ? 0 : -1;
    ret_side->fd = HUTCH_TAKE_FD(fd);
    ret_side->present = true;
    return 0;
}

static int go_into(struct walk *walk, const struct store_pair *pair, size_t name_offset)
{
    const struct frame *parent = &walk->frames[walk->depth - 1];
    bool upper = pair->in_upper && S_ISDIR(pair->upper.st_mode);
    bool lower = pair->in_lower && S_ISDIR(pair->lower.st_mode);
    struct frame frame = {.path_length = walk->path.length, .name_offset = name_offset};
    frame.lower.fd = HUTCH_NO_FD;
    if (open_side(pair->upper_dir, pair->name, upper, &frame.upper) < 0)
        return fail_at(walk, errno, "open directory");
    if (open_side(pair->lower_dir, pair->name, lower, &frame.lower) < 0) {
        close_frame(&frame);
        return fail_at(walk, errno, "open below directory");
    }
    frame.lost_lower = pair->lost || (lower && !frame.lower.present);
    frame.marks = frame.upper.present && !walk->plain ? store_marks_of(frame.upper.fd) : 0;
    frame.hides_lower = !upper || parent->hides_lower || frame.marks == STORE_MARK_OPAQUE;
    return push_frame(walk, &frame);
}

static int visit(struct walk *walk, struct frame *frame)
{
    struct store_pair pair = {.name = frame->names.items[frame->next++]};
    size_t name_offset, parent_length = walk->path.length;
    int status = extend_path(walk, pair.name, &name_offset);
    if (status == 0)
        status = look(walk, frame, &pair);
    pair.path = walk->path.data;
    bool nothing = !pair.in_upper && !pair.in_lower;
    if (status == 0 && !nothing)
        status = walk->visitor->enter(walk->visitor->context, &pair, walk->err);
    bool goes_on = (pair.in_upper && S_ISDIR(pair.upper.st_mode)) ||
                   (pair.in_lower && S_ISDIR(pair.lower.st_mode));
    if (status == 0 && goes_on)
        return go_into(walk, &pair, name_offset);
    cut_path(walk, parent_length);
    return status < 0 ? status : 0;
}

/* The pair is looked at once more: much may have happened since it was entered. */
static int leave(struct walk *walk)
{
    struct frame *frame = &walk->frames[walk->depth - 1];
    if (walk->depth == 1)
        return 0;
    int status = reopen_parent(walk);
    if (status < 0)
        return status;
    struct frame *parent = frame - 1;
    struct store_pair pair = {
        .path = walk->path.data,
        .name = walk->path.data + frame->name_offset,
    };
    status = look(walk, parent, &pair);
    pair.lower_self = frame->lower.fd;
    pair.lost = frame->lost_lower;
    if (status == 0 && walk->visitor->leave)
        status = walk->visitor->leave(walk->visitor->context, &pair, walk->err);
    cut_path(walk, parent->path_length);
    return status;
}

static int walk_on(struct walk *walk)
{
    while (walk->depth > 0) {
        struct frame *frame = &walk->frames[walk->depth - 1];
        int status;
        if (frame->next < frame->names.count) {
            status = visit(walk, frame);
        } else {
            status = leave(walk);
            pop_frame(walk);
        }
        if (status < 0)
            return status;
    }
    return 0;
}

static int open_top(struct walk *walk, int fd, struct side *side)
{
    *side = (struct side){.fd = HUTCH_NO_FD, .present = fd >= 0};
    if (fd < 0)
        return 0;
    /* a description of its own: reading a directory moves its position */
    side->fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (side->fd < 0 || fstat(side->fd, &side->info) < 0)
        return fail_at(walk, errno, "open directory");
    return 0;
}

int store_walk(int upper, int lower, const struct store_visitor *visitor, struct hutch_error *err)
{
    struct walk walk = {.visitor = visitor, .err = err, .plain = lower < 0};
    struct frame top = {.lower.fd = HUTCH_NO_FD};
    walk.path = (struct hutch_buf)HUTCH_BUF(MAX_PATH_BYTES);
    int status = open_top(&walk, upper, &top.upper);
    if (status == 0)
        status = open_top(&walk, lower, &top.lower);
    if (status == 0) {
        top.marks = walk.plain ? STORE_MARK_NONE : store_marks_of(top.upper.fd);
        top.hides_lower = top.marks == STORE_MARK_OPAQUE;
        status = push_frame(&walk, &top);
    } else {
        close_frame(&top);
    }
    if (status == 0)
        status = walk_on(&walk);
    while (walk.depth > 0)
        pop_frame(&walk);
    free(walk.frames);
    hutch_buf_done(&walk.path);
    return status;
}
