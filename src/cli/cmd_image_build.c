/* SPDX-License-Identifier: Apache-2.0 */
/* hutch image build: the log goes to standard error as it comes, and the name to standard output.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/handles.h"
#include "cli/named.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "hutch/image.h"

struct build_request {
    const char *reference;
    const char *dockerfile;
    const char *platform;
    const char *backend;
    struct cli_list build_args;
    bool no_cache;
    bool quiet;
};

static void request_done(struct build_request *request)
{
    cli_list_done(&request->build_args);
}

#define BUILD_FLAG(letter, type, member) \
    .short_name = (letter), .kind = (type), .offset = offsetof(struct build_request, member)

static const struct cli_option build_options[] = {
    {.name = "tag",
     BUILD_FLAG('t', CLI_OPTION_TEXT, reference),
     .metavar = "REFERENCE",
     .help = "The image's name; without it, that of the directory."},
    {.name = "file",
     BUILD_FLAG('f', CLI_OPTION_TEXT, dockerfile),
     .metavar = "FILE",
     .help = "The Dockerfile, when it is not the one in the directory."},
    {.name = "build-arg",
     BUILD_FLAG(0, CLI_OPTION_LIST, build_args),
     .metavar = "KEY=VALUE",
     .repeats = true,
     .help = "An ARG of the Dockerfile."},
    {.name = "platform",
     BUILD_FLAG(0, CLI_OPTION_TEXT, platform),
     .metavar = "OS/ARCH",
     .help = "Build on the base images of another platform."},
    {.name = "backend",
     BUILD_FLAG(0, CLI_OPTION_TEXT, backend),
     .metavar = "NAME",
     .help = "What is to run it. The engine of docker builds it and keeps it; for native and oci "
             "buildah builds it, and hutch's store keeps it."},
    {.name = "no-cache",
     BUILD_FLAG(0, CLI_OPTION_BOOL, no_cache),
     .help = "Do every step again, on base images as they are now."},
    {.name = "quiet",
     BUILD_FLAG('q', CLI_OPTION_BOOL, quiet),
     .help = "Print nothing but the image's name at the end."},
};

/* ".", "/srv/app/" and "app" are all called app. */
static int name_of_directory(const char *directory, char **ret_name, struct hutch_error *err)
{
    CLI_CLEANUP(cli_free) char *path = realpath(directory, NULL);
    if (!path)
        return cli_fail_errno(err, errno, directory);
    *ret_name = strdup(strrchr(path, '/') + 1);
    return *ret_name ? 0 : cli_fail_errno(err, ENOMEM, directory);
}

static int build(const struct build_request *request, const char *directory,
                 struct hutch_error *err)
{
    CLI_CLEANUP(cli_free) char *name = NULL;
    struct hutch_image_options options = HUTCH_IMAGE_OPTIONS_INIT;
    struct hutch_image_build order = {
        .size = sizeof(order),
        .directory = directory,
        .dockerfile = request->dockerfile,
        .reference = request->reference,
        .build_args = request->build_args.items,
        .no_cache = request->no_cache,
        .backend = request->backend,
    };
    if (!request->reference && !strcmp(directory, "-"))
        return cli_fail(err, HUTCH_E_INVALID,
                        "an archive of a directory has no name that the image could get; give it "
                        "one with '--tag REFERENCE'");
    int failed = request->reference ? 0 : name_of_directory(directory, &name, err);
    if (failed)
        return failed;
    if (name)
        order.reference = name;
    options.platform = request->platform;
    options.on_progress = request->quiet ? NULL : cli_show_build;
    failed = hutch_image_build(&order, &options, err);
    return failed ? failed : cli_line_send(order.reference, strlen(order.reference), err);
}

static int cmd_image_build(const struct cli_verb *verb, int argc, char **argv)
{
    CLI_CLEANUP(request_done) struct build_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){1, 1}, &index, &status))
        return status;
    return build(&request, argv[index], &err) < 0 ? cli_report(&err) : 0;
}

const struct cli_verb cli_image_build = {
    .name = "image build",
    .summary = "Build an image from a Dockerfile, with buildah or a Docker engine",
    .usage = "[FLAG]... DIR|-",
    .details =
        "The log goes to standard error, the image's name to standard output. Steps that\n"
        "were done before are taken from the cache, which 'hutch image prune' empties.\n"
        "A base image that 'hutch image ls' shows is that one; others are fetched.\n"
        "'-' is an archive of the directory on standard input; FILE is then in the archive.\n"
        "With --backend docker the cache is the engine's, and so is the image: what the\n"
        "engine lacks of the base images is given to it, or fetched by it.\n"
        "\n"
        "Examples\n"
        "  hutch image build -t app:1 .\n"
        "  hutch image build --build-arg BASE=debian:12 sandboxes/shell\n"
        "  hutch image build --backend docker -t app:1 . && hutch run --backend docker --image "
        "app:1\n",
    .options = build_options,
    .option_count = CLI_COUNT(build_options),
    .run = cmd_image_build,
};
