/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of what happens, as server-sent events or as a JSON object a line: one writer for both,
 * so that they say the same.
 *
 * Output is told in pieces, each with the offset after it: whoever comes back with the last offset
 * it has seen misses nothing and gets nothing twice. So an offset is only told when every byte
 * before it has been: a character of UTF-8 that is cut by the end of a piece waits for its rest
 * when that comes next, and otherwise goes out as base64, like all bytes that are no text.
 *
 * A writer belongs to one thread at a time. A client who is gone makes every call return -1. */
#ifndef HUTCH_SERVER_EVENTS_OUT_H
#define HUTCH_SERVER_EVENTS_OUT_H

#include "server/api.h"

/* After so long without a word one is said, so that nothing on the way takes the stream for dead.
 */
#define EVENTS_QUIET_MS 15000

enum events_form {
    EVENTS_NONE, /* one answer at the end */
    EVENTS_SSE,
    EVENTS_NDJSON,
};

/* What the client asked for: ?stream=sse|ndjson where the route has it, else by its Accept. */
enum events_form events_form_of(const struct api_call *call);

struct events_out {
    struct api_call *call;
    enum events_form form;
    int fd;
    bool is_gone;
    enum hutch_stream stream; /* whose character is not whole yet */
    uint64_t offset;          /* after what was told */
    uint64_t lost_bytes;      /* before the next piece */
    char waiting[4];
    size_t waiting_length;
};

/* Begins the answer, with status 200. Fails the call itself. */
HUTCH_MUST_CHECK int events_begin(struct api_call *call, enum events_form form,
                                  struct events_out *ret_out);

/* offset: of the first byte. lost_bytes: that are missing before it. */
int events_piece(struct events_out *out, const struct hutch_log_piece *piece);
/* Nothing has happened for a while. */
int events_quiet(struct events_out *out);
/* Any other event. name: of an SSE event. id: where to go on; NULL: nowhere. json: one line, which
 * is all of the line in NDJSON. */
int events_object(struct events_out *out, const char *name, const char *id, const char *json);
/* The last one: how the command ended, without its output, or why that is not known. */
int events_result(struct events_out *out, const struct hutch_result *result);
int events_error(struct events_out *out, const struct hutch_error *err);

/* That was all, of something that has no result: an SSE event "end". */
int events_end(struct events_out *out);

/* The problem document of an error within a stream. NULL when there is no memory. */
json_t *events_problem(const struct api_call *call, const struct hutch_error *err);
/* The result as JSON in which output that the stream has told is empty. Free it with free(). */
char *events_result_text(const struct hutch_result *result);

#endif
