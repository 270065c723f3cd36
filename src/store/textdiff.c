/* SPDX-License-Identifier: Apache-2.0 */
#include "store/textdiff.h"

#include <string.h>
#include <sys/stat.h>

#include "store/git_name.h"
#include "store/lines.h"
#include "util/own.h"

#define CONTEXT_LINES 3
#define BINARY_PROBE_BYTES 8000 /* git's */

enum { OLD, NEW };

/* Lines begin to end - 1 of each side. */
struct hunk {
    size_t begin[2];
    size_t end[2];
};

struct file {
    const char *path;
    const struct hutch_textdiff_side *sides[2];
    struct hutch_buf *out;
};

/* ---- headers ---- */

static unsigned git_mode(mode_t mode)
{
    if (S_ISLNK(mode))
        return 0120000;
    return mode & S_IXUSR ? 0100755 : 0100644;
}

/* patch takes a link for one only where its mode is said: git says it beside two hashes, which we
 * do not have. */
static void append_modes(const struct file *file, bool same_content)
{
    mode_t before = file->sides[OLD]->mode, after = file->sides[NEW]->mode;
    if (!before)
        hutch_buf_printf(file->out, "new file mode %06o\n", git_mode(after));
    else if (!after)
        hutch_buf_printf(file->out, "deleted file mode %06o\n", git_mode(before));
    else if (git_mode(before) != git_mode(after) || (S_ISLNK(after) && !same_content))
        hutch_buf_printf(file->out, "old mode %06o\nnew mode %06o\n", git_mode(before),
                         git_mode(after));
}

static void append_name(const struct file *file, int side)
{
    static const char *const prefixes[2] = {[OLD] = "a/", [NEW] = "b/"};
    if (file->sides[side]->mode)
        store_git_name(file->out, prefixes[side], file->path, "");
    else
        hutch_buf_puts(file->out, "/dev/null");
}

/* A tab ends a name that has a space in it: what follows might be a time. */
static void append_file_line(const struct file *file, int side)
{
    hutch_buf_puts(file->out, side == OLD ? "--- " : "+++ ");
    append_name(file, side);
    bool has_space = file->sides[side]->mode && strchr(file->path, ' ');
    hutch_buf_puts(file->out, has_space ? "\t\n" : "\n");
}

/* Where no other line has the names, patch must be able to tell them apart in this one. */
static void append_header(const struct file *file, bool only_header, bool same_content)
{
    const char *also_quoted = only_header ? " " : "";
    hutch_buf_puts(file->out, "diff --git ");
    store_git_name(file->out, "a/", file->path, also_quoted);
    hutch_buf_puts(file->out, " ");
    store_git_name(file->out, "b/", file->path, also_quoted);
    hutch_buf_puts(file->out, "\n");
    append_modes(file, same_content);
}

/* ---- hunks ---- */

static bool has_changed(const struct store_lines sides[2], const size_t at[2])
{
    return (at[OLD] < sides[OLD].count && sides[OLD].changed[at[OLD]]) ||
           (at[NEW] < sides[NEW].count && sides[NEW].changed[at[NEW]]);
}

/* Moves over up to limit lines that both sides have. Returns how many there were. */
static size_t skip_same(const struct store_lines sides[2], size_t at[2], size_t limit)
{
    size_t count = 0;
    while (count < limit && at[OLD] < sides[OLD].count && !has_changed(sides, at))
        at[OLD]++, at[NEW]++, count++;
    return count;
}

static void skip_changed(const struct store_lines sides[2], size_t at[2])
{
    for (int side = OLD; side <= NEW; side++)
        while (at[side] < sides[side].count && sides[side].changed[at[side]])
            at[side]++;
}

/* The next hunk at or after at, which is moved behind it. Changes that are so close that their
 * context meets are in one. */
static bool find_hunk(const struct store_lines sides[2], size_t at[2], struct hunk *ret_hunk)
{
    size_t before = skip_same(sides, at, SIZE_MAX);
    size_t context = before < CONTEXT_LINES ? before : CONTEXT_LINES;
    if (!has_changed(sides, at))
        return false;
    for (int side = OLD; side <= NEW; side++)
        ret_hunk->begin[side] = at[side] - context;
    for (;;) {
        skip_changed(sides, at);
        size_t end[2] = {at[OLD], at[NEW]};
        size_t same = skip_same(sides, at, (size_t)2 * CONTEXT_LINES);
        if (has_changed(sides, at))
            continue;
        size_t after = same < CONTEXT_LINES ? same : CONTEXT_LINES;
        for (int side = OLD; side <= NEW; side++)
            at[side] = ret_hunk->end[side] = end[side] + after;
        return true;
    }
}

static void append_line(struct hutch_buf *out, const char *mark, struct store_line line)
{
    hutch_buf_append(out, mark, 1);
    hutch_buf_append(out, line.text, line.length);
    if (line.text[line.length - 1] != '\n')
        hutch_buf_puts(out, "\n\\ No newline at end of file\n");
}

/* An empty range is named by the line before it. */
static void append_range(struct hutch_buf *out, const char *mark, size_t begin, size_t end)
{
    size_t count = end - begin;
    hutch_buf_printf(out, "%s%zu", mark, count ? begin + 1 : begin);
    if (count != 1)
        hutch_buf_printf(out, ",%zu", count);
}

static void append_hunk(struct hutch_buf *out, const struct store_lines sides[2],
                        const struct hunk *hunk)
{
    size_t at[2] = {hunk->begin[OLD], hunk->begin[NEW]};
    append_range(out, "@@ -", hunk->begin[OLD], hunk->end[OLD]);
    append_range(out, " +", hunk->begin[NEW], hunk->end[NEW]);
    hutch_buf_puts(out, " @@\n");
    while (at[OLD] < hunk->end[OLD] || at[NEW] < hunk->end[NEW]) {
        for (; at[OLD] < hunk->end[OLD] && sides[OLD].changed[at[OLD]]; at[OLD]++)
            append_line(out, "-", store_line_at(&sides[OLD], at[OLD]));
        for (; at[NEW] < hunk->end[NEW] && sides[NEW].changed[at[NEW]]; at[NEW]++)
            append_line(out, "+", store_line_at(&sides[NEW], at[NEW]));
        if (at[OLD] < hunk->end[OLD] && at[NEW] < hunk->end[NEW]) {
            append_line(out, " ", store_line_at(&sides[OLD], at[OLD]));
            at[OLD]++, at[NEW]++;
        }
    }
}

static int append_hunks(const struct file *file, struct hutch_error *err)
{
    struct store_lines sides[2] = {{0}, {0}};
    const struct hutch_textdiff_side *before = file->sides[OLD], *after = file->sides[NEW];
    struct hunk hunk;
    size_t at[2] = {0, 0};
    if (store_lines_compare(before->data, before->length, after->data, after->length, sides) < 0)
        return hutch_fail_nomem(err);
    append_file_line(file, OLD);
    append_file_line(file, NEW);
    while (find_hunk(sides, at, &hunk))
        append_hunk(file->out, sides, &hunk);
    store_lines_done(sides);
    return 0;
}

/* ---- files ---- */

static bool is_binary(const struct hutch_textdiff_side *side)
{
    size_t length = side->length < BINARY_PROBE_BYTES ? side->length : BINARY_PROBE_BYTES;
    return side->unread || (length && memchr(side->data, '\0', length));
}

static bool has_same_content(const struct file *file)
{
    const struct hutch_textdiff_side *before = file->sides[OLD], *after = file->sides[NEW];
    if (before->unread || after->unread)
        return false;
    return before->length == after->length &&
           (!before->length || memcmp(before->data, after->data, before->length) == 0);
}

static int append_file(const struct file *file, struct hutch_error *err)
{
    mode_t before = file->sides[OLD]->mode, after = file->sides[NEW]->mode;
    bool same = has_same_content(file);
    if (same && before && after && git_mode(before) == git_mode(after))
        return 0;
    bool binary = !same && (is_binary(file->sides[OLD]) || is_binary(file->sides[NEW]));
    append_header(file, same || binary, same);
    if (same)
        return 0;
    if (!binary)
        return append_hunks(file, err);
    hutch_buf_puts(file->out, "Binary files ");
    append_name(file, OLD);
    hutch_buf_puts(file->out, " and ");
    append_name(file, NEW);
    hutch_buf_puts(file->out, " differ\n");
    return 0;
}

int hutch_textdiff(const char *path, const struct hutch_textdiff_side *before,
                   const struct hutch_textdiff_side *after, struct hutch_buf *out,
                   struct hutch_error *err)
{
    static const struct hutch_textdiff_side nothing = {.data = ""};
    int status = 0;
    if (before->mode && after->mode && S_ISLNK(before->mode) != S_ISLNK(after->mode)) {
        /* as in git, a change of type is a deletion and a creation */
        struct file gone = {path, {before, &nothing}, out};
        status = append_file(&gone, err);
        before = &nothing;
    }
    struct file file = {path, {before, after}, out};
    if (status == 0)
        status = append_file(&file, err);
    if (status == 0 && out->failed)
        status = hutch_fail_nomem(err);
    return status;
}
