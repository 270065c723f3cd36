/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "backend/docker/transfer.h"
#include "init/guest_image.h"
#include "tar/head.h"
#include "util/own.h"

enum { SMALL_ARCHIVE_CEILING = 4 << 20 };

/* ---- what hutch itself puts there ---- */

struct making {
    const struct docker_plan *plan;
    struct hutch_buf bytes;
    struct tar_out out;
    struct tar_text scratch;
};

static int keep_bytes(void *context, const void *data, size_t length)
{
    struct making *making = context;
    hutch_buf_append(&making->bytes, data, length);
    errno = ENOMEM;
    return making->bytes.failed ? -1 : 0;
}

static int add_directory(struct making *making, const char *name, mode_t mode, bool is_users)
{
    const struct docker_plan *plan = making->plan;
    const struct tar_head head = {.type = TAR_TYPE_DIRECTORY,
                                  .name = name,
                                  .attributes = {.mode = mode,
                                                 .uid = is_users ? plan->uid : 0,
                                                 .gid = is_users ? plan->gid : 0}};
    return tar_head_write(&making->out, &head, &making->scratch);
}

static int add_guest(struct making *making)
{
    const struct tar_head head = {.type = TAR_TYPE_FILE,
                                  .name = &CONTAINER_GUEST_PATH[1],
                                  .attributes = {.mode = 0755},
                                  .size = sizeof(hutch_guest_image)};
    if (add_directory(making, ".hutch/", 0755, false) < 0 ||
        tar_head_write(&making->out, &head, &making->scratch) < 0 ||
        tar_out_write(&making->out, hutch_guest_image, sizeof(hutch_guest_image)) < 0)
        return -1;
    return tar_out_zeros(&making->out, tar_padding(sizeof(hutch_guest_image)));
}

static bool is_free(const struct hutch_spec *spec, const char *target)
{
    return !docker_plan_is_taken(spec, target, false);
}

/* Directories that natively are there too; their names end in a slash. A directory that the image
 * has stays what it is but for its owner and mode; one that is mounted there stays what it is. */
static int add_all(struct making *making)
{
    const struct docker_plan *plan = making->plan;
    const struct hutch_spec *spec = plan->spec;
    const struct {
        const char *name;
        mode_t mode;
        bool is_users;
        bool is_wanted;
    } rows[] = {
        {"tmp/", 01777, false, !plan->in_memory && is_free(spec, "/tmp")},
        {"home/", 0755, false, !plan->in_memory && is_free(spec, "/home")},
        {"home/user/", 0755, true, !plan->in_memory && is_free(spec, PLAN_HOME)},
        {"workspace/", 0755, true,
         !plan->in_memory && plan->workspace == PLAN_WAY_NONE && is_free(spec, PLAN_WORKSPACE)},
        {"artifacts/", 0755, true, spec->artifacts != NULL},
    };
    int status = plan->guest[0] ? 0 : add_guest(making);
    for (size_t i = 0; status == 0 && i < HUTCH_COUNT(rows); i++)
        if (rows[i].is_wanted)
            status = add_directory(making, rows[i].name, rows[i].mode, rows[i].is_users);
    if (status == 0)
        status = tar_out_zeros(&making->out, UINT64_C(2) * TAR_BLOCK);
    return status == 0 ? tar_out_flush(&making->out) : status;
}

struct bytes {
    const char *data;
    size_t left;
};

static ssize_t read_bytes(void *context, void *buffer, size_t size)
{
    struct bytes *bytes = context;
    size_t length = size < bytes->left ? size : bytes->left;
    memcpy(buffer, bytes->data, length);
    bytes->data += length;
    bytes->left -= length;
    return (ssize_t)length;
}

static int send_made(struct docker_engine *engine, const char *container,
                     const struct hutch_buf *made, struct hutch_error *err)
{
    char path[256];
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    struct bytes bytes = {made->data, made->length};
    const struct docker_request request = {
        .method = "PUT", .path = path, .source = read_bytes, .context = &bytes};
    (void)snprintf(path, sizeof(path), "/containers/%s/archive?path=/", container);
    if (docker_version_check_copy(&engine->version, err) < 0)
        return -(int)err->code;
    int status = docker_ask(engine, &request, &answer, err);
    if (status == 0)
        status = docker_check(&answer, err);
    docker_answer_done(&answer);
    return status;
}

static int put_made(struct docker_engine *engine, const char *container,
                    const struct docker_plan *plan, struct hutch_error *err)
{
    struct making making = {.plan = plan, .bytes = HUTCH_BUF(SMALL_ARCHIVE_CEILING)};
    int status = tar_out_init(&making.out, -1, keep_bytes, &making);
    if (status == 0)
        status = add_all(&making);
    status = status < 0 ? hutch_fail_errno(err, errno, "write an archive")
                        : send_made(engine, container, &making.bytes, err);
    tar_out_done(&making.out);
    tar_text_done(&making.scratch);
    hutch_buf_done(&making.bytes);
    return status;
}

/* ---- the workspace ---- */

/* All of it belongs to the user; a read-only one to root, so that it is read-only. */
static void map_owner(void *context, uid_t *uid, gid_t *gid)
{
    const struct docker_plan *plan = context;
    bool is_users = plan->spec->workspace.mode != HUTCH_WORKSPACE_RO;
    *uid = is_users ? plan->uid : 0;
    *gid = is_users ? plan->gid : 0;
}

/* Sockets and what the caller may not read stay outside. */
static void skipped(void *context, const char *path, mode_t type, int os_errno)
{
    (void)context, (void)path, (void)type, (void)os_errno;
}

static int put_workspace(struct docker_engine *engine, const char *container,
                         struct docker_plan *plan, struct hutch_error *err)
{
    /* podman finds a volume of a container that does not run by its path alone */
    bool is_volume = plan->spec->read_only && plan->is_podman;
    const struct tar_pack_options options = {
        .dir = AT_FDCWD,
        .path = plan->spec->workspace.path,
        .name = is_volume ? "." : &PLAN_WORKSPACE[1],
        .without_kernel = true,
        .drop_special = true,
        .share_modes = plan->spec->workspace.mode == HUTCH_WORKSPACE_RO,
        .map_owner = map_owner,
        .skipped = skipped,
        .context = plan,
    };
    if (docker_put_tree(engine, container, is_volume ? PLAN_WORKSPACE : "/", &options, err) < 0)
        return hutch_wrap(
            err, "copy workspace '%.150s' into the container: ", plan->spec->workspace.path);
    return 0;
}

int docker_copy_in(struct docker_engine *engine, const char *container,
                   const struct docker_plan *plan, struct hutch_error *err)
{
    struct docker_plan known = *plan;
    if (!known.has_ids && docker_plan_resolve(&known, engine, container, err) < 0)
        return -(int)err->code;
    if (put_made(engine, container, &known, err) < 0)
        return hutch_wrap(err, "copy hutch-init into the container: ");
    return known.workspace == PLAN_WAY_ARCHIVE ? put_workspace(engine, container, &known, err) : 0;
}
