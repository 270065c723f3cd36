/* SPDX-License-Identifier: Apache-2.0 */
/* Named sandboxes of the daemon's machine: it reads them, and builds their images. */
#include "hutch/named.h"

#include <stdlib.h>

#include "remote/body.h"
#include "remote/client.h"
#include "util/own.h"

static int refuse_local(const struct hutch_named_options *options, struct hutch_error *err)
{
    if (!options)
        return 0;
    const char *flag = options->directories && *options->directories ? "--sandbox-dir"
                       : options->build_args && *options->build_args ? "--build-arg"
                                                                     : NULL;
    if (!flag)
        return 0;
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "'%s' has no remote form: the daemon has its own named sandboxes, which "
                      "'hutch --host ... sandboxes' lists",
                      flag);
}

/* Only its name is known here. The daemon lays what is given over what it says. */
int hutch_named_apply(struct hutch_spec *spec, const char *name,
                      const struct hutch_named_options *options, struct hutch_error *err)
{
    (void)spec;
    if (refuse_local(options, err) < 0)
        return -(int)err->code;
    return remote_template_set(name, err);
}

/* The daemon has done so when it answers. */
int hutch_named_build(struct hutch_spec *spec, const char *name,
                      const struct hutch_named_options *options, struct hutch_error *err)
{
    (void)spec, (void)name, (void)options, (void)err;
    return 0;
}

int hutch_named_list(const struct hutch_named_options *options, hutch_named_fn on_named,
                     void *userdata, struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    struct remote_call call = REMOTE_CALL(remote_path("/api/templates"));
    size_t index;
    const json_t *row;
    if (refuse_local(options, err) < 0) {
        free(call.path);
        return -(int)err->code;
    }
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    const json_t *list = remote_list(answer, "templates", err);
    if (!list)
        return -(int)err->code;
    json_array_foreach(list, index, row)
    {
        const char *name = remote_text(row, "name"), *path = remote_text(row, "path");
        const struct hutch_named_info info = {.name = name,
                                              .path = path ? path : "",
                                              .has_dockerfile = remote_flag(row, "dockerfile"),
                                              .has_spec = remote_flag(row, "spec")};
        int status = name ? on_named(userdata, &info) : 0;
        if (status)
            return status;
    }
    return 0;
}
