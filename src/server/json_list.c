/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json_list.h"

#include <fcntl.h>

#include "http/http.h"
#include "server/util.h"

int json_list_begin(struct json_list *list)
{
    int fd = SERVER_NO_FD;
    if (api_stream(list->call, 200, "application/json", HTTP_LENGTH_UNKNOWN, &fd) < 0)
        return 1;
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* the other one is closed with the call */
    list->out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!list->out) {
        server_closep(&fd);
        api_cut(list->call);
        return 1;
    }
    (void)fprintf(list->out, "{\"%s\":[", list->key);
    return 0;
}

int json_list_add(struct json_list *list, json_t *item)
{
    int status = item && (list->out || json_list_begin(list) == 0) ? 0 : -1;
    if (status == 0 && list->count++)
        (void)fputc(',', list->out);
    if (status == 0)
        status = json_dumpf(item, list->out, JSON_COMPACT);
    json_decref(item);
    return status < 0 || ferror(list->out) ? 1 : 0;
}

void json_list_end(struct json_list *list, int status, const struct hutch_error *err,
                   void (*fail)(struct api_call *call, const struct hutch_error *err))
{
    if (status < 0 && !list->out) {
        fail(list->call, err);
        return;
    }
    if (status == 0 && (list->out || json_list_begin(list) == 0))
        (void)fputs("]}", list->out);
    if (status != 0)
        api_cut(list->call);
    if (list->out)
        (void)fclose(list->out);
}
