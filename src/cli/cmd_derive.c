/* SPDX-License-Identifier: Apache-2.0 */
/* hutch fork, snapshot, diff and apply: what comes of a sandbox. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/handles.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/snapshot_image.h"

struct derive_request {
    bool root;
    bool json;
    bool dry_run;
    FILE *file;
    size_t count;
};

/* Flags, one name and perhaps another. NULL: nothing more to do, the exit status is there. */
static struct hutch_sandbox *begin(const struct cli_verb *verb, int argc, char **argv,
                                   struct derive_request *request, int least, int most,
                                   int *ret_index, int *ret_status)
{
    struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (cli_begin(verb, argc, argv, request, (struct cli_count){least, most}, ret_index,
                  ret_status) &&
        hutch_sandbox_open(argv[*ret_index], &sandbox, &err) < 0)
        *ret_status = cli_report(&err);
    return sandbox;
}

static int cmd_fork(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_sandbox_free) struct hutch_sandbox *copy = NULL;
    struct derive_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    CLI_CLEANUP(cli_sandbox_free)
    struct hutch_sandbox *sandbox = begin(verb, argc, argv, &request, 1, 2, &index, &status);
    if (!sandbox)
        return status;
    if (hutch_sandbox_fork(sandbox, argv[index + 1], &copy, &err) < 0)
        return cli_report(&err);
    const char *name = hutch_sandbox_name(copy);
    return cli_line_send(name, strlen(name), &err) < 0 ? cli_report(&err) : 0;
}

static int cmd_snapshot(const struct cli_verb *verb, int argc, char **argv)
{
    struct derive_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    CLI_CLEANUP(cli_sandbox_free)
    struct hutch_sandbox *sandbox = begin(verb, argc, argv, &request, 2, 2, &index, &status);
    if (!sandbox)
        return status;
    int failed = hutch_sandbox_has_image(sandbox)
                     ? cli_snapshot_image(argv[index], argv[index + 1], &err)
                     : hutch_sandbox_snapshot(sandbox, argv[index + 1], &err);
    return failed ? cli_report(&err) : 0;
}

static int list_change(void *userdata, const char *kind, const char *path)
{
    struct derive_request *request = userdata;
    if (request->json) {
        (void)fprintf(request->file, "%s{\"kind\":\"%s\",\"path\":", request->count ? "," : "",
                      kind);
        cli_json_string(request->file, path);
        (void)fputc('}', request->file);
    } else {
        (void)fprintf(request->file, "%-8s /", kind);
        /* a name is the sandbox's own affair: none of it steers a terminal */
        for (size_t length; *path; path += length ? length : 1) {
            length = cli_harmless_length(path);
            (void)fwrite(length ? path : "?", 1, length ? length : 1, request->file);
        }
        (void)fputc('\n', request->file);
    }
    request->count++;
    return 0;
}

static int list_changes(struct hutch_sandbox *sandbox, struct derive_request *request,
                        struct hutch_error *err)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    if (cli_text_open(&text, err) < 0)
        return -(int)err->code;
    request->file = text.file;
    (void)fputs(request->json ? "{\"changes\":[" : "", text.file);
    if (hutch_sandbox_changes(sandbox, list_change, request, err) < 0)
        return -(int)err->code;
    (void)fputs(request->json ? "]}\n" : "", text.file);
    return cli_text_send(&text, err);
}

static int cmd_diff(const struct cli_verb *verb, int argc, char **argv)
{
    struct derive_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    CLI_CLEANUP(cli_sandbox_free)
    struct hutch_sandbox *sandbox = begin(verb, argc, argv, &request, 1, 1, &index, &status);
    if (!sandbox)
        return status;
    int failed = request.root || request.json ? list_changes(sandbox, &request, &err)
                                              : hutch_sandbox_diff(sandbox, STDOUT_FILENO, &err);
    if (failed == -HUTCH_E_CONFLICT && !request.root && !request.json) /* no such workspace */
        failed = list_changes(sandbox, &request, &err);
    return failed ? cli_report(&err) : 0;
}

static void tell_conflict(void *userdata, const char *path, const char *why)
{
    (void)userdata;
    cli_say("left alone '%s': it %s", path, why);
}

static int cmd_apply(const struct cli_verb *verb, int argc, char **argv)
{
    struct derive_request request = {0};
    struct hutch_applied applied = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    char line[200];
    int index = 0, status = 0;
    CLI_CLEANUP(cli_sandbox_free)
    struct hutch_sandbox *sandbox = begin(verb, argc, argv, &request, 1, 1, &index, &status);
    if (!sandbox)
        return status;
    if (hutch_sandbox_apply(sandbox, request.dry_run, tell_conflict, NULL, &applied, &err) < 0)
        return cli_report(&err);
    (void)snprintf(line, sizeof(line), "%s%llu added, %llu modified, %llu deleted, %llu left alone",
                   request.dry_run ? "would be: " : "", (unsigned long long)applied.added,
                   (unsigned long long)applied.modified, (unsigned long long)applied.deleted,
                   (unsigned long long)applied.conflicts);
    if (cli_line_send(line, strlen(line), &err) < 0)
        return cli_report(&err);
    return applied.conflicts ? 1 : 0;
}

const struct cli_verb cli_verb_fork = {
    .name = "fork",
    .group = "Files of a sandbox",
    .summary = "Make a second sandbox with the same files, at no cost",
    .usage = "NAME [NEW]",
    .details = "The files are shared until either writes to them. The first one goes on.\n",
    .run = cmd_fork,
};

const struct cli_verb cli_verb_snapshot = {
    .name = "snapshot",
    .group = "Files of a sandbox",
    .summary = "Keep the files of a sandbox under a name, or as an image",
    .usage = "NAME NEW|REFERENCE",
    .details = "Of a sandbox made from an image this is a new image: the layers of the first and\n"
               "one more with what the sandbox has changed. A sandbox that runs is paused\n"
               "meanwhile. Of any other it is a sandbox that is stopped, to be forked again.\n",
    .run = cmd_snapshot,
};

static const struct cli_option diff_options[] = {
    {.name = "root",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct derive_request, root),
     .help = "List what differs from the root, also when there is a workspace to compare."},
    {.name = "json",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct derive_request, json),
     .help = "That list as one JSON object."},
};

const struct cli_verb cli_verb_diff = {
    .name = "diff",
    .group = "Files of a sandbox",
    .summary = "Show what a sandbox has changed",
    .usage = "[FLAG]... NAME",
    .details = "With '--workspace DIR:overlay' this is a patch of the workspace, for 'patch -p1'\n"
               "or 'git apply'; otherwise a list of what differs from the root it began with.\n"
               "Binary files are only named in it: 'patch' leaves out what they hold and\n"
               "'git apply' refuses the whole. 'hutch apply' writes them too.\n",
    .options = diff_options,
    .option_count = CLI_COUNT(diff_options),
    .run = cmd_diff,
};

static const struct cli_option apply_options[] = {
    {.name = "dry-run",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct derive_request, dry_run),
     .help = "Only tell what would be done."},
};

const struct cli_verb cli_verb_apply = {
    .name = "apply",
    .group = "Files of a sandbox",
    .summary = "Write what a sandbox changed in its workspace to the real one",
    .usage = "[FLAG]... NAME",
    .details = "For a workspace of '--workspace DIR:overlay'. Each file is written whole or not\n"
               "at all. What was changed in the real directory since the sandbox was made is\n"
               "left alone and told; the exit status is 1 then.\n",
    .options = apply_options,
    .option_count = CLI_COUNT(apply_options),
    .run = cmd_apply,
};
