/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/image.h"

const struct cli_verb cli_verb_image = {
    .name = "image",
    .group = "Images",
    .summary = "Fetch, keep, build and send images",
    .usage = "COMMAND [FLAG]... [ARGUMENT]...",
    .details = "A REFERENCE is the name of an image as everybody writes it: python:3.11-slim,\n"
               "ghcr.io/user/tool, localhost:5000/x@sha256:...\n",
    .inner = cli_image_verbs,
    .run = cli_run_inner,
};
