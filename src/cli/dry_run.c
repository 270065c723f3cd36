/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/dry_run.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/handles.h"
#include "cli/output.h"
#include "hutch/policy.h"

static void say_change(void *userdata, const char *sentence)
{
    (void)userdata;
    cli_say("%s", sentence);
}

int cli_dry_run(struct hutch_spec *spec, enum hutch_use use, bool json)
{
    CLI_CLEANUP(cli_free) char *text = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (hutch_spec_decide(spec, use, say_change, NULL, &err) < 0 ||
        hutch_spec_to_json(spec, &text, &err) < 0)
        return json ? cli_report_json(&err) : cli_report(&err);
    return cli_line_send(text, strlen(text), &err) < 0 ? cli_report(&err) : EXIT_SUCCESS;
}
