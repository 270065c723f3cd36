/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/operands.h"

#include "cli/handles.h"
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
    if (count.most && argc - index > count.most)
        return cli_fail(err, HUTCH_E_INVALID, "'hutch %s' does not know what to do with '%.80s'",
                        verb->name, argv[index + count.most]);
    *ret_index = index;
    return 0;
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
