/* SPDX-License-Identifier: Apache-2.0 */
#include "server/events_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/http.h"
#include "server/text.h"

/* One event: a client that reads lines need not keep more. */
#define PIECE_BYTES ((size_t)32 << 10)

static const struct {
    const char *name;
    const char *type;
} forms[] = {
    [EVENTS_NONE] = {"", "application/json"},
    [EVENTS_SSE] = {"sse", "text/event-stream"},
    [EVENTS_NDJSON] = {"ndjson", "application/x-ndjson"},
};

#define FORMS (sizeof(forms) / sizeof(forms[0]))

enum events_form events_form_of(const struct api_call *call)
{
    const char *asked = api_query(call, "stream");
    const char *accept = api_header(call, "accept");
    for (size_t i = 1; i < FORMS; i++)
        if (asked && !strcmp(asked, forms[i].name))
            return (enum events_form)i;
    for (size_t i = 1; i < FORMS; i++)
        if (accept && strstr(accept, forms[i].type))
            return (enum events_form)i;
    return EVENTS_NONE;
}

int events_begin(struct api_call *call, enum events_form form, struct events_out *ret_out)
{
    struct events_out out = {.call = call, .form = form, .fd = -1};
    api_add_header(call, "Cache-Control", "no-store");
    if (form == EVENTS_SSE)
        api_add_header(call, "X-Accel-Buffering", "no"); /* proxies would hold events back */
    int status = api_stream(call, 200, forms[form].type, HTTP_LENGTH_UNKNOWN, &out.fd);
    if (status == 0)
        *ret_out = out;
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_all(struct events_out *out, const char *data, size_t length)
{
    while (length && !out->is_gone) {
        ssize_t written = write(out->fd, data, length);
        if (written < 0 && errno == EINTR)
            continue;
        out->is_gone = written < 0;
        data += written < 0 ? 0 : written;
        length -= written < 0 ? 0 : (size_t)written;
    }
    return out->is_gone ? -1 : 0;
}

static int write_text(struct events_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int write_text(struct events_out *out, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        return -1;
    int status = write_all(out, text, (size_t)length);
    free(text);
    return status;
}

/* Begins an event whose data is one object that begins with a comma less. */
static int head_of_piece(const struct events_out *out, enum hutch_stream stream, char *head,
                         size_t size)
{
    const char *name = stream == HUTCH_STDERR ? "stderr" : "stdout";
    char lost[48] = "";
    if (out->lost_bytes)
        (void)snprintf(lost, sizeof(lost), "\"lost\":%" PRIu64 ",", out->lost_bytes);
    return out->form == EVENTS_SSE
               ? snprintf(head, size, "event: %s\nid: %" PRIu64 "\ndata: {%s\"data\":\"", name,
                          out->offset, lost)
               : snprintf(head, size, "{\"stream\":\"%s\",\"offset\":%" PRIu64 ",%s\"data\":\"",
                          name, out->offset, lost);
}

/* The bytes up to the offset. */
static int tell(struct events_out *out, enum hutch_stream stream, const char *data, size_t length,
                bool is_text)
{
    char head[160];
    /* text of control characters alone, such as zeros, would be six times as long */
    is_text = is_text && text_escape(NULL, data, length) <= 2 * length;
    const char *tail = is_text ? "\"}\n\n" : "\",\"encoding\":\"base64\"}\n\n";
    size_t tail_length = strlen(tail) - (out->form == EVENTS_NDJSON);
    size_t head_length = (size_t)head_of_piece(out, stream, head, sizeof(head));
    size_t (*encode)(char *, const char *, size_t) = is_text ? text_escape : text_base64;
    size_t body_length = encode(NULL, data, length);
    char *whole = malloc(head_length + body_length + tail_length + 1);
    if (!whole)
        return -1;
    memcpy(whole, head, head_length);
    (void)encode(whole + head_length, data, length);
    (void)snprintf(whole + head_length + body_length, tail_length + 1, "%s", tail);
    out->lost_bytes = 0;
    int status = write_all(out, whole, head_length + body_length + tail_length);
    free(whole);
    return status;
}

/* What waited for its rest goes as it is: something else comes first. */
static int flush(struct events_out *out)
{
    size_t length = out->waiting_length;
    if (!length && !out->lost_bytes)
        return 0;
    out->waiting_length = 0;
    out->offset += length;
    return tell(out, out->stream, out->waiting, length, !length);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Up to PIECE_BYTES, of which the beginning may have waited. */
static int tell_part(struct events_out *out, const char *data, size_t length)
{
    size_t whole = text_whole(data, length);
    bool is_text = whole != TEXT_NONE;
    size_t told = is_text ? whole : length;
    out->waiting_length = length - told;
    memcpy(out->waiting, data + told, length - told);
    out->offset += told;
    return told ? tell(out, out->stream, data, told, is_text) : 0;
}

int events_piece(struct events_out *out, const struct hutch_log_piece *piece)
{
    const char *data = piece->data;
    size_t left = piece->length;
    bool goes_on = out->stream == piece->stream && !piece->lost_bytes &&
                   out->offset + out->waiting_length == piece->offset;
    if (!goes_on && flush(out) < 0)
        return -1;
    out->stream = piece->stream;
    out->lost_bytes += piece->lost_bytes;
    out->offset = piece->offset - out->waiting_length;
    while (left) {
        char joined[PIECE_BYTES / 8 + sizeof(out->waiting)];
        size_t waited = out->waiting_length;
        size_t most = waited ? PIECE_BYTES / 8 : PIECE_BYTES;
        size_t part = left < most ? left : most;
        if (waited) {
            memcpy(joined, out->waiting, waited);
            memcpy(joined + waited, data, part);
        }
        if (tell_part(out, waited ? joined : data, waited + part) < 0)
            return -1;
        data += part;
        left -= part;
    }
    return out->is_gone ? -1 : 0;
}

int events_quiet(struct events_out *out)
{
    if (flush(out) < 0)
        return -1;
    return out->form == EVENTS_SSE ? write_all(out, ": \n\n", 4) : 0;
}

/* ---- other events ---------------------------------------------------------------------------- */

int events_object(struct events_out *out, const char *name, const char *id, const char *json)
{
    if (out->form == EVENTS_NDJSON)
        return write_text(out, "%s\n", json);
    return write_text(out, "event: %s\n%s%s%sdata: %s\n\n", name, id ? "id: " : "", id ? id : "",
                      id ? "\n" : "", json);
}

/* Under its name also in a line of JSON. */
static int last_event(struct events_out *out, const char *name, const char *json)
{
    if (!json || flush(out) < 0)
        return -1;
    return write_text(out, out->form == EVENTS_NDJSON ? "{\"%s\":%s}\n" : "event: %s\ndata: %s\n\n",
                      name, json);
}

/* A browser would come back for more. */
int events_end(struct events_out *out)
{
    if (flush(out) < 0)
        return -1;
    return out->form == EVENTS_SSE ? events_object(out, "end", NULL, "{}") : 0;
}

char *events_result_text(const struct hutch_result *result)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct hutch_result bare = *result;
    char *json = NULL;
    struct hutch_output *const outputs[] = {&bare.out, &bare.err, &bare.both};
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++)
        outputs[i]->length = outputs[i]->head_bytes = outputs[i]->dropped_bytes = 0;
    return hutch_result_to_json(&bare, &json, NULL, &ignored) < 0 ? NULL : json;
}

int events_result(struct events_out *out, const struct hutch_result *result)
{
    char *json = events_result_text(result);
    int status = last_event(out, "result", json);
    free(json);
    return status;
}

json_t *events_problem(const struct api_call *call, const struct hutch_error *err)
{
    char *detail = text_readable(err->msg, strlen(err->msg));
    json_t *problem =
        detail ? json_pack("{s:s,s:s,s:i,s:s,s:s,s:s}", "type", "about:blank", "title",
                           hutch_code_name(err->code), "status", hutch_code_http_status(err->code),
                           "detail", detail, "code", hutch_code_name(err->code), "instance",
                           http_request_id(api_exchange(call)))
               : NULL;
    free(detail);
    return problem;
}

int events_error(struct events_out *out, const struct hutch_error *err)
{
    json_t *problem = events_problem(out->call, err);
    char *json = problem ? json_dumps(problem, JSON_COMPACT) : NULL;
    int status = last_event(out, "error", json);
    free(json);
    json_decref(problem);
    return status;
}
