/* SPDX-License-Identifier: Apache-2.0 */
/* Rows under titles, each column as wide as it must be. On a terminal that is too narrow, texts are
 * cut (marked by '~') and then columns are left out; elsewhere nothing ever is. */
#ifndef HUTCH_CLI_TABLE_H
#define HUTCH_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "hutch/error.h"

struct cli_column {
    const char *title;
    bool right;     /* figures */
    size_t least;   /* may be cut down to so many columns; 0: not at all */
    unsigned leave; /* in which order columns are left out, 1 first; 0: never */
    bool is_state;  /* coloured where there is colour */
};

struct cli_table {
    const struct cli_column *columns;
    size_t column_count;
    char **cells;
    size_t cell_count;
    size_t capacity;
    bool failed; /* no memory; cli_table_check() tells */
};

/* How it is shown: all zero is for a file. */
struct cli_view {
    size_t width;  /* 0: any */
    size_t height; /* rows beside the titles; 0: any */
    bool colour;
    bool is_screen; /* each line clears what was there before; the titles are a bar */
};

/* For standard output as it is: a terminal, with colour unless NO_COLOR is set, or not. */
struct cli_view cli_view_of_stdout(void);

void cli_table_done(struct cli_table *table);
/* The next cell, from left to right; whatever the text is, what is shown is plain. */
void cli_table_add(struct cli_table *table, const char *text);
int cli_table_check(const struct cli_table *table, struct hutch_error *err);
size_t cli_table_rows(const struct cli_table *table);
int cli_table_print(const struct cli_table *table, FILE *file, const struct cli_view *view,
                    struct hutch_error *err);

#endif
