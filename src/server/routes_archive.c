/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of files, as tar archives that pass by unread: what is inside packs and unpacks them. */
#include <stdio.h>
#include <string.h>

#include "http/http.h"
#include "server/streams.h"

static int is_there(void *userdata, const struct hutch_file *file)
{
    (void)userdata, (void)file;
    return 0;
}

/* Entries that cannot be packed, such as sockets, are left out. */
void handle_archive_get(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    int fd = SERVER_NO_FD;
    if (file_check_path(call) < 0 || api_sandbox(call, &sandbox) < 0)
        return;
    if (hutch_sandbox_stat_file(sandbox, api_query(call, "path"), is_there, NULL, &err) < 0) {
        file_fail(call, &err);
        return;
    }
    if (api_stream(call, 200, "application/x-tar", HTTP_LENGTH_UNKNOWN, &fd) < 0)
        return;
    file_widen(fd);
    if (strcmp(http_method(api_exchange(call)), "HEAD") != 0 &&
        hutch_sandbox_pack(sandbox, api_query(call, "path"), fd, NULL, NULL, &err) < 0)
        api_cut(call);
}

static void count_skipped(void *userdata, const char *path, int os_errno)
{
    (void)path, (void)os_errno;
    ++*(uint64_t *)userdata;
}

void handle_archive_put(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    uint64_t skipped = 0;
    char number[24];
    if (file_check_path(call) < 0 || api_sandbox(call, &sandbox) < 0)
        return;
    if (api_body_fd(call) < 0) {
        api_problem(call, 400, "invalid", "there is no archive; send a tar as the body");
        return;
    }
    file_widen(api_body_fd(call));
    if (hutch_sandbox_unpack(sandbox, api_body_fd(call), api_query(call, "path"), count_skipped,
                             &skipped, &err) < 0) {
        file_fail(call, &err);
        return;
    }
    (void)snprintf(number, sizeof(number), "%llu", (unsigned long long)skipped);
    if (skipped)
        api_add_header(call, "X-Hutch-Skipped", number);
    api_reply(call, 204, NULL);
}
