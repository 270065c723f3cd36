/* SPDX-License-Identifier: Apache-2.0 */
/* Every verb of the hutch command, in the order of the overview. */
#include "cli/cli.h"

static const struct cli_verb *const verbs[] = {
    &cli_verb_run,     &cli_verb_create, &cli_verb_exec,   &cli_verb_shell,  &cli_verb_ls,
    &cli_verb_inspect, &cli_verb_ps,     &cli_verb_logs,   &cli_verb_stats,  &cli_verb_egress,
    &cli_verb_top,     &cli_verb_prefix, &cli_verb_cp,     &cli_verb_fork,   &cli_verb_snapshot,
    &cli_verb_diff,    &cli_verb_apply,  &cli_verb_start,  &cli_verb_stop,   &cli_verb_kill,
    &cli_verb_pause,   &cli_verb_resume, &cli_verb_update, &cli_verb_rm,     &cli_verb_sandboxes,
    &cli_verb_image,   &cli_verb_policy, &cli_verb_secret, &cli_verb_doctor, &cli_verb_gc,
    &cli_verb_audit,   &cli_verb_usage,  &cli_verb_serve,  &cli_verb_token,  &cli_verb_help,
    &cli_verb_version,
};

const struct cli_verb *const *cli_verbs(size_t *ret_count)
{
    *ret_count = CLI_COUNT(verbs);
    return verbs;
}
