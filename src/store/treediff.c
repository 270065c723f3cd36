/* SPDX-License-Identifier: Apache-2.0 */
#include "store/treediff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/beneath.h"
#include "store/compare.h"
#include "store/textdiff.h"
#include "util/own.h"

/* Two files of the largest size, and a mark before every byte in case each is a line. */
#define MAX_OUTPUT_BYTES (5 * HUTCH_TEXTDIFF_MAX_BYTES)

struct treediff {
    hutch_treediff_fn write;
    void *context;
};

struct version {
    struct hutch_textdiff_side side;
    char *text;
};

static void versions_done(struct version (*versions)[2])
{
    free((*versions)[0].text);
    free((*versions)[1].text);
}

static bool has_version(bool present, const struct stat *info)
{
    return present && (S_ISREG(info->st_mode) || S_ISLNK(info->st_mode));
}

/* What the file holds now, which need not be what it held when its size was looked at. */
static int read_text(int fd, struct version *version)
{
    hutch_autofree char *text = malloc(HUTCH_TEXTDIFF_MAX_BYTES + 1);
    size_t length = 0;
    if (!text)
        return -1;
    while (length <= HUTCH_TEXTDIFF_MAX_BYTES) {
        ssize_t got = read(fd, text + length, HUTCH_TEXTDIFF_MAX_BYTES + 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        length += (size_t)got;
    }
    version->side.unread = length > HUTCH_TEXTDIFF_MAX_BYTES;
    version->side.length = length;
    version->side.data = version->text = HUTCH_TAKE_PTR(text);
    return 0;
}

/* Returns 0, or -1 with errno. */
static int read_version(int dir, const char *name, mode_t mode, struct version *version)
{
    version->side.mode = mode;
    if (S_ISLNK(mode)) {
        if (store_read_link(dir, name, &version->text) < 0)
            return -1;
        version->side.data = version->text;
        version->side.length = strlen(version->text);
        return 0;
    }
    hutch_autofd int fd = store_open_file(dir, name, NULL);
    return fd < 0 ? -1 : read_text(fd, version);
}

static int read_versions(const struct store_pair *pair, bool with_old, bool with_new,
                         struct version versions[2])
{
    if (with_old &&
        read_version(pair->lower_dir, pair->name, pair->lower.st_mode, &versions[0]) < 0)
        return -1;
    if (with_new &&
        read_version(pair->upper_dir, pair->name, pair->upper.st_mode, &versions[1]) < 0)
        return -1;
    return 0;
}

static int write_difference(const struct treediff *diff, const char *path,
                            const struct hutch_textdiff_side *before,
                            const struct hutch_textdiff_side *after, struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf out = HUTCH_BUF(MAX_OUTPUT_BYTES);
    int status = hutch_textdiff(path, before, after, &out, err);
    if (status < 0 || !out.length)
        return status;
    status = diff->write(diff->context, out.data, out.length, err);
    return status < 0 ? status : 0;
}

static int write_pair(const struct treediff *diff, const struct store_pair *pair, bool with_old,
                      bool with_new, struct hutch_error *err)
{
    hutch_cleanup(versions_done) struct version versions[2] = {{.side.data = ""},
                                                               {.side.data = ""}};
    int status = read_versions(pair, with_old, with_new, versions);
    int saved = errno;
    if (status < 0 && store_is_gone(saved))
        return 0;
    if (status < 0)
        return hutch_fail_errno(err, saved, "read '%.300s'", pair->path);
    return write_difference(diff, pair->path, &versions[0].side, &versions[1].side, err);
}

static int write_modes(const struct treediff *diff, const struct store_pair *pair,
                       struct hutch_error *err)
{
    struct hutch_textdiff_side before = {.mode = pair->lower.st_mode, .data = ""};
    struct hutch_textdiff_side after = {.mode = pair->upper.st_mode, .data = ""};
    return write_difference(diff, pair->path, &before, &after, err);
}

static bool replaces_directory(const struct store_pair *pair)
{
    return pair->in_upper && !S_ISDIR(pair->upper.st_mode) && pair->in_lower &&
           S_ISDIR(pair->lower.st_mode);
}

static int enter(void *context, struct store_pair *pair, struct hutch_error *err)
{
    static const struct store_comparison how = {.mode_mask = 07777, .ignore_owner = true};
    bool with_old = has_version(pair->in_lower, &pair->lower);
    bool with_new = has_version(pair->in_upper, &pair->upper);
    if ((!with_old && !with_new) || replaces_directory(pair))
        return 0;
    int kind = store_compare(pair, &how, err);
    if (kind <= HUTCH_CHANGE_NONE)
        return kind;
    if (kind == HUTCH_CHANGE_METADATA)
        return write_modes(context, pair, err);
    return write_pair(context, pair, with_old, with_new, err);
}

/* Only when all that was in a directory is gone can a file take its place. */
static int leave(void *context, const struct store_pair *pair, struct hutch_error *err)
{
    if (!replaces_directory(pair) || !has_version(pair->in_upper, &pair->upper))
        return 0;
    return write_pair(context, pair, false, true, err);
}

int hutch_treediff(int upper, int lower, hutch_treediff_fn write, void *context,
                   struct hutch_error *err)
{
    struct treediff diff = {write, context};
    struct store_visitor visitor = {.enter = enter, .leave = leave, .context = &diff};
    if (lower < 0)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "a patch needs a directory to compare with");
    return store_walk(upper, lower, &visitor, err);
}
