/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the set-up makes where a root has none: names of this one sandbox, mostly. They are
 * known by their content: what the sandbox has made of one since is its own. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/derive.h"
#include "backend/native/plan.h"
#include "util/own.h"

static bool has_content(int upper, const char *path, const char *text, size_t length)
{
    struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    struct stat info;
    hutch_autofd int fd = (int)syscall(SYS_openat2, upper, path, &how, sizeof(how));
    if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || (size_t)info.st_size != length)
        return false;
    hutch_autofree char *content = malloc(length + 1);
    return content && pread(fd, content, length, 0) == (ssize_t)length &&
           !memcmp(content, text, length);
}

static int list_files(const struct plan *plan, int upper, struct hutch_strlist *paths,
                      struct hutch_error *err)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct init_step *step = &plan->steps[i];
        const char *path = plan->blob.data + step->path;
        if (step->op == INIT_OP_FILE &&
            has_content(upper, path, plan->blob.data + step->text, step->text_length) &&
            hutch_strlist_add(paths, path, err) < 0)
            return -(int)err->code;
    }
    return 0;
}

int derive_made_files(const struct hutch_spec *spec, const struct image_use *image,
                      const struct identity *identity, int upper, struct hutch_strlist *paths,
                      struct hutch_error *err)
{
    struct plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return hutch_fail_nomem(err);
    struct plan_input input = {.spec = spec,
                               .image = image,
                               .identity = identity,
                               .has_egress = hutch_spec_has_egress(spec),
                               .writable_fd = HUTCH_NO_FD};
    int status = plan_build(plan, &input, err);
    if (status == 0)
        status = list_files(plan, upper, paths, err);
    plan_done(plan);
    free(plan);
    return status;
}
