/* SPDX-License-Identifier: Apache-2.0 */
/* Copying between a sandbox and its host: hutch-copy does one half inside, this the other, and an
 * archive goes through a pipe between them. What comes from inside is believed in nothing: it is
 * unpacked under the one name that was asked for, links stay links, special bits go. */
#include "backend/native/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/native/copy_half.h"
#include "backend/native/identity.h"
#include "backend/native/sandbox.h"
#include "copy/report.h"
#include "core/spec.h"
#include "tar/tar.h"
#include "util/fs.h"
#include "util/own.h"

#define PIPE_BYTES (1 << 20)
#define MAX_ENTRIES (UINT64_C(20) << 20)

/* ---- owners ---------------------------------------------------------------------------------- */

/* The caller's files are the sandbox's user's inside, and the other way round; who else owns one
 * keeps the number where that can be. */
static void owner_inside(void *context, uid_t *uid, gid_t *gid)
{
    const struct copy *copy = context;
    bool keeps = *uid != geteuid() && *uid < 65536 && *gid < 65536;
    *uid = keeps ? *uid : copy->inside_uid;
    *gid = keeps ? *gid : copy->inside_gid;
}

static void owner_outside(void *context, uid_t *uid, gid_t *gid)
{
    const struct copy *copy = context;
    bool keeps =
        geteuid() == 0 && *uid != copy->inside_uid && *uid != 0 && *uid < 65536 && *gid < 65536;
    *uid = keeps ? *uid : geteuid();
    *gid = keeps ? *gid : getegid();
}

/* Where the image is its engine's, the keeper alone has heard who that is. */
static int ask_user(struct copy *copy, struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    wire_begin(&request, "user");
    int status = sandbox_ask(copy->sandbox, &request, &answer, err);
    hutch_buf_done(&request.text);
    if (status < 0)
        return status;
    copy->inside_uid = (uid_t)wire_number(&answer, "uid", 0);
    copy->inside_gid = (gid_t)wire_number(&answer, "gid", 0);
    wire_done(&answer);
    return 0;
}

int copy_learn_user(struct copy *copy, struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    struct identity identity = {0};
    if (sandbox_spec(copy->sandbox, &spec, err) < 0)
        return -(int)err->code;
    if (hutch_backend_has_own_images(spec)) {
        hutch_spec_free(spec);
        return ask_user(copy, err);
    }
    struct image_use image = IMAGE_USE_INIT;
    int status = spec->image ? image_use_open(&image, spec, err) : 0;
    const struct image_use *used = spec->image ? &image : NULL;
    if (status == 0)
        status = identity_resolve(&identity, spec, used, identity_asked(spec, used), err);
    image_use_done(&image);
    hutch_spec_free(spec);
    copy->inside_uid = identity.uid;
    copy->inside_gid = identity.gid;
    return status;
}

void copy_write_map(struct copy *copy)
{
    (void)snprintf(copy->map, sizeof(copy->map), "%u:%u:%u:%u", copy->inside_uid, copy->inside_gid,
                   geteuid(), getegid());
}

/* ---- the half inside ------------------------------------------------------------------------- */

bool copy_mode_sends(const char *mode)
{
    static const char *const modes[] = {"pack", "stat", "list", "read"};
    for (size_t i = 0; i < HUTCH_COUNT(modes); i++)
        if (!strcmp(mode, modes[i]))
            return true;
    return false;
}

/* Starts it. data is its end of the archive's pipe. */
static int begin(struct copy *copy, const char *mode, const char *path, const char *name, int data,
                 struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    copy->report = ends[0];
    wire_begin(&request, "copy");
    wire_add(&request, "mode", mode);
    wire_add(&request, "path", path);
    wire_add(&request, "name", name);
    wire_add(&request, "map", copy->map[0] ? copy->map : NULL);
    wire_add_fd(&request, data);
    wire_add_fd(&request, ends[1]);
    int status = sandbox_ask(copy->sandbox, &request, &answer, err);
    (void)close(ends[1]);
    hutch_buf_done(&request.text);
    if (status == 0)
        wire_done(&answer);
    return status;
}

int copy_begin_piped(struct copy *copy, const char *mode, const char *path, const char *name,
                     struct hutch_error *err)
{
    int ends[2];
    bool sends = copy_mode_sends(mode);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    (void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
    copy->data = ends[sends ? 0 : 1];
    int theirs = ends[sends ? 1 : 0];
    int status = begin(copy, mode, path, name, theirs, err);
    (void)close(theirs);
    return status;
}

/* A record from inside: a number out of range or a text without an end is none. */
static bool is_sound(struct copy_report *record)
{
    record->failure.path[sizeof(record->failure.path) - 1] = '\0';
    for (char *at = record->failure.path; *at; at++)
        if ((unsigned char)*at < 32 || *at == 127)
            *at = '?';
    return (unsigned)record->failure.what <= TAR_NO_FILE && record->failure.os_errno >= 0 &&
           record->failure.os_errno < 4096;
}

static enum hutch_code code_of(const struct tar_failure *failure)
{
    static const struct {
        int os_errno;
        enum hutch_code code;
    } rows[] = {
        {0, HUTCH_E_INVALID},          {ENOENT, HUTCH_E_NOT_FOUND}, {EACCES, HUTCH_E_PERMISSION},
        {EPERM, HUTCH_E_PERMISSION},   {EROFS, HUTCH_E_PERMISSION}, {ENOTDIR, HUTCH_E_INVALID},
        {EISDIR, HUTCH_E_INVALID},     {ELOOP, HUTCH_E_INVALID},    {ENAMETOOLONG, HUTCH_E_INVALID},
        {ENOTEMPTY, HUTCH_E_CONFLICT}, {EBUSY, HUTCH_E_CONFLICT},   {ENXIO, HUTCH_E_INVALID},
        {EINVAL, HUTCH_E_INVALID},
    };
    for (size_t i = 0; i < HUTCH_COUNT(rows) && failure->what != TAR_MEMORY; i++)
        if (failure->os_errno == rows[i].os_errno)
            return rows[i].code;
    return failure->what == TAR_MEMORY ? HUTCH_E_NO_MEMORY : HUTCH_E_SYSTEM;
}

static int fail_copy(const struct tar_failure *failure, const char *where, struct hutch_error *err)
{
    enum hutch_code code = code_of(failure);
    if (failure->os_errno == EROFS && where[0])
        return hutch_fail(err, code, failure->os_errno,
                          "copy: cannot write '%.200s' inside: that place is read-only there; copy "
                          "to /tmp, /home/user or /workspace",
                          failure->path);
    return hutch_fail(err, code, failure->os_errno, "copy: %s%s%.200s%s%s%s%s",
                      tar_failure_text(failure->what), failure->path[0] ? " '" : "", failure->path,
                      failure->path[0] ? "'" : "", failure->path[0] ? where : "",
                      failure->os_errno ? ": " : "",
                      failure->os_errno ? strerror(failure->os_errno) : "");
}

/* What it has reported: it has ended, and all of that is in the pipe. Returns 0, or its failure. */
static int hear_reports(struct copy *copy, struct hutch_error *err)
{
    struct copy_report record;
    int status = 0;
    ssize_t got;
    while ((got = read(copy->report, &record, sizeof(record))) > 0 || (got < 0 && errno == EINTR)) {
        if (got != (ssize_t)sizeof(record) || !is_sound(&record))
            continue;
        if (!record.skipped)
            status = fail_copy(&record.failure, " inside", err);
        else if (copy->on_skipped)
            copy->on_skipped(copy->userdata, record.failure.path, record.failure.os_errno);
    }
    return status;
}

static int fail_ended(const struct copy *copy, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_SYSTEM, 0, "copy: the half inside sandbox '%s' was ended",
                      copy->sandbox->home.name);
}

/* Both halves are over. The one that failed first is the cause: the other only lost its pipe. */
int copy_finish(struct copy *copy, int ours, const struct tar_failure *failure,
                struct hutch_error *err)
{
    struct hutch_error inside = HUTCH_ERROR_INIT;
    struct wire_message end;
    hutch_fd_close(&copy->data);
    int status = wire_receive(copy->sandbox->socket, &end, err);
    bool well = status == 0 && wire_number(&end, "exit_code", 1) == 0;
    if (status == 0)
        wire_done(&end);
    int theirs = hear_reports(copy, &inside);
    hutch_fd_close(&copy->report);
    if (ours < 0 && failure->what != TAR_STREAM && failure->what != TAR_TRUNCATED)
        return fail_copy(failure, "", err);
    if (theirs < 0) {
        *err = inside;
        return theirs;
    }
    if (status < 0 || !well)
        return fail_ended(copy, err);
    return ours < 0 ? fail_copy(failure, "", err) : 0;
}

/* Nothing has begun: leave nothing open. */
int copy_give_up(struct copy *copy, struct hutch_error *err)
{
    hutch_fd_close(&copy->data);
    hutch_fd_close(&copy->report);
    return -(int)err->code;
}

static void on_skipped_here(void *context, const char *path, mode_t type, int os_errno)
{
    const struct copy *copy = context;
    (void)type;
    if (copy->on_skipped)
        copy->on_skipped(copy->userdata, path, os_errno);
}

/* ---- the four ways --------------------------------------------------------------------------- */

/* "dir/name" into a directory and a name; the way to the last component is followed. */
static int open_parent(const char *path, char *name, size_t size, struct hutch_error *err)
{
    char parent[4096];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (!length || length >= sizeof(parent))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.100s' is not a path that can be copied",
                          path);
    memcpy(parent, path, length);
    parent[length] = '\0';
    char *slash = strrchr(parent, '/');
    if ((size_t)snprintf(name, size, "%s", slash ? slash + 1 : parent) >= size)
        return hutch_fail_errno(err, ENAMETOOLONG, "copy '%.200s'", path);
    if (slash)
        slash[slash == parent ? 1 : 0] = '\0';
    int fd = open(slash ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "open '%.200s'", slash ? parent : ".");
    return fd;
}

int copy_in(struct hutch_sandbox *sandbox, const char *source, const char *target,
            hutch_skipped_fn on_skipped, void *userdata, struct hutch_error *err)
{
    struct copy copy = COPY_INIT(sandbox, on_skipped, userdata);
    struct tar_failure failure = {0};
    char name[256] = "";
    hutch_autofd int parent = open_parent(source, name, sizeof(name), err);
    if (parent < 0)
        return parent;
    bool whole = !name[0] || !strcmp(name, ".") || !strcmp(name, "..");
    if (faccessat(parent, whole ? "." : name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return hutch_fail_errno(err, errno, "copy '%.200s'", source);
    if (copy_learn_user(&copy, err) < 0 ||
        copy_begin_piped(&copy, "unpack", target, whole ? "copy" : name, err) < 0)
        return copy_give_up(&copy, err);
    struct tar_pack_options options = {.dir = parent,
                                       .path = name[0] ? name : ".",
                                       .name = whole ? "copy" : NULL,
                                       .map_owner = owner_inside,
                                       .skipped = on_skipped_here,
                                       .context = &copy};
    int ours = tar_pack(&options, copy.data, &failure);
    return copy_finish(&copy, ours, &failure, err);
}

static const char *last_component(const char *path, char *name, size_t size)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t start = length;
    while (start && path[start - 1] != '/')
        start--;
    (void)snprintf(name, size, "%.*s", (int)(length - start), path + start);
    if (!name[0] || !strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, "/"))
        (void)snprintf(name, size, "root");
    return name;
}

int copy_out(struct hutch_sandbox *sandbox, const char *source, const char *target,
             hutch_skipped_fn on_skipped, void *userdata, struct hutch_error *err)
{
    struct copy copy = COPY_INIT(sandbox, on_skipped, userdata);
    struct tar_failure failure = {0};
    struct tar_destination destination;
    char name[256];
    if (tar_destination_open(AT_FDCWD, target, last_component(source, name, sizeof(name)),
                             &destination, &failure) < 0)
        return fail_copy(&failure, "", err);
    hutch_autofd int dir = destination.fd;
    if (copy_learn_user(&copy, err) < 0 || copy_begin_piped(&copy, "pack", source, NULL, err) < 0)
        return copy_give_up(&copy, err);
    struct tar_unpack_options options = {.dir = dir,
                                         .rename_first = destination.name,
                                         .map_owner = geteuid() == 0 ? owner_outside : NULL,
                                         .skipped = on_skipped_here,
                                         .context = &copy,
                                         .max_entries = MAX_ENTRIES};
    int ours = tar_unpack(&options, copy.data, &failure);
    return copy_finish(&copy, ours, &failure, err);
}

static int fail_archive(enum tar_what what, struct tar_failure *failure)
{
    *failure = (struct tar_failure){.what = what, .os_errno = errno, .path = "the archive"};
    return -1;
}

bool copy_await(int from, int to)
{
    struct pollfd ends[] = {{.fd = from, .events = POLLIN}, {.fd = to}};
    while (poll(ends, HUTCH_COUNT(ends), -1) < 0 && errno == EINTR)
        ;
    return !(ends[1].revents & POLLERR);
}

/* The caller's own descriptor stays here: inside it would be a file of the host's, for whoever gets
 * hold of it. */
static int pass_on(int from, int to, bool into_pipe, struct tar_failure *failure)
{
    hutch_autofree char *chunk = malloc(PIPE_BYTES / 4);
    ssize_t got = 0;
    if (!chunk)
        return fail_archive(TAR_MEMORY, failure);
    while ((!into_pipe || copy_await(from, to)) &&
           ((got = read(from, chunk, PIPE_BYTES / 4)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0 && hutch_write_all(to, chunk, (size_t)got) < 0)
            /* a reader inside that has gone tells why, or has enough */
            return into_pipe && errno == EPIPE ? 0 : fail_archive(TAR_TARGET, failure);
    return got < 0 && !into_pipe ? fail_archive(TAR_STREAM, failure)
           : got < 0             ? fail_archive(TAR_SOURCE, failure)
                                 : 0;
}

static int copy_archive(struct hutch_sandbox *sandbox, const char *mode, const char *path,
                        int archive, hutch_skipped_fn on_skipped, void *userdata,
                        struct hutch_error *err)
{
    struct copy copy = COPY_INIT(sandbox, on_skipped, userdata);
    struct tar_failure failure = {0};
    bool packs = !strcmp(mode, "pack");
    if (copy_learn_user(&copy, err) < 0)
        return -(int)err->code;
    copy_write_map(&copy);
    if (copy_begin_piped(&copy, mode, path, NULL, err) < 0)
        return copy_give_up(&copy, err);
    int ours = packs ? pass_on(copy.data, archive, false, &failure)
                     : pass_on(archive, copy.data, true, &failure);
    return copy_finish(&copy, ours, &failure, err);
}

int copy_archive_in(struct hutch_sandbox *sandbox, int archive, const char *target,
                    hutch_skipped_fn on_skipped, void *userdata, struct hutch_error *err)
{
    return copy_archive(sandbox, "untar", target, archive, on_skipped, userdata, err);
}

int copy_archive_out(struct hutch_sandbox *sandbox, const char *source, int archive,
                     hutch_skipped_fn on_skipped, void *userdata, struct hutch_error *err)
{
    return copy_archive(sandbox, "pack", source, archive, on_skipped, userdata, err);
}
