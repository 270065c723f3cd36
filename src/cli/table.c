/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/plain.h"

enum { GAP = 2, MOST_COLUMNS = 16 };

static const struct {
    const char *state;
    const char *colour; /* ANSI code */
} state_colours[] = {
    {"running", "32"}, {"paused", "36"},  {"starting", "36"},     {"stopped", "2"},
    {"dead", "31"},    {"damaged", "31"}, {"unresponsive", "31"},
};

struct cli_view cli_view_of_stdout(void)
{
    const char *no_colour = getenv("NO_COLOR");
    struct winsize size = {0};
    struct cli_view view = {0};
    if (isatty(STDOUT_FILENO) != 1)
        return view;
    view.colour = !(no_colour && *no_colour);
    view.width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    view.height = size.ws_row ? size.ws_row : 24;
    return view;
}

void cli_table_done(struct cli_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->cell_count = table->capacity = 0;
}

void cli_table_add(struct cli_table *table, const char *text)
{
    if (table->cell_count == table->capacity) {
        size_t capacity = table->capacity ? table->capacity * 2 : 64;
        char **cells = realloc(table->cells, capacity * sizeof(*cells));
        if (!cells) {
            table->failed = true;
            return;
        }
        table->cells = cells;
        table->capacity = capacity;
    }
    char *plain = cli_plain(text);
    if (plain)
        table->cells[table->cell_count++] = plain;
    else
        table->failed = true;
}

int cli_table_check(const struct cli_table *table, struct hutch_error *err)
{
    return table->failed ? cli_fail_errno(err, ENOMEM, "cannot prepare the table") : 0;
}

size_t cli_table_rows(const struct cli_table *table)
{
    return table->cell_count / table->column_count;
}

/* ---- widths: 0 is a column that is left out ---------------------------------------------------
 */

static void measure(const struct cli_table *table, size_t *widths)
{
    for (size_t c = 0; c < table->column_count; c++) {
        widths[c] = strlen(table->columns[c].title);
        for (size_t i = c; i < table->cell_count; i += table->column_count) {
            size_t columns = cli_plain_columns(table->cells[i]);
            widths[c] = columns > widths[c] ? columns : widths[c];
        }
    }
}

static size_t total(const size_t *widths, size_t count)
{
    size_t sum = 0;
    for (size_t c = 0; c < count; c++)
        sum += widths[c] ? widths[c] + (sum ? GAP : 0) : 0;
    return sum;
}

/* The widest of those that may be cut loses a column. False when none may. */
static bool shrink(const struct cli_table *table, size_t *widths)
{
    size_t widest = table->column_count;
    for (size_t c = 0; c < table->column_count; c++)
        if (table->columns[c].least && widths[c] > table->columns[c].least &&
            (widest == table->column_count || widths[c] > widths[widest]))
            widest = c;
    if (widest == table->column_count)
        return false;
    widths[widest]--;
    return true;
}

static bool leave_out(const struct cli_table *table, size_t *widths)
{
    size_t first = table->column_count;
    for (size_t c = 0; c < table->column_count; c++)
        if (table->columns[c].leave && widths[c] &&
            (first == table->column_count || table->columns[c].leave < table->columns[first].leave))
            first = c;
    if (first == table->column_count)
        return false;
    widths[first] = 0;
    return true;
}

/* Columns go first where cutting texts alone is not enough; then the texts get what there is. */
static void choose_widths(const struct cli_table *table, size_t width, size_t *widths)
{
    bool is_left_out[MOST_COLUMNS] = {false};
    for (;;) {
        measure(table, widths);
        for (size_t c = 0; c < table->column_count; c++)
            widths[c] = is_left_out[c] ? 0 : widths[c];
        while (width && total(widths, table->column_count) > width && shrink(table, widths))
            ;
        if (!width || total(widths, table->column_count) <= width || !leave_out(table, widths))
            return;
        for (size_t c = 0; c < table->column_count; c++)
            is_left_out[c] = !widths[c];
    }
}

/* ---- lines ------------------------------------------------------------------------------------
 */

static const char *colour_of(const char *state)
{
    for (size_t i = 0; i < CLI_COUNT(state_colours); i++)
        if (!strcmp(state, state_colours[i].state))
            return state_colours[i].colour;
    return NULL;
}

static void print_cell(FILE *file, const struct cli_column *column, const char *text, size_t width,
                       bool is_last, bool colour)
{
    size_t columns = cli_plain_columns(text);
    size_t bytes = columns > width ? cli_plain_fit(text, width - 1) : strlen(text);
    size_t shown = columns > width ? width : columns;
    int before = column->right ? (int)(width - shown) : 0;
    int after = column->right || is_last ? 0 : (int)(width - shown);
    const char *code = colour && column->is_state ? colour_of(text) : NULL;
    (void)fprintf(file, "%*s", before, "");
    if (code)
        (void)fprintf(file, "\033[%sm", code);
    (void)fwrite(text, 1, bytes, file);
    if (columns > width)
        (void)fputc('~', file);
    if (code)
        (void)fputs("\033[0m", file);
    (void)fprintf(file, "%*s", after, "");
}

static void print_line(const struct cli_table *table, FILE *file, const struct cli_view *view,
                       const size_t *widths, char *const *cells)
{
    size_t last = table->column_count, used = 0;
    while (last > 0 && (!widths[last - 1] || (cells && !cells[last - 1][0])))
        last--;
    for (size_t c = 0; c < last; c++) {
        const char *text = cells ? cells[c] : table->columns[c].title;
        if (!widths[c])
            continue;
        (void)fprintf(file, "%*s", used ? GAP : 0, "");
        print_cell(file, &table->columns[c], text, widths[c], c + 1 == last, view->colour && cells);
        used += widths[c];
    }
}

static void print_titles(const struct cli_table *table, FILE *file, const struct cli_view *view,
                         const size_t *widths)
{
    if (view->is_screen && view->colour)
        (void)fputs("\033[7m", file);
    print_line(table, file, view, widths, NULL);
    if (view->is_screen) /* clearing fills the bar to the screen's edge */
        (void)fputs(view->colour ? "\033[K\033[0m" : "\033[K", file);
    (void)fputc('\n', file);
}

int cli_table_print(const struct cli_table *table, FILE *file, const struct cli_view *view,
                    struct hutch_error *err)
{
    size_t widths[MOST_COLUMNS];
    size_t rows = cli_table_rows(table);
    int failed = cli_table_check(table, err);
    if (failed)
        return failed;
    choose_widths(table, view->width, widths);
    print_titles(table, file, view, widths);
    for (size_t i = 0; i < rows && (!view->height || i < view->height); i++) {
        print_line(table, file, view, widths, table->cells + i * table->column_count);
        (void)fputs(view->is_screen ? "\033[K\n" : "\n", file);
    }
    return 0;
}
