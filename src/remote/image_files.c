/* SPDX-License-Identifier: Apache-2.0 */
/* Images of the daemon's machine that come from files of this one, and go into them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hutch/image.h"
#include "remote/client.h"
#include "remote/files.h"
#include "remote/lines.h"
#include "util/own.h"

/* A file, or "-" for standard input, or a directory, which is packed on the way. */
static int send_file(const char *path, struct remote_call *call, json_t **ret_answer,
                     struct hutch_error *err)
{
    struct stat info;
    bool is_stdin = !strcmp(path, "-");
    call->method = "POST";
    call->uploads = true;
    call->upload_fd = STDIN_FILENO;
    call->content_type = "application/x-tar";
    if (!is_stdin && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return remote_do_packed(call, path, ret_answer, err);
    hutch_autofd int fd = is_stdin ? HUTCH_NO_FD : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && !is_stdin) {
        free(call->path);
        return hutch_fail_errno(err, errno, "open '%.200s'", path);
    }
    if (!is_stdin)
        call->upload_fd = fd;
    return remote_do(call, ret_answer, err);
}

int hutch_image_import(const char *path, const char *reference,
                       const struct hutch_image_options *options, struct hutch_error *err)
{
    char *target = remote_path_add(remote_path("/api/images/import"), "reference", reference);
    struct remote_call call = REMOTE_CALL(remote_path_add(target, "platform", options->platform));
    return send_file(path, &call, NULL, err);
}

int hutch_image_load(const char *path, const char *name, hutch_image_fn on_image, void *userdata,
                     const struct hutch_image_options *options, struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    char *target = remote_path_add(remote_path("/api/images/load"), "name", name);
    struct remote_call call = REMOTE_CALL(remote_path_add(target, "platform", options->platform));
    size_t index;
    const json_t *row;
    if (send_file(path, &call, &answer, err) < 0)
        return -(int)err->code;
    json_array_foreach(json_object_get(answer, "references"), index, row)
    {
        const char *text = json_string_value(row);
        const struct hutch_image_info info = {
            .reference = text, .name = text, .digest = "sha256:", .platform = ""};
        if (text && on_image && on_image(userdata, &info) != 0)
            break;
    }
    return 0;
}

/* ---- built there ----------------------------------------------------------------------------- */

static int no_piece(void *userdata, const struct remote_piece *piece, struct hutch_error *err)
{
    (void)userdata, (void)piece, (void)err;
    return 0;
}

/* A line of its log. */
static int on_row(void *userdata, const json_t *row, struct hutch_error *err)
{
    const struct hutch_image_options *options = userdata;
    const char *line = remote_text(row, "log");
    const struct hutch_image_progress progress = {.action = "build", .item = line};
    (void)err;
    if (line && options->on_progress)
        options->on_progress(options->userdata, &progress);
    return 0;
}

int hutch_image_build(const struct hutch_image_build *build,
                      const struct hutch_image_options *options, struct hutch_error *err)
{
    struct hutch_image_options seen = *options;
    struct remote_lines lines = REMOTE_LINES(no_piece, &seen);
    if (build->build_args && *build->build_args)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "'--build-arg' has no remote form; give the ARG a default in the "
                          "Dockerfile");
    char *target = remote_path_add(remote_path("/api/images/build"), "reference", build->reference);
    target = remote_path_add(target, "dockerfile", build->dockerfile);
    target = remote_path_add(target, "no_cache", build->no_cache ? "1" : NULL);
    target = remote_path_add(target, "backend", build->backend);
    struct remote_call call = REMOTE_CALL(remote_path_add(target, "platform", options->platform),
                                          .accept = "application/x-ndjson",
                                          .on_data = remote_lines_feed, .userdata = &lines);
    lines.on_row = on_row;
    int failed = send_file(build->directory, &call, NULL, err);
    if (!failed && !lines.result)
        failed = remote_fail_strange(err, "a build without an end");
    remote_lines_done(&lines);
    return failed;
}

/* ---- into files ------------------------------------------------------------------------------ */

static int fetch_file(char *source, int out_fd, struct hutch_error *err)
{
    struct remote_call call = REMOTE_CALL(source, .accept = "application/x-tar",
                                          .on_data = remote_write_on, .userdata = &out_fd);
    return remote_do(&call, NULL, err);
}

int hutch_image_export(const char *reference, int out_fd, struct hutch_error *err)
{
    return fetch_file(remote_path_add(remote_path("/api/images/export"), "reference", reference),
                      out_fd, err);
}

int hutch_image_save(size_t count, const char *const *references, enum hutch_image_format format,
                     int out_fd, struct hutch_error *err)
{
    if (count != 1)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "a daemon saves one image at a time; save the others into archives of "
                          "their own");
    char *path = remote_path_add(remote_path("/api/images/save"), "reference", references[0]);
    return fetch_file(
        remote_path_add(path, "format", format == HUTCH_IMAGE_DOCKER ? "docker" : NULL), out_fd,
        err);
}
