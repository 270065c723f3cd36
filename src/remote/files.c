/* SPDX-License-Identifier: Apache-2.0 */
/* Copying between this machine and a sandbox of the daemon's: an archive travels, packed or
 * unpacked here in a thread beside the one that talks. What comes is believed in nothing: it is
 * unpacked under the one name that was asked for. */
#include "remote/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tar/tar.h"
#include "util/fs.h"
#include "util/own.h"

#define PIPE_BYTES (1 << 20)
#define MAX_ENTRIES (UINT64_C(20) << 20)
#define ARCHIVE_TYPE "application/x-tar"

int remote_write_on(void *userdata, const char *data, size_t length, struct hutch_error *err)
{
    const int *fd = userdata;
    return hutch_write_all(*fd, data, length) < 0 ? hutch_fail_errno(err, errno, "write the output")
                                                  : 0;
}

struct copy {
    struct tar_pack_options pack;
    struct tar_unpack_options unpack;
    hutch_skipped_fn on_skipped;
    void *userdata;
    uid_t daemon;
    int here;  /* the end of the pipe that the archive's half has */
    int there; /* the end that the connection has */
    int status;
    struct tar_failure failure;
    pthread_t thread;
};

static void on_skipped(void *context, const char *path, mode_t type, int os_errno)
{
    const struct copy *copy = context;
    (void)type;
    if (copy->on_skipped)
        copy->on_skipped(copy->userdata, path, os_errno);
}

/* The caller's files are the daemon's own there, and those it gives to the sandbox's user. */
static void owner_there(void *context, uid_t *uid, gid_t *gid)
{
    const struct copy *copy = context;
    if (*uid == geteuid()) {
        *uid = copy->daemon;
        *gid = copy->daemon;
    }
}

static int fail_copy(const struct tar_failure *failure, struct hutch_error *err)
{
    enum hutch_code code =
        failure->what == TAR_MEMORY   ? HUTCH_E_NO_MEMORY
        : failure->os_errno == ENOENT ? HUTCH_E_NOT_FOUND
        : failure->os_errno == EACCES || failure->os_errno == EPERM || failure->os_errno == EROFS
            ? HUTCH_E_PERMISSION
        : failure->os_errno ? HUTCH_E_SYSTEM
                            : HUTCH_E_INVALID;
    return hutch_fail(err, code, failure->os_errno, "copy: %s%s%.200s%s%s%s",
                      tar_failure_text(failure->what), failure->path[0] ? " '" : "", failure->path,
                      failure->path[0] ? "'" : "", failure->os_errno ? ": " : "",
                      failure->os_errno ? strerror(failure->os_errno) : "");
}

/* ---- the two threads ------------------------------------------------------------------------- */

static void *pack_half(void *userdata)
{
    struct copy *copy = userdata;
    copy->status = tar_pack(&copy->pack, copy->here, &copy->failure);
    hutch_fd_close(&copy->here);
    return NULL;
}

static void *unpack_half(void *userdata)
{
    struct copy *copy = userdata;
    copy->status = tar_unpack(&copy->unpack, copy->here, &copy->failure);
    hutch_fd_close(&copy->here);
    return NULL;
}

static int begin(struct copy *copy, bool packs, struct hutch_error *err)
{
    struct remote_client *client = NULL;
    int ends[2];
    if (remote_client(&client, err) < 0)
        return -(int)err->code;
    copy->daemon = remote_host_owner(&client->host);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    (void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
    copy->here = ends[packs ? 1 : 0];
    copy->there = ends[packs ? 0 : 1];
    int failed = pthread_create(&copy->thread, NULL, packs ? pack_half : unpack_half, copy);
    if (!failed)
        return 0;
    (void)close(ends[0]);
    (void)close(ends[1]);
    return hutch_fail_errno(err, failed, "start a thread");
}

/* A half that lost its pipe is not the cause: that is what the daemon said. */
static int finish(struct copy *copy, int talked, struct hutch_error *err)
{
    hutch_fd_close(&copy->there);
    (void)pthread_join(copy->thread, NULL);
    bool lost =
        copy->failure.what == TAR_STREAM || (copy->failure.what == TAR_TRUNCATED && talked < 0);
    if (copy->status < 0 && !lost)
        return fail_copy(&copy->failure, err);
    return talked;
}

/* ---- in -------------------------------------------------------------------------------------- */

static struct remote_call upload_call(const struct hutch_sandbox *sandbox, const char *target)
{
    return (struct remote_call)REMOTE_CALL(
        remote_path_add(remote_path("/api/sandboxes/{}/archive", sandbox->name), "path", target),
        .method = "PUT", .uploads = true, .content_type = ARCHIVE_TYPE);
}

static int do_packed(struct remote_call *call, struct copy *copy, json_t **ret_answer,
                     struct hutch_error *err)
{
    copy->pack.map_owner = owner_there;
    copy->pack.skipped = on_skipped;
    copy->pack.context = copy;
    if (begin(copy, true, err) < 0) {
        free(call->path);
        return -(int)err->code;
    }
    call->upload_fd = copy->there;
    return finish(copy, remote_do(call, ret_answer, err), err);
}

int remote_do_packed(struct remote_call *call, const char *directory, json_t **ret_answer,
                     struct hutch_error *err)
{
    struct copy copy = {0};
    hutch_autofd int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) {
        free(call->path);
        return hutch_fail_errno(err, errno, "open '%.200s'", directory);
    }
    copy.pack = (struct tar_pack_options){.dir = dir, .path = ".", .name = "."};
    return do_packed(call, &copy, ret_answer, err);
}

int remote_send_directory(struct hutch_sandbox *sandbox, const char *source, const char *target,
                          struct hutch_error *err)
{
    struct remote_call call = upload_call(sandbox, target);
    return remote_do_packed(&call, source, NULL, err);
}

/* Is that a directory inside, or does it lead to one? */
static int is_directory(struct hutch_sandbox *sandbox, const char *target, bool *ret_is,
                        struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    hutch_autofree char *path = NULL; /* a link is told as a link, what is behind it is not */
    if (asprintf(&path, "%s/.", target) < 0)
        return hutch_fail_nomem(err);
    struct remote_call call = REMOTE_CALL(remote_path_add(
        remote_path("/api/sandboxes/{}/files?stat=1", sandbox->name), "path", path));
    int failed = remote_do(&call, &answer, err);
    const char *type = remote_text(answer, "type");
    *ret_is = !failed && type && !strcmp(type, "directory");
    return failed == -HUTCH_E_NOT_FOUND || failed == -HUTCH_E_INVALID ? 0 : failed;
}

/* The last component, "." where there is none that names something. */
static void split(const char *path, char parent[4096], char name[256])
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t start = length;
    while (start && path[start - 1] != '/')
        start--;
    (void)snprintf(name, 256, "%.*s", (int)(length - start), path + start);
    while (start > 1 && path[start - 1] == '/')
        start--;
    (void)snprintf(parent, 4096, "%.*s", (int)start, path);
    if (!parent[0])
        (void)snprintf(parent, 4096, ".");
}

static bool names_nothing(const char *name)
{
    return !name[0] || !strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, "/");
}

/* Which directory takes it, and under which name. */
static int choose_target(struct hutch_sandbox *sandbox, const char *target, const char *source_name,
                         char directory[4096], char name[256], struct hutch_error *err)
{
    bool is_there = false;
    size_t length = strlen(target);
    if (length >= 4096)
        return hutch_fail_errno(err, ENAMETOOLONG, "copy to '%.200s'", target);
    if (is_directory(sandbox, target, &is_there, err) < 0)
        return -(int)err->code;
    split(target, directory, name);
    if (!is_there && !names_nothing(name) && target[length - 1] != '/')
        return 0;
    (void)snprintf(directory, 4096, "%s", target);
    (void)snprintf(name, 256, "%s", source_name);
    return 0;
}

int hutch_sandbox_copy_in(struct hutch_sandbox *sandbox, const char *source, const char *target,
                          hutch_skipped_fn skipped, void *userdata, struct hutch_error *err)
{
    struct copy copy = {.on_skipped = skipped, .userdata = userdata};
    char parent[4096], name[256], directory[4096], new_name[256];
    if (strlen(source) >= sizeof(parent))
        return hutch_fail_errno(err, ENAMETOOLONG, "copy '%.200s'", source);
    split(source, parent, name);
    bool whole = names_nothing(name);
    hutch_autofd int dir = open(whole ? source : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return hutch_fail_errno(err, errno, "open '%.200s'", whole ? source : parent);
    if (!whole && faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return hutch_fail_errno(err, errno, "copy '%.200s'", source);
    if (choose_target(sandbox, target, whole ? "copy" : name, directory, new_name, err) < 0)
        return -(int)err->code;
    copy.pack = (struct tar_pack_options){.dir = dir, .path = whole ? "." : name, .name = new_name};
    struct remote_call call = upload_call(sandbox, directory);
    return do_packed(&call, &copy, NULL, err);
}

int hutch_sandbox_unpack(struct hutch_sandbox *sandbox, int archive, const char *target,
                         hutch_skipped_fn skipped, void *userdata, struct hutch_error *err)
{
    (void)skipped, (void)userdata; /* what is left out there is not told */
    struct remote_call call = upload_call(sandbox, target);
    call.upload_fd = archive;
    return remote_do(&call, NULL, err);
}

/* ---- out ------------------------------------------------------------------------------------- */

static int download(struct hutch_sandbox *sandbox, const char *source, int fd,
                    struct hutch_error *err)
{
    struct remote_call call = REMOTE_CALL(
        remote_path_add(remote_path("/api/sandboxes/{}/archive", sandbox->name), "path", source),
        .accept = ARCHIVE_TYPE, .on_data = remote_write_on, .userdata = &fd);
    return remote_do(&call, NULL, err);
}

int hutch_sandbox_copy_out(struct hutch_sandbox *sandbox, const char *source, const char *target,
                           hutch_skipped_fn skipped, void *userdata, struct hutch_error *err)
{
    struct copy copy = {.on_skipped = skipped, .userdata = userdata};
    struct tar_destination destination;
    char parent[4096], name[256];
    split(source, parent, name);
    if (tar_destination_open(AT_FDCWD, target, names_nothing(name) ? "root" : name, &destination,
                             &copy.failure) < 0)
        return fail_copy(&copy.failure, err);
    hutch_autofd int dir = destination.fd;
    copy.unpack = (struct tar_unpack_options){.dir = dir,
                                              .rename_first = destination.name,
                                              .skipped = on_skipped,
                                              .context = &copy,
                                              .max_entries = MAX_ENTRIES};
    if (begin(&copy, false, err) < 0)
        return -(int)err->code;
    return finish(&copy, download(sandbox, source, copy.there, err), err);
}

int hutch_sandbox_pack(struct hutch_sandbox *sandbox, const char *source, int archive,
                       hutch_skipped_fn skipped, void *userdata, struct hutch_error *err)
{
    (void)skipped, (void)userdata; /* what is left out there is not told */
    return download(sandbox, source, archive, err);
}
