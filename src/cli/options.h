/* SPDX-License-Identifier: Apache-2.0 */
/* One parser for every verb. A verb's flags are a table; the spec's own table of fields
 * (hutch_fields) is turned into rows of the same kind, so a flag, its help and its man page entry
 * have one source. */
#ifndef HUTCH_CLI_OPTIONS_H
#define HUTCH_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "hutch/error.h"

struct cli_verb;

enum cli_option_kind {
    CLI_OPTION_BOOL,  /* sets a bool in the verb's own struct */
    CLI_OPTION_TEXT,  /* sets a const char * in the verb's own struct; the last one wins */
    CLI_OPTION_LIST,  /* adds to a struct cli_list in the verb's own struct */
    CLI_OPTION_FIELD, /* a field of the spec */
    CLI_OPTION_HELP,  /* every verb has it */
};

/* The values of a flag that may be given many times, into argv. All zero is empty. */
struct cli_list {
    const char **items; /* NULL-terminated when it is not NULL */
    size_t count;
};

void cli_list_done(struct cli_list *list);

struct cli_option {
    const char *name; /* long flag without its dashes */
    char short_name;  /* 0 when there is none */
    enum cli_option_kind kind;
    size_t offset;            /* BOOL, TEXT, LIST: where in the verb's struct */
    const char *field;        /* FIELD: its name in the spec */
    const char *metavar;      /* NULL: takes no value */
    const char *default_text; /* NULL: none worth telling */
    const char *group;        /* of what is no field: heading in the help; NULL: "Flags" */
    const char *help;         /* NULL: not shown */
    bool repeats;
};

#define CLI_OPTIONS_MAX 96 /* more than any verb has: making the man pages goes through all */

/* The rows a verb understands: its own, the fields if it takes them, and --help. */
struct cli_options {
    struct cli_option items[CLI_OPTIONS_MAX];
    size_t count;
    const char *verb;
};

void cli_options_init(struct cli_options *options, const struct cli_verb *verb);

/* A walk over argv that allocates nothing, so it can be made twice. */
struct cli_cursor {
    const struct cli_options *options;
    int argc;
    char **argv;
    int index;           /* next word; the first operand when the walk is over */
    const char *cluster; /* rest of a word of short flags, such as "t" of "-it" */
};

/* The next flag. *ret_option is NULL at the end: a word that is no flag, or after "--". *ret_value
 * is NULL for flags without a value. */
int cli_cursor_next(struct cli_cursor *cursor, const struct cli_option **ret_option,
                    const char **ret_value, struct hutch_error *err);

/* Walks to the first operand and stores BOOL, TEXT and LIST flags in target. FIELD flags are only
 * checked to exist and to have their value. Starts at *index, which ends at the first operand. */
int cli_options_parse(const struct cli_options *options, int argc, char **argv, int *index,
                      void *target, bool *ret_help, struct hutch_error *err);

#endif
