/* SPDX-License-Identifier: Apache-2.0 */
/* store_tool changes UPPER LOWER | diff UPPER LOWER | apply UPPER LOWER SINCE_NS [dry|sync] |
 * layer DIRECTORY PATH...: what src/store says, for a test in another language. Records end with
 * NUL, because paths may hold anything else. */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/apply.h"
#include "store/changes.h"
#include "store/treediff.h"
#include "util/own.h"

static int open_or_die(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        err(2, "%s", path);
    return fd;
}

static int print_change(void *context, const struct hutch_change *change, struct hutch_error *error)
{
    (void)context;
    (void)error;
    (void)printf("%s %06o %06o %s%c", hutch_change_kind_name(change->kind),
                 (unsigned)change->old_mode, (unsigned)change->mode, change->path, '\0');
    return 0;
}

static int write_text(void *context, const char *text, size_t length, struct hutch_error *error)
{
    (void)context;
    (void)error;
    (void)fwrite(text, 1, length, stdout);
    return 0;
}

static void print_conflict(void *context, const char *path, enum hutch_conflict_reason reason)
{
    (void)context;
    (void)printf("conflict %d %s%c", (int)reason, path, '\0');
}

static int run_changes(char **argv, struct hutch_error *error)
{
    hutch_autofd int upper = open_or_die(argv[2]), lower = open_or_die(argv[3]);
    return hutch_changes(upper, lower, NULL, print_change, NULL, error);
}

static int run_diff(char **argv, struct hutch_error *error)
{
    hutch_autofd int upper = open_or_die(argv[2]), lower = open_or_die(argv[3]);
    return hutch_treediff(upper, lower, write_text, NULL, error);
}

static int run_apply(char **argv, struct hutch_error *error)
{
    hutch_autofd int upper = open_or_die(argv[2]), lower = open_or_die(argv[3]);
    struct hutch_apply_counts counts;
    struct hutch_apply_options options = {
        .since_ns = strtoull(argv[4], NULL, 10),
        .dry_run = argv[5] && strcmp(argv[5], "dry") == 0,
        .sync = argv[5] && strcmp(argv[5], "sync") == 0,
        .conflict = print_conflict,
    };
    int status = hutch_apply(upper, lower, &options, &counts, error);
    (void)printf("counts %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "%c",
                 counts.added, counts.modified, counts.deleted, counts.metadata, counts.conflicts,
                 '\0');
    return status;
}

static int run_layer(char **argv, struct hutch_error *error)
{
    hutch_autofd int layer = open_or_die(argv[2]);
    size_t count = 0;
    while (argv[3 + count])
        count++;
    return hutch_changes_in_layer(layer, (const char *const *)(argv + 3), count, print_change, NULL,
                                  error);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int words;
        int (*run)(char **argv, struct hutch_error *error);
    } verbs[] = {
        {"changes", 4, run_changes},
        {"diff", 4, run_diff},
        {"apply", 5, run_apply},
        {"layer", 3, run_layer},
    };
    struct hutch_error error = HUTCH_ERROR_INIT;
    for (size_t i = 0; i < HUTCH_COUNT(verbs); i++) {
        if (argc < verbs[i].words || strcmp(argv[1], verbs[i].name) != 0)
            continue;
        if (verbs[i].run(argv, &error) < 0)
            errx(1, "%s", error.msg);
        return 0;
    }
    errx(2, "no such verb, or too few words");
}
