/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/http_edit.h"

#include <stdlib.h>
#include <string.h>

static char *put_line(char *at, struct http_span line)
{
    memcpy(at, line.at, line.length);
    at += line.length;
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

/* The head without what is dropped is never longer than it was. */
static bool write_head(const struct http_head *head, char **ret_text, size_t *ret_length)
{
    char *text = malloc(head->bytes);
    if (!text)
        return false;
    char *at = put_line(text, head->request_line);
    for (size_t i = 0; i < head->header_count; i++)
        if (!head->headers[i].is_dropped)
            at = put_line(at, head->headers[i].line);
    at = put_line(at, (struct http_span){"", 0});
    *ret_text = text;
    *ret_length = (size_t)(at - text);
    return true;
}

bool http_edit(const struct order *order, const char *name, uint16_t port, bool is_intercepted,
               struct http_head *head, char **ret_text, size_t *ret_length)
{
    (void)order;
    (void)name;
    (void)port;
    (void)is_intercepted;
    *ret_text = NULL;
    return !head->is_edited || write_head(head, ret_text, ret_length);
}
