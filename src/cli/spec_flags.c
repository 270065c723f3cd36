/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/spec_flags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/spec_file.h"

/* The library names the field ("limits.memory: ..."); the person typed a flag. */
static int fail_flag(const struct cli_option *option, struct hutch_error *err)
{
    struct hutch_error cause = *err;
    size_t length = strlen(option->field);
    const char *text = cause.msg;
    if (!strncmp(text, option->field, length) && !strncmp(text + length, ": ", 2))
        text += length + 2;
    (void)cli_fail(err, cause.code, "--%s: %.440s", option->name, text);
    err->os_errno = cause.os_errno;
    return -(int)cause.code;
}

static int apply_fields(const struct cli_options *options, int argc, char **argv,
                        struct hutch_spec *spec, struct hutch_error *err)
{
    struct cli_cursor cursor = {.options = options, .argc = argc, .argv = argv, .index = 1};
    for (;;) {
        const struct cli_option *option = NULL;
        const char *value = NULL;
        int failed = cli_cursor_next(&cursor, &option, &value, err);
        if (failed || !option)
            return failed;
        if (option->kind != CLI_OPTION_FIELD)
            continue;
        if (hutch_spec_set(spec, option->field, value ? value : "true", err) < 0)
            return fail_flag(option, err);
    }
}

/* A named sandbox has a root of its own. */
static int check_root(const struct cli_options *options, int argc, char **argv,
                      const struct cli_named *named, struct hutch_error *err)
{
    struct cli_cursor cursor = {.options = options, .argc = argc, .argv = argv, .index = 1};
    int failed = cli_named_check(named, err);
    while (!failed && named->name) {
        const struct cli_option *option = NULL;
        const char *value = NULL;
        failed = cli_cursor_next(&cursor, &option, &value, err);
        if (failed || !option)
            break;
        if (!strcmp(option->name, "image") || !strcmp(option->name, "rootfs"))
            failed = cli_fail(err, HUTCH_E_INVALID,
                              "'--sandbox' and '--%s' both say what is inside; give one of them",
                              option->name);
    }
    return failed;
}

/* Said by the variable, which the program that fetches an image hears too. */
static int use_policy(const char *path, struct hutch_error *err)
{
    if (!*path)
        return cli_fail(err, HUTCH_E_INVALID, "flag '--policy' needs the name of a file");
    return setenv("HUTCH_POLICY", path, 1) < 0 ? cli_fail_errno(err, errno, "name the policy") : 0;
}

int cli_spec_build(const struct cli_options *options, int argc, char **argv,
                   const struct cli_spec_sources *sources, char **command,
                   struct hutch_spec **ret_spec, struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    size_t words = 0;
    int failed = check_root(options, argc, argv, &sources->named, err);
    if (!failed && sources->policy)
        failed = use_policy(sources->policy, err);
    if (!failed)
        failed = hutch_spec_new(&spec, err);
    if (!failed && sources->named.name)
        failed = cli_named_apply(&sources->named, spec, err);
    if (!failed && sources->path)
        failed = cli_spec_read(spec, sources->path, err);
    if (!failed)
        failed = apply_fields(options, argc, argv, spec, err);
    if (!failed && sources->named.name)
        failed = cli_named_build(&sources->named, spec, err);
    while (command[words])
        words++;
    if (!failed && words)
        failed = hutch_spec_set_command(spec, words, (const char *const *)command, err);
    if (failed) {
        hutch_spec_free(spec);
        return failed;
    }
    *ret_spec = spec;
    return 0;
}
