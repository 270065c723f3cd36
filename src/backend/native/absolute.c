/* SPDX-License-Identifier: Apache-2.0 */
/* A spec's paths on the host, for whoever reads them somewhere else. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/native/environment.h"

static int make_absolute(char **path, struct hutch_error *err)
{
    char here[PATH_MAX];
    char *whole = NULL;
    if (!*path || **path == '/')
        return 0;
    if (!getcwd(here, sizeof(here)))
        return hutch_fail_errno(err, errno, "see which directory this is");
    if (asprintf(&whole, "%s/%s", strcmp(here, "/") != 0 ? here : "", *path) < 0)
        return hutch_fail_nomem(err);
    free(*path);
    *path = whole;
    return 0;
}

int hutch_spec_make_absolute(struct hutch_spec *spec, struct hutch_error *err)
{
    if (make_absolute(&spec->rootfs, err) < 0 || make_absolute(&spec->artifacts, err) < 0 ||
        make_absolute(&spec->workspace.path, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < spec->mounts.count; i++)
        if (make_absolute(&spec->mounts.items[i].source, err) < 0)
            return -(int)err->code;
    return 0;
}
