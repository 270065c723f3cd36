/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/operands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/handles.h"
#include "cli/help.h"
#include "cli/output.h"

int cli_operands(const struct cli_verb *verb, int argc, char **argv, void *target,
                 struct cli_count count, int *ret_index, bool *ret_help, struct hutch_error *err)
{
    struct cli_options options;
    int index = 1;
    cli_options_init(&options, verb);
    int failed = cli_options_parse(&options, argc, argv, &index, target, ret_help, err);
    if (failed || *ret_help)
        return failed;
    if (argc - index < count.least)
        return cli_fail(err, HUTCH_E_INVALID, "'hutch %s' needs more words: hutch %s %s",
                        verb->name, verb->name, verb->usage);
    if (count.most != CLI_ANY && argc - index > count.most)
        return cli_fail(err, HUTCH_E_INVALID,
                        count.most ? "'hutch %s' does not know what to do with '%.80s'"
                                   : "'hutch %s' takes no argument '%.80s'",
                        verb->name, argv[index + count.most]);
    *ret_index = index;
    return 0;
}

/* 'hutch kill NAME --exec ID': the words of a verb that has no command may stand before, between
 * and behind its flags. They go to the end of argv, for flags are walked more than once. */
static int flags_first(const struct cli_options *options, int argc, char **argv,
                       struct hutch_error *err)
{
    char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    struct cli_cursor cursor = {.options = options, .argc = argc, .argv = argv, .index = 1};
    int flags = 1, count = 0, failed = 0;
    if (!operands)
        return cli_fail_errno(err, ENOMEM, "read the flags");
    for (int begin = 1; !failed && (begin < argc || cursor.cluster); begin = cursor.index) {
        const struct cli_option *option = NULL;
        const char *value = NULL;
        failed = cli_cursor_next(&cursor, &option, &value, err);
        bool rest = !option && cursor.index > begin; /* behind "--" */
        for (; begin < cursor.index; begin++)
            argv[flags++] = argv[begin];
        while (!failed && !option && cursor.index < argc) {
            operands[count++] = argv[cursor.index++];
            if (!rest)
                break;
        }
    }
    if (!failed)
        memcpy(argv + flags, operands, (size_t)count * sizeof(*argv));
    free(operands);
    return failed;
}

bool cli_begin(const struct cli_verb *verb, int argc, char **argv, void *target,
               struct cli_count count, int *ret_index, int *ret_status)
{
    struct cli_options options;
    struct hutch_error err = HUTCH_ERROR_INIT;
    bool help = false;
    cli_options_init(&options, verb);
    if (flags_first(&options, argc, argv, &err) < 0 ||
        cli_operands(verb, argc, argv, target, count, ret_index, &help, &err) < 0)
        *ret_status = cli_report(&err);
    else if (help)
        *ret_status = cli_help_verb(verb);
    else
        return true;
    return false;
}

bool cli_begin_alone(const struct cli_verb *verb, int argc, char **argv, void *target,
                     int *ret_status)
{
    int index = 0;
    return cli_begin(verb, argc, argv, target, (struct cli_count){0, 0}, &index, ret_status);
}

int cli_each_sandbox(int argc, char **argv, int index,
                     int (*act)(void *userdata, struct hutch_sandbox *sandbox,
                                struct hutch_error *err),
                     void *userdata)
{
    int exit_status = 0;
    for (int i = index; i < argc; i++) {
        CLI_CLEANUP(cli_sandbox_free) struct hutch_sandbox *sandbox = NULL;
        struct hutch_error err = HUTCH_ERROR_INIT;
        int failed = hutch_sandbox_open(argv[i], &sandbox, &err);
        if (!failed)
            failed = act(userdata, sandbox, &err);
        if (failed) {
            int status = cli_report(&err);
            exit_status = exit_status ? exit_status : status;
        }
    }
    return exit_status;
}
