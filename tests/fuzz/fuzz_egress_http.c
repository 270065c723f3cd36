/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a client says, in whatever pieces: the same bytes go on, and every head that does has
 * one Host, which is the name, and one way to tell where it ends. */
#include "fuzz.h"

#include <strings.h>

#include "egress/http.h"

#define NAME "web.example"

static void check_head(const struct http_head *head)
{
    size_t hosts = 0, lengths = 0, encodings = 0;
    REQUIRE(head->request_line.at[head->request_line.length] == '\r', "no end of line");
    for (size_t i = 0; i < head->header_count; i++) {
        const struct http_header *header = &head->headers[i];
        hosts += http_span_is(&header->name, "Host");
        lengths += http_span_is(&header->name, "Content-Length");
        encodings += http_span_is(&header->name, "Transfer-Encoding");
        if (http_span_is(&header->name, "Host"))
            REQUIRE(header->value.length >= sizeof(NAME) - 1 &&
                        !strncasecmp(header->value.at, NAME, sizeof(NAME) - 1),
                    "another host");
        REQUIRE(!memchr(header->line.at, '\n', header->line.length) &&
                    !memchr(header->line.at, '\r', header->line.length),
                "a line in a line");
    }
    REQUIRE(hosts == 1 && lengths + encodings <= 1, "%zu %zu %zu", hosts, lengths, encodings);
    REQUIRE(!http_span_is(&head->method, "CONNECT"), "CONNECT");
}

/* Runs the filter over the data as it comes in pieces; what may go on is counted. */
static size_t run(const char *data, size_t size, size_t piece, bool *ret_stopped)
{
    struct http_filter filter;
    size_t at = 0, passed = 0, seen = 0;
    http_filter_init(&filter, NAME, 80);
    *ret_stopped = false;
    while (seen < size && !*ret_stopped) {
        seen = size - seen < piece ? size : seen + piece;
        for (bool goes_on = true; goes_on && at < seen;) {
            struct http_head head;
            size_t bytes;
            enum http_step step = http_filter_step(&filter, data + at, seen - at, &head, &bytes);
            REQUIRE(bytes <= seen - at, "%zu of %zu", bytes, seen - at);
            if (step == HTTP_PASS_HEAD)
                check_head(&head);
            *ret_stopped = step == HTTP_STOP;
            goes_on = step != HTTP_STOP && step != HTTP_WAIT;
            REQUIRE(!goes_on || bytes, "no way forward");
            passed += step == HTTP_DROP ? 0 : bytes;
            at += bytes;
        }
    }
    return passed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hutch_autofree char *text = fuzz_text(data, size);
    bool whole_stopped, pieces_stopped;
    size_t leading;
    if (size >= HTTP_MAX_HEAD)
        return 0; /* more than a buffer holds at a time */
    size_t whole = run(text, size, size ? size : 1, &whole_stopped);
    REQUIRE(run(text, size, 1, &pieces_stopped) == whole, "pieces go on otherwise");
    REQUIRE(whole_stopped == pieces_stopped, "pieces are refused otherwise");
    if (whole)
        REQUIRE(http_look_at(text, size, &leading) == HTTP_LOOKS_LIKE, "it does not look like it");
    (void)http_look_on(text, size);
    (void)http_answer_read(text, size);
    return 0;
}
