/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "backend/docker/transfer.h"
#include "store/apply.h"
#include "util/own.h"
#include "util/remove_tree.h"
#include "util/state_dir.h"

#define PLACE_BYTES 512

/* ---- a directory for what comes out ---- */

static int make_place(char place[PLACE_BYTES], struct hutch_error *err)
{
    char lib[400];
    if (state_directory("lib", lib, sizeof(lib), err) < 0)
        return -(int)err->code;
    (void)snprintf(place, PLACE_BYTES, "%s/.fetched-XXXXXX", lib);
    if (!mkdtemp(place))
        return hutch_fail_errno(err, errno, "make a directory in '%.200s'", lib);
    return 0;
}

static void remove_place(const char *place)
{
    (void)remove_tree(AT_FDCWD, place);
}

/* What is inside decides about names and bytes alone: the owner is who unpacks, and neither
 * set-id bits nor devices come along. */
static int unpack(struct docker_engine *engine, const char *container, const char *path,
                  const struct docker_most *most, int dir, struct hutch_error *err)
{
    const char *last = strrchr(path, '/');
    bool has_top = strcmp(last, "/.") != 0;
    const struct tar_unpack_options options = {.dir = dir,
                                               .names = TAR_NAMES_REFUSE,
                                               .strip_first = has_top,
                                               .max_bytes = most->bytes,
                                               .max_entries = most->entries};
    return docker_get_tree(engine, container, path, &options, err);
}

/* ---- artifacts ---- */

/* The place has its name as long as somebody may look for it below: the directory is read by its
 * descriptor, and removed by who gets it. */
int docker_fetch(struct docker_engine *engine, const char *container, const char *path,
                 const struct docker_most *most, char *ret_place, size_t size, int *ret_directory,
                 struct hutch_error *err)
{
    char place[PLACE_BYTES];
    if (make_place(place, err) < 0)
        return -(int)err->code;
    hutch_autofd int dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = dir < 0 ? hutch_fail_errno(err, errno, "open '%.200s'", place)
                         : unpack(engine, container, path, most, dir, err);
    if (status < 0) {
        remove_place(place);
        return status;
    }
    (void)snprintf(ret_place, size, "%s", place);
    *ret_directory = HUTCH_TAKE_FD(dir);
    return 0;
}

/* ---- workspaces ---- */

struct conflicts {
    char first[200];
    uint64_t count;
    uid_t uid;
    gid_t gid;
};

static void on_conflict(void *context, const char *path, enum hutch_conflict_reason reason)
{
    struct conflicts *conflicts = context;
    if (!conflicts->count++)
        (void)snprintf(conflicts->first, sizeof(conflicts->first), "'%.100s' %s", path,
                       hutch_conflict_reason_text(reason));
}

/* Files belong to whom the workspace does. */
static void map_owner(void *context, uid_t uid, gid_t gid, uid_t *ret_uid, gid_t *ret_gid)
{
    const struct conflicts *conflicts = context;
    (void)uid, (void)gid;
    *ret_uid = conflicts->uid;
    *ret_gid = conflicts->gid;
}

/* What came out is all there is: what the workspace has beside it was removed inside. That is what
 * an overlay says of a directory with this mark. */
static int apply(int from, const char *workspace, uint64_t since_ns, struct hutch_error *err)
{
    struct conflicts conflicts = {0};
    struct stat info;
    hutch_autofd int to = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0 || fstat(to, &info) < 0)
        return hutch_fail_errno(err, errno, "open '%.200s'", workspace);
    if (fsetxattr(from, "user.overlay.opaque", "y", 1, 0) < 0)
        return hutch_fail_errno(err, errno, "mark what comes out of the container");
    conflicts.uid = info.st_uid;
    conflicts.gid = info.st_gid;
    const struct hutch_apply_options options = {.since_ns = since_ns,
                                                .owner = geteuid() == 0 ? map_owner : NULL,
                                                .conflict = on_conflict,
                                                .context = &conflicts};
    if (hutch_apply(from, to, &options, NULL, err) < 0)
        return -(int)err->code;
    if (conflicts.count)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0,
                          "%llu of its files were left as they are, for others have changed them "
                          "meanwhile: %s",
                          (unsigned long long)conflicts.count, conflicts.first);
    return 0;
}

int docker_copy_out(struct docker_engine *engine, const char *container, const char *path,
                    const char *workspace, uint64_t since_ns, struct hutch_error *err)
{
    const struct docker_most most = {0}; /* a workspace is as large as its owner lets it be */
    char place[PLACE_BYTES];
    hutch_autofd int dir = HUTCH_NO_FD;
    int status = docker_fetch(engine, container, path, &most, place, sizeof(place), &dir, err);
    if (status == 0) {
        status = apply(dir, workspace, since_ns, err);
        remove_place(place);
    }
    return status < 0 ? hutch_wrap(err, "bring workspace '%.150s' back: ", workspace) : 0;
}
