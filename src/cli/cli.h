/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: an ordinary client of libhutch that includes nothing but its public headers.
 *
 * main() makes descriptors 0-2 safe, finds the verb in one table and calls it. A verb reads its
 * flags through options.h, calls the library, and sends all it has to say to standard output in
 * one go through output.h, so that a full disk or a closed pipe is noticed and told. Whatever goes
 * wrong ends as one line on standard error and an exit status from the error's own table row. */
#ifndef HUTCH_CLI_CLI_H
#define HUTCH_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "hutch/error.h"

#define CLI_CLEANUP(fn) __attribute__((cleanup(fn)))
#define CLI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct cli_verb {
    const char *name;
    const char *group;   /* its heading in the overview */
    const char *summary; /* one line, no full stop */
    const char *usage;   /* what follows "hutch NAME" */
    const char *details; /* closes its help; NULL when there is nothing to add */
    const struct cli_option *options;
    size_t option_count;
    /* Its own commands, when it has any; their names are two words. NULL: none. */
    const struct cli_verb *const *(*inner)(size_t *ret_count);
    unsigned fields; /* enum hutch_use: the spec's fields for this are flags of the verb */
    int (*run)(const struct cli_verb *verb, int argc, char **argv); /* argv[0] is the verb */
};

/* Each lives with its function in cmd_<verb>.c; main.c lists them. */
extern const struct cli_verb cli_verb_run;
extern const struct cli_verb cli_verb_cp;
extern const struct cli_verb cli_verb_create;
extern const struct cli_verb cli_verb_fork;
extern const struct cli_verb cli_verb_snapshot;
extern const struct cli_verb cli_verb_diff;
extern const struct cli_verb cli_verb_egress;
extern const struct cli_verb cli_verb_apply;
extern const struct cli_verb cli_verb_exec;
extern const struct cli_verb cli_verb_shell;
extern const struct cli_verb cli_verb_ls;
extern const struct cli_verb cli_verb_inspect;
extern const struct cli_verb cli_verb_ps;
extern const struct cli_verb cli_verb_logs;
extern const struct cli_verb cli_verb_stats;
extern const struct cli_verb cli_verb_top;
extern const struct cli_verb cli_verb_prefix;
extern const struct cli_verb cli_verb_sandboxes;
extern const struct cli_verb cli_verb_secret;
extern const struct cli_verb cli_verb_start;
extern const struct cli_verb cli_verb_stop;
extern const struct cli_verb cli_verb_kill;
extern const struct cli_verb cli_verb_pause;
extern const struct cli_verb cli_verb_resume;
extern const struct cli_verb cli_verb_update;
extern const struct cli_verb cli_verb_rm;
extern const struct cli_verb cli_verb_image;
extern const struct cli_verb cli_verb_policy;
extern const struct cli_verb cli_verb_doctor;
extern const struct cli_verb cli_verb_gc;
extern const struct cli_verb cli_verb_audit;
extern const struct cli_verb cli_verb_usage;
extern const struct cli_verb cli_verb_serve;
extern const struct cli_verb cli_verb_token;
extern const struct cli_verb cli_verb_help;
extern const struct cli_verb cli_verb_version;

/* Every verb, in the order of the overview. */
const struct cli_verb *const *cli_verbs(size_t *ret_count);
/* Fails with a suggestion when there is no such verb. */
int cli_verb_find(const char *name, const struct cli_verb **ret_verb, struct hutch_error *err);
/* The same among a verb's own commands. */
int cli_verb_find_inner(const struct cli_verb *verb, const char *name,
                        const struct cli_verb **ret_verb, struct hutch_error *err);
/* Runs the command of a verb that has commands of its own. */
int cli_run_inner(const struct cli_verb *verb, int argc, char **argv);
/* The last word of a verb's name: what it is called among its like. */
const char *cli_verb_word(const struct cli_verb *verb);

#endif
