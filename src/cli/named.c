/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/named.h"

#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/plain.h"
#include "hutch/named.h"

void cli_named_done(struct cli_named *named)
{
    cli_list_done(&named->directories);
    cli_list_done(&named->build_args);
}

int cli_named_check(const struct cli_named *named, struct hutch_error *err)
{
    if (named->name)
        return 0;
    if (named->directories.count)
        return cli_fail(err, HUTCH_E_INVALID, "'--sandbox-dir' needs '--sandbox NAME' beside it");
    if (named->build_args.count)
        return cli_fail(err, HUTCH_E_INVALID, "'--build-arg' needs '--sandbox NAME' beside it");
    return 0;
}

/* What a step of a build prints comes from inside it. */
void cli_show_build(void *userdata, const struct hutch_image_progress *progress)
{
    (void)userdata;
    if (!strcmp(progress->action, "build")) {
        cli_plain_write(stderr, progress->item);
        (void)fputc('\n', stderr);
    } else if (!strcmp(progress->action, "wait")) {
        cli_say("waiting %s", progress->item);
    }
}

static struct hutch_named_options options_of(const struct cli_named *named)
{
    struct hutch_named_options options = HUTCH_NAMED_OPTIONS_INIT;
    options.directories = named->directories.items;
    options.build_args = named->build_args.items;
    options.on_progress = cli_show_build;
    options.no_build = named->no_build;
    return options;
}

int cli_named_apply(const struct cli_named *named, struct hutch_spec *spec, struct hutch_error *err)
{
    struct hutch_named_options options = options_of(named);
    options.no_build = true;
    return hutch_named_apply(spec, named->name, &options, err);
}

int cli_named_build(const struct cli_named *named, struct hutch_spec *spec, struct hutch_error *err)
{
    struct hutch_named_options options = options_of(named);
    return hutch_named_build(spec, named->name, &options, err);
}
