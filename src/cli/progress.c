/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/figures.h"
#include "cli/handles.h"
#include "cli/output.h"
#include "cli/plain.h"

enum { BAR_COLUMNS = 30, REDRAW_MS = 80, LEAST_COLUMNS = 60 };

/* What is told once, when a part is ready. */
static const struct {
    const char *action;
    const char *text;
} finished[] = {
    {"done", "done"},
    {"exists", "already there"},
};

static uint64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static const char *finished_text(const char *action)
{
    for (size_t i = 0; i < CLI_COUNT(finished); i++)
        if (!strcmp(finished[i].action, action))
            return finished[i].text;
    return NULL;
}

static struct cli_progress_part *find_part(struct cli_progress *progress, const char *item)
{
    for (size_t i = 0; i < progress->count; i++)
        if (!strncmp(progress->parts[i].item, item, sizeof(progress->parts[i].item) - 1))
            return &progress->parts[i];
    return NULL;
}

/* Where there is no memory for one more, that one is not shown. */
static struct cli_progress_part *add_part(struct cli_progress *progress, const char *item)
{
    struct cli_progress_part *parts =
        reallocarray(progress->parts, progress->count + 1, sizeof(*parts));
    if (!parts)
        return NULL;
    progress->parts = parts;
    struct cli_progress_part *part = &parts[progress->count++];
    *part = (struct cli_progress_part){0};
    (void)snprintf(part->item, sizeof(part->item), "%s", item);
    return part;
}

static void remove_part(struct cli_progress *progress, struct cli_progress_part *part)
{
    size_t after = (size_t)(progress->parts + progress->count - part) - 1;
    memmove(part, part + 1, after * sizeof(*part));
    progress->count--;
}

/* ---- on a terminal ---- */

static void put_bar(FILE *file, const struct cli_progress_part *part)
{
    char done[CLI_FIGURE_BYTES], total[CLI_FIGURE_BYTES];
    char bar[BAR_COLUMNS + 1];
    double share = part->total ? (double)part->done / (double)part->total : 0;
    size_t filled = (size_t)((share < 1 ? share : 1) * BAR_COLUMNS);
    memset(bar, ' ', BAR_COLUMNS);
    memset(bar, '=', filled);
    bar[BAR_COLUMNS] = '\0';
    cli_size(part->done, done);
    cli_size(part->total, total);
    if (part->total)
        (void)fprintf(file, " [%s] %s/%s", bar, done, total);
    else
        (void)fprintf(file, " %s", done);
}

static void put_part(FILE *file, const struct cli_progress_part *part, bool has_room)
{
    (void)fputs("\r", file);
    cli_plain_write(file, part->item);
    (void)fprintf(file, "  %-9s", part->action);
    if (has_room)
        put_bar(file, part);
    (void)fputs("\x1b[K\n", file);
}

/* Back to the first of our lines. */
static void go_back(FILE *file, const struct cli_progress *progress)
{
    if (progress->drawn)
        (void)fprintf(file, "\x1b[%zuA", progress->drawn);
}

/* What waits for its turn is not shown, and never more than fits: a line that scrolled away cannot
 * be drawn anew. */
static void put_parts(FILE *file, struct cli_progress *progress)
{
    struct winsize size = {0};
    bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col;
    size_t room = is_known ? size.ws_row - 1u : 20;
    progress->drawn = 0;
    for (size_t i = 0; i < progress->count && progress->drawn < room; i++) {
        if (!strcmp(progress->parts[i].action, "wait"))
            continue;
        put_part(file, &progress->parts[i], !is_known || size.ws_col >= LEAST_COLUMNS);
        progress->drawn++;
    }
    (void)fputs("\x1b[J", file);
}

/* All of it in one write, so that nothing flickers. line: one to stay above; NULL: none. */
static void draw(struct cli_progress *progress, const char *line)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    struct hutch_error ignored;
    if (cli_text_open(&text, &ignored) < 0)
        return;
    go_back(text.file, progress);
    if (line)
        (void)fprintf(text.file, "\r%s\x1b[K\n", line);
    put_parts(text.file, progress);
    progress->drawn_ms = now_ms();
    if (fflush(text.file) == 0) {
        ssize_t written = write(STDERR_FILENO, text.data, text.length);
        (void)written; /* a terminal that is gone needs nothing */
    }
}

/* ---- everywhere ---- */

static void say_line(struct cli_progress *progress, const char *text)
{
    CLI_CLEANUP(cli_free) char *plain = cli_plain(text);
    if (!plain)
        return;
    if (progress->is_terminal)
        draw(progress, plain);
    else
        (void)fprintf(stderr, "%s\n", plain);
}

static void finish_part(struct cli_progress *progress, struct cli_progress_part *part,
                        const struct hutch_image_progress *step, const char *how)
{
    char line[128], size[CLI_FIGURE_BYTES];
    if (part)
        remove_part(progress, part);
    cli_size(step->total, size);
    (void)snprintf(line, sizeof(line), "%.60s  %s%s%s", step->item, how, step->total ? "  " : "",
                   step->total ? size : "");
    say_line(progress, line);
}

static void on_progress(void *userdata, const struct hutch_image_progress *step)
{
    struct cli_progress *progress = userdata;
    const char *how = finished_text(step->action);
    if (!strcmp(step->action, "build")) {
        say_line(progress, step->item);
        return;
    }
    struct cli_progress_part *part = find_part(progress, step->item);
    if (how) {
        finish_part(progress, part, step, how);
        return;
    }
    if (!part)
        part = add_part(progress, step->item);
    if (!part)
        return;
    bool is_new_action = strcmp(part->action, step->action) != 0;
    (void)snprintf(part->action, sizeof(part->action), "%s", step->action);
    part->done = step->done;
    part->total = step->total;
    if (progress->is_terminal && (is_new_action || now_ms() - progress->drawn_ms >= REDRAW_MS))
        draw(progress, NULL);
}

void cli_progress_begin(struct cli_progress *progress, struct hutch_image_options *options)
{
    const char *kind = getenv("TERM");
    progress->is_terminal = isatty(STDERR_FILENO) == 1 && !(kind && !strcmp(kind, "dumb"));
    if (progress->quiet)
        return;
    options->on_progress = on_progress;
    options->userdata = progress;
}

void cli_progress_end(struct cli_progress *progress)
{
    progress->count = 0;
    if (progress->drawn)
        draw(progress, NULL);
    free(progress->parts);
    progress->parts = NULL;
}
