/* SPDX-License-Identifier: Apache-2.0 */
/* Single files of a sandbox, of any length: bytes pass through a pipe on each side. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "http/http.h"
#include "server/json_list.h"
#include "server/streams.h"
#include "server/text.h"

#define USUAL_MODE 0644
#define PIPE_BYTES (1 << 20)
#define TYPE "application/octet-stream"

void file_widen(int pipe)
{
    (void)fcntl(pipe, F_SETPIPE_SZ, PIPE_BYTES);
}

void file_fail(struct api_call *call, const struct hutch_error *err)
{
    if (err->os_errno == ENOSPC || err->os_errno == EDQUOT)
        api_problem(call, 507, "no_space", "%s; limits.disk is how much it may have", err->msg);
    else
        api_fail(call, err);
}

int file_check_path(struct api_call *call)
{
    const char *path = api_query(call, "path");
    if (*path == '/')
        return 0;
    api_problem(call, 400, "invalid", "path: write all of it, from '/' on");
    return -1;
}

/* ---- what a file is -------------------------------------------------------------------------- */

static json_t *file_json(const struct hutch_file *file)
{
    char mode[8], modified[40];
    time_t seconds = (time_t)(file->modified_us / 1000000);
    struct tm parts;
    server_autofree char *readable = text_readable(file->name, strlen(file->name));
    server_autofree char *target =
        file->target ? text_readable(file->target, strlen(file->target)) : NULL;
    (void)snprintf(mode, sizeof(mode), "%03o", file->mode & 0777);
    if (!readable || !gmtime_r(&seconds, &parts) ||
        !strftime(modified, sizeof(modified), "%Y-%m-%dT%H:%M:%SZ", &parts))
        return NULL;
    return json_pack("{s:s,s:s,s:I,s:s,s:I,s:I,s:s,s:s*}", "name", readable, "type", file->type,
                     "size", (json_int_t)file->size, "mode", mode, "uid", (json_int_t)file->uid,
                     "gid", (json_int_t)file->gid, "modified", modified, "target", target);
}

static int keep_file(void *userdata, const struct hutch_file *file)
{
    *(json_t **)userdata = file_json(file);
    return 0;
}

static void reply_stat(struct api_call *call, struct hutch_sandbox *sandbox, int status)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    json_t *file = NULL;
    if (hutch_sandbox_stat_file(sandbox, api_query(call, "path"), keep_file, &file, &err) < 0)
        file_fail(call, &err);
    else if (!file)
        api_problem(call, 503, "no_memory", "out of memory");
    else
        api_reply(call, status, file);
}

/* ---- what a directory holds ------------------------------------------------------------------ */

/* The directory itself comes first, and begins the answer. */
static int list_file(void *userdata, const struct hutch_file *file)
{
    struct json_list *list = userdata;
    return list->out ? json_list_add(list, file_json(file)) : json_list_begin(list);
}

static void reply_list(struct api_call *call, struct hutch_sandbox *sandbox)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct json_list list = {.call = call, .key = "entries"};
    int status = hutch_sandbox_list_files(sandbox, api_query(call, "path"), list_file, &list, &err);
    json_list_end(&list, status, &err, file_fail);
}

/* ---- its bytes ------------------------------------------------------------------------------- */

struct download {
    struct api_call *call;
    bool is_range;
    bool is_head;
    bool has_begun;
    int fd;
};

static void add_headers(const struct download *download, const struct hutch_file *file)
{
    char range[80], modified[64];
    time_t seconds = (time_t)(file->modified_us / 1000000);
    struct tm parts;
    if (download->is_range) {
        (void)snprintf(range, sizeof(range), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, file->start,
                       file->start + file->length - 1, file->size);
        api_add_header(download->call, "Content-Range", range);
    }
    api_add_header(download->call, "Accept-Ranges", "bytes");
    if (gmtime_r(&seconds, &parts) &&
        strftime(modified, sizeof(modified), "%a, %d %b %Y %H:%M:%S GMT", &parts))
        api_add_header(download->call, "Last-Modified", modified);
}

static int begin_download(void *userdata, const struct hutch_file *file)
{
    struct download *download = userdata;
    download->has_begun = true;
    if (file->start == UINT64_MAX) {
        char range[48];
        (void)snprintf(range, sizeof(range), "bytes */%" PRIu64, file->size);
        api_add_header(download->call, "Content-Range", range);
        api_problem(download->call, 416, "invalid", "the file has %" PRIu64 " bytes", file->size);
        return 1;
    }
    add_headers(download, file);
    if (api_stream(download->call, download->is_range ? 206 : 200, TYPE, file->length,
                   &download->fd) < 0)
        return 1;
    file_widen(download->fd);
    return download->is_head ? 1 : 0;
}

static int pass_bytes(void *userdata, const char *data, size_t length)
{
    const struct download *download = userdata;
    return server_write_all(download->fd, data, length) < 0 ? 1 : 0;
}

/* One range of bytes as it stands there. Anything else asks for all of it, as RFC 9110 allows. */
static const char *range_of(const struct api_call *call)
{
    const char *range = api_header(call, "range");
    if (!range || strncmp(range, "bytes=", 6) != 0 || api_header(call, "if-range"))
        return NULL;
    range += 6;
    size_t digits = strspn(range, "0123456789");
    size_t rest = range[digits] == '-' ? strspn(range + digits + 1, "0123456789") : 0;
    bool is_one = range[digits] == '-' && !range[digits + 1 + rest] && digits + rest > 0;
    uint64_t first = 0, last = UINT64_MAX;
    if (is_one && digits)
        (void)sscanf(range, "%" SCNu64 "-%" SCNu64, &first, &last);
    return is_one && digits <= 18 && rest <= 18 && first <= last ? range : NULL;
}

static void reply_bytes(struct api_call *call, struct hutch_sandbox *sandbox)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    const char *range = range_of(call);
    struct download download = {.call = call,
                                .is_range = range != NULL,
                                .is_head = !strcmp(http_method(api_exchange(call)), "HEAD"),
                                .fd = SERVER_NO_FD};
    int status = hutch_sandbox_read_file(sandbox, api_query(call, "path"), range, begin_download,
                                         pass_bytes, &download, &err);
    if (status < 0 && !download.has_begun)
        file_fail(call, &err);
    else if (status < 0)
        api_cut(call);
}

void handle_file_get(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    if (file_check_path(call) < 0 || api_sandbox(call, &sandbox) < 0)
        return;
    if (api_query_flag(call, "list"))
        reply_list(call, sandbox);
    else if (api_query_flag(call, "stat"))
        reply_stat(call, sandbox, 200);
    else
        reply_bytes(call, sandbox);
}

/* ---- changing -------------------------------------------------------------------------------- */

static int read_mode(struct api_call *call, uint32_t *ret_mode)
{
    const char *text = api_query(call, "mode");
    *ret_mode = USUAL_MODE;
    if (!text)
        return 0;
    size_t length = strlen(text);
    *ret_mode = (uint32_t)strtoul(text, NULL, 8);
    if (length && length <= 4 && strspn(text, "01234567") == length && *ret_mode <= 0777)
        return 0;
    api_problem(call, 400, "invalid", "mode: write three octal digits such as 644");
    return -1;
}

static bool is_whole(void *userdata)
{
    return api_body_fd(userdata) < 0 || api_body_is_whole(userdata);
}

void handle_file_put(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    server_autofd int nothing = SERVER_NO_FD;
    struct hutch_error err = HUTCH_ERROR_INIT;
    uint32_t mode = 0;
    int fd = api_body_fd(call);
    if (file_check_path(call) < 0 || read_mode(call, &mode) < 0 || api_sandbox(call, &sandbox) < 0)
        return;
    if (fd >= 0)
        file_widen(fd);
    if (fd < 0) {
        nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        fd = nothing;
    }
    if (hutch_sandbox_write_file(sandbox, api_query(call, "path"), mode, fd, is_whole, call, &err) <
        0)
        file_fail(call, &err);
    else
        reply_stat(call, sandbox, 201);
}

void handle_file_delete(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (file_check_path(call) < 0 || api_sandbox(call, &sandbox) < 0)
        return;
    if (hutch_sandbox_remove_file(sandbox, api_query(call, "path"),
                                  api_query_flag(call, "recursive"), &err) < 0)
        file_fail(call, &err);
    else
        api_reply(call, 204, NULL);
}
