/* SPDX-License-Identifier: Apache-2.0 */
#include "server/problem.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "http/http.h"
#include "server/util.h"

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
                                http_status_text(status), "status", status, "detail", own, "code",
                                code, "instance", request_id);
    char *text = problem ? json_dumps(problem, JSON_COMPACT) : NULL;
    json_decref(problem);
    return text;
}
