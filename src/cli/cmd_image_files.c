/* SPDX-License-Identifier: Apache-2.0 */
/* hutch image import, export, save and load: images that come from files and go into them. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/image.h"
#include "cli/operands.h"
#include "cli/out_file.h"
#include "cli/output.h"
#include "cli/plain.h"
#include "cli/progress.h"
#include "hutch/image.h"

struct file_request {
    bool quiet;
    const char *platform;
    const char *output;
    const char *format;
    const char *name;
};

#define QUIET_OPTION                                                                \
    {                                                                               \
        .name = "quiet", .short_name = 'q', .kind = CLI_OPTION_BOOL,                \
        .offset = offsetof(struct file_request, quiet), .help = "Show no progress." \
    }
#define OUTPUT_OPTION                                                        \
    {                                                                        \
        .name = "output", .short_name = 'o', .kind = CLI_OPTION_TEXT,        \
        .offset = offsetof(struct file_request, output), .metavar = "FILE",  \
        .default_text = "standard output", .help = "Where the archive goes." \
    }
#define PLATFORM_OPTION(text)                                                              \
    {                                                                                      \
        .name = "platform", .kind = CLI_OPTION_TEXT,                                       \
        .offset = offsetof(struct file_request, platform), .metavar = "OS/ARCH[/VARIANT]", \
        .default_text = "this machine's", .help = (text)                                   \
    }

static int cmd_import(const struct cli_verb *verb, int argc, char **argv)
{
    struct file_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_image_options options = HUTCH_IMAGE_OPTIONS_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){2, 2}, &index, &status))
        return status;
    CLI_CLEANUP(cli_progress_end) struct cli_progress progress = {.quiet = request.quiet};
    cli_progress_begin(&progress, &options);
    options.platform = request.platform;
    int failed = hutch_image_import(argv[index], argv[index + 1], &options, &err);
    cli_progress_end(&progress);
    return failed ? cli_report(&err) : 0;
}

static const struct cli_option import_options[] = {
    PLATFORM_OPTION("What the files are for."),
    QUIET_OPTION,
};

const struct cli_verb cli_image_import = {
    .name = "image import",
    .summary = "Make an image of one layer from a directory or a tar archive",
    .usage = "[FLAG]... DIRECTORY|ARCHIVE|- REFERENCE",
    .details =
        "The archive may be compressed with gzip, zstd, xz or bzip2; '-' is standard input.\n",
    .options = import_options,
    .option_count = CLI_COUNT(import_options),
    .run = cmd_import,
};

static int cmd_export(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_out_file_done) struct cli_out_file file = {.fd = -1};
    struct file_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){1, 1}, &index, &status))
        return status;
    if (cli_out_file_open(&file, request.output, &err) < 0 ||
        hutch_image_export(argv[index], file.fd, &err) < 0 || cli_out_file_commit(&file, &err) < 0)
        return cli_report(&err);
    return 0;
}

static const struct cli_option export_options[] = {OUTPUT_OPTION};

const struct cli_verb cli_image_export = {
    .name = "image export",
    .summary = "Write an image's whole tree of files as one tar archive",
    .usage = "[FLAG]... REFERENCE",
    .options = export_options,
    .option_count = CLI_COUNT(export_options),
    .run = cmd_export,
};

static int parse_format(const char *text, enum hutch_image_format *ret_format,
                        struct hutch_error *err)
{
    static const struct {
        const char *name;
        enum hutch_image_format format;
    } formats[] = {{"oci", HUTCH_IMAGE_OCI}, {"docker", HUTCH_IMAGE_DOCKER}};
    for (size_t i = 0; i < CLI_COUNT(formats); i++)
        if (!strcmp(text, formats[i].name)) {
            *ret_format = formats[i].format;
            return 0;
        }
    return cli_fail(err, HUTCH_E_INVALID, "--format: '%.40s' is neither 'oci' nor 'docker'", text);
}

static int cmd_save(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_out_file_done) struct cli_out_file file = {.fd = -1};
    struct file_request request = {.format = "oci"};
    struct hutch_error err = HUTCH_ERROR_INIT;
    enum hutch_image_format format = HUTCH_IMAGE_OCI;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){1, CLI_ANY}, &index, &status))
        return status;
    if (parse_format(request.format, &format, &err) < 0 ||
        cli_out_file_open(&file, request.output, &err) < 0 ||
        hutch_image_save((size_t)(argc - index), (const char *const *)(argv + index), format,
                         file.fd, &err) < 0 ||
        cli_out_file_commit(&file, &err) < 0)
        return cli_report(&err);
    return 0;
}

static const struct cli_option save_options[] = {
    {.name = "format",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct file_request, format),
     .metavar = "oci|docker",
     .default_text = "oci",
     .help = "An OCI layout, or as Docker before version 25 writes it."},
    OUTPUT_OPTION,
};

const struct cli_verb cli_image_save = {
    .name = "image save",
    .summary = "Write images with their names and layers into an archive",
    .usage = "[FLAG]... REFERENCE...",
    .details = "docker, podman, skopeo and 'hutch image load' read it.\n",
    .options = save_options,
    .option_count = CLI_COUNT(save_options),
    .run = cmd_save,
};

static int list_loaded(void *userdata, const struct hutch_image_info *info)
{
    FILE *file = userdata;
    cli_plain_write(file, info->name);
    (void)fputc('\n', file);
    return 0;
}

static int cmd_load(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    struct file_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_image_options options = HUTCH_IMAGE_OPTIONS_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){1, 1}, &index, &status))
        return status;
    CLI_CLEANUP(cli_progress_end) struct cli_progress progress = {.quiet = request.quiet};
    cli_progress_begin(&progress, &options);
    options.platform = request.platform;
    int failed = cli_text_open(&text, &err);
    if (!failed)
        failed =
            hutch_image_load(argv[index], request.name, list_loaded, text.file, &options, &err);
    cli_progress_end(&progress);
    if (failed || cli_text_send(&text, &err) < 0)
        return cli_report(&err);
    return 0;
}

static const struct cli_option load_options[] = {
    {.name = "name",
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct file_request, name),
     .metavar = "REFERENCE",
     .help = "For an image that has no name in the archive."},
    PLATFORM_OPTION("Which of an image's platforms."),
    QUIET_OPTION,
};

const struct cli_verb cli_image_load = {
    .name = "image load",
    .summary = "Take images from an archive or an OCI layout, and print their names",
    .usage = "[FLAG]... ARCHIVE|DIRECTORY|-",
    .details = "What 'docker save', 'podman save', skopeo and 'hutch image save' write.\n",
    .options = load_options,
    .option_count = CLI_COUNT(load_options),
    .run = cmd_load,
};
