/* SPDX-License-Identifier: Apache-2.0 */
#include "server/problem.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "server/util.h"

static const struct {
    int status;
    const char *title;
} titles[] = {
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
};

const char *problem_title(int status)
{
    for (size_t i = 0; i < SERVER_COUNT(titles); i++)
        if (titles[i].status == status)
            return titles[i].title;
    return status < 500 ? "Request Failed" : "Server Error";
}

/* A sentence may quote what was asked for, cut in the middle of a letter. */
static void mend(char *text)
{
    size_t length = strlen(text);
    for (size_t at = 0; at < length && !server_is_utf8(text, length); at++)
        if ((text[at] & 0x80) && !server_is_utf8(text, at + 1) &&
            !server_is_utf8(text, at + 2 < length ? at + 2 : length) &&
            !server_is_utf8(text, at + 3 < length ? at + 3 : length) &&
            !server_is_utf8(text, at + 4 < length ? at + 4 : length))
            text[at] = '?';
}

char *problem_text(int status, const char *code, const char *detail, const char *request_id)
{
    char own[1024];
    (void)snprintf(own, sizeof(own), "%s", detail);
    mend(own);
    json_t *problem = json_pack("{s:s,s:s,s:i,s:s,s:s,s:s}", "type", "about:blank", "title",
                                problem_title(status), "status", status, "detail", own, "code",
                                code, "instance", request_id);
    char *text = problem ? json_dumps(problem, JSON_COMPACT) : NULL;
    json_decref(problem);
    return text;
}
