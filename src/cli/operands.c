/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/operands.h"

#include "cli/handles.h"
#include "cli/help.h"
#include "cli/output.h"

int cli_operands(const struct cli_verb *verb, int argc, char **argv, void *target,
                 struct cli_count count, int *ret_index, bool *ret_help, struct hutch_error *err)
{
    CLI_CLEANUP(cli_options_done) struct cli_options options = {0};
    int index = 1;
    int failed = cli_options_init(&options, verb, err);
    if (!failed)
        failed = cli_options_parse(&options, argc, argv, &index, target, ret_help, err);
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

bool cli_begin(const struct cli_verb *verb, int argc, char **argv, void *target,
               struct cli_count count, int *ret_index, int *ret_status)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    bool help = false;
    if (cli_operands(verb, argc, argv, target, count, ret_index, &help, &err) < 0)
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
