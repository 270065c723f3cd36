/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/handles.h"
#include "cli/operands.h"
#include "cli/output.h"

struct changes {
    const char **fields;
    const char **texts;
    size_t count;
};

static int gather(const struct cli_verb *verb, int argc, char **argv, struct changes *changes,
                  struct hutch_error *err)
{
    struct cli_options options;
    int failed = 0;
    cli_options_init(&options, verb);
    struct cli_cursor cursor = {.options = &options, .argc = argc, .argv = argv, .index = 1};
    while (!failed) {
        const struct cli_option *option = NULL;
        const char *value = NULL;
        failed = cli_cursor_next(&cursor, &option, &value, err);
        if (failed || !option)
            break;
        if (option->kind != CLI_OPTION_FIELD)
            continue;
        changes->fields[changes->count] = option->field;
        changes->texts[changes->count++] = value;
    }
    if (!failed && !changes->count)
        return cli_fail(err, HUTCH_E_INVALID,
                        "nothing to change; give a limit, as in 'hutch update NAME --memory 1g'");
    return failed;
}

static int change_one(void *userdata, struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    const struct changes *changes = userdata;
    return hutch_sandbox_update(sandbox, changes->count, changes->fields, changes->texts, err);
}

static int cmd_update(const struct cli_verb *verb, int argc, char **argv)
{
    struct changes changes = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, NULL, (struct cli_count){1, CLI_ANY}, &index, &status))
        return status;
    changes.fields = calloc((size_t)argc, sizeof(*changes.fields));
    changes.texts = calloc((size_t)argc, sizeof(*changes.texts));
    if (!changes.fields || !changes.texts)
        status = cli_report(&(struct hutch_error){.code = HUTCH_E_NO_MEMORY});
    else if (gather(verb, argc, argv, &changes, &err) < 0)
        status = cli_report(&err);
    else
        status = cli_each_sandbox(argc, argv, index, change_one, &changes);
    free(changes.fields);
    free(changes.texts);
    return status;
}

const struct cli_verb cli_verb_update = {
    .name = "update",
    .group = "Life of a sandbox",
    .summary = "Change the limits of a living sandbox, and what it may reach",
    .usage = "NAME... [FLAG]...",
    .fields = HUTCH_USE_UPDATE,
    .run = cmd_update,
};
