/* SPDX-License-Identifier: Apache-2.0 */
#include "core/result.h"

#include <stdlib.h>

#include "core/egress_report.h"
#include "util/json_out.h"
#include "util/own.h"

static const char *const reason_names[HUTCH_REASON_COUNT] = {
    [HUTCH_REASON_EXITED] = "exited",
    [HUTCH_REASON_SIGNALED] = "signaled",
    [HUTCH_REASON_TIMEOUT] = "timeout",
    [HUTCH_REASON_IDLE_TIMEOUT] = "idle_timeout",
    [HUTCH_REASON_OOM] = "oom",
    [HUTCH_REASON_PIDS_LIMIT] = "pids_limit",
    [HUTCH_REASON_DISK_LIMIT] = "disk_limit",
    [HUTCH_REASON_OUTPUT_LIMIT] = "output_limit",
    [HUTCH_REASON_CANCELLED] = "cancelled",
    [HUTCH_REASON_SANDBOX_DIED] = "sandbox_died",
    [HUTCH_REASON_SETUP_FAILED] = "setup_failed",
};

const char *hutch_reason_name(enum hutch_reason reason)
{
    size_t index = (size_t)reason;
    return index < HUTCH_REASON_COUNT ? reason_names[index] : "unknown";
}

struct hutch_result_owned *hutch_result_new(void)
{
    struct hutch_result_owned *owned = calloc(1, sizeof(*owned));
    if (owned)
        owned->result.missing = owned->missing;
    return owned;
}

void hutch_result_free(struct hutch_result *result)
{
    struct hutch_result_owned *owned = (struct hutch_result_owned *)result;
    if (!owned)
        return;
    for (size_t i = 0; i < HUTCH_COUNT(owned->data); i++)
        free(owned->data[i]);
    hutch_egress_free(owned->egress);
    free(owned);
}

void hutch_result_set_missing(struct hutch_result_owned *owned, hutch_promise_set missing)
{
    size_t count = 0;
    for (unsigned i = 0; i < HUTCH_PROMISE_COUNT; i++)
        if (missing >> i & 1)
            owned->missing[count++] = hutch_promise_name((enum hutch_promise)i);
    owned->missing[count] = NULL;
    owned->result.missing = owned->missing;
}

/* A stream as it is written: its head and its tail. */
struct view {
    const char *head;
    size_t head_bytes;
    const char *tail;
    size_t tail_bytes;
};

static struct view view_of(const struct hutch_output *output)
{
    const char *data = output->data ? output->data : "";
    size_t head_bytes = output->head_bytes;
    if (!output->dropped_bytes || head_bytes > output->length)
        head_bytes = output->length;
    return (struct view){data, head_bytes, data + head_bytes, output->length - head_bytes};
}

static size_t view_bytes(const struct view *view)
{
    return view->head_bytes + view->tail_bytes;
}

static bool view_is_utf8(const struct view *view)
{
    return hutch_utf8_valid(view->head, view->head_bytes) &&
           hutch_utf8_valid(view->tail, view->tail_bytes);
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* How many bytes a character has that begins with this one; 1 where none does. */
static size_t announced_bytes(unsigned char first)
{
    if (first >= 0xC2 && first <= 0xDF)
        return 2;
    if (first >= 0xE0 && first <= 0xEF)
        return 3;
    return first >= 0xF0 && first <= 0xF4 ? 4 : 1;
}

/* Bytes at the end that begin a character of which the rest was dropped: at most 3. */
static size_t broken_end(const char *data, size_t length)
{
    size_t back = 0;
    while (back < 3 && back < length && is_continuation(data[length - 1 - back]))
        back++;
    if (back == length)
        return 0;
    size_t present = back + 1;
    return present < announced_bytes((unsigned char)data[length - present]) ? present : 0;
}

/* Bytes at the start that end a character of which the rest was dropped: at most 3. */
static size_t broken_start(const char *data, size_t length)
{
    size_t count = 0;
    while (count < 3 && count < length && is_continuation(data[count]))
        count++;
    return count;
}

/* Leaves out the halves of characters on both sides of a cut. */
static struct view view_trimmed(const struct hutch_output *output)
{
    struct view view = view_of(output);
    if (!output->dropped_bytes)
        return view;
    size_t start = broken_start(view.tail, view.tail_bytes);
    view.head_bytes -= broken_end(view.head, view.head_bytes);
    view.tail += start;
    view.tail_bytes -= start;
    return view;
}

/* What is written of the three streams. As text where all of them are text; otherwise as the bytes
 * they are. */
struct streams {
    struct view out, err, both;
    bool is_text;
    uint64_t dropped_bytes;
};

static struct streams streams_of(const struct hutch_result *result)
{
    const struct hutch_output *out = &result->out, *err = &result->err, *both = &result->both;
    struct streams text = {view_trimmed(out), view_trimmed(err), view_trimmed(both), true, 0};
    struct streams raw = {view_of(out), view_of(err), view_of(both), false, 0};
    raw.dropped_bytes = out->dropped_bytes + err->dropped_bytes;
    text.dropped_bytes = raw.dropped_bytes + (out->length - view_bytes(&text.out)) +
                         (err->length - view_bytes(&text.err));
    bool is_text = view_is_utf8(&text.out) && view_is_utf8(&text.err) && view_is_utf8(&text.both);
    return is_text ? text : raw;
}

/* Head and tail are one string. They lie in one buffer, but after trimming not side by side. */
static int write_view(struct hutch_json_out *out, const char *key, const struct view *view,
                      bool is_text, struct hutch_error *err)
{
    if (!is_text) {
        hutch_json_base64(out, key, view->head, view_bytes(view));
        return 0;
    }
    hutch_cleanup(hutch_buf_done) struct hutch_buf joined = HUTCH_BUF(view_bytes(view));
    if (view->tail_bytes && view->head + view->head_bytes != view->tail) {
        hutch_buf_append(&joined, view->head, view->head_bytes);
        hutch_buf_append(&joined, view->tail, view->tail_bytes);
        if (joined.failed)
            return hutch_fail_nomem(err);
    }
    hutch_json_stringn(out, key, joined.data ? joined.data : view->head, view_bytes(view));
    return 0;
}

static int write_streams(struct hutch_json_out *out, const struct hutch_result *result,
                         struct hutch_error *err)
{
    struct streams streams = streams_of(result);
    bool truncated =
        result->out.dropped_bytes || result->err.dropped_bytes || result->both.dropped_bytes;
    int r = write_view(out, "stdout", &streams.out, streams.is_text, err);
    if (r >= 0)
        r = write_view(out, "stderr", &streams.err, streams.is_text, err);
    if (r >= 0)
        r = write_view(out, "output", &streams.both, streams.is_text, err);
    if (r < 0)
        return r;
    if (!streams.is_text)
        hutch_json_string(out, "encoding", "base64");
    hutch_json_bool(out, "truncated", truncated);
    hutch_json_uint(out, "stdout_bytes", result->out.total_bytes);
    hutch_json_uint(out, "stderr_bytes", result->err.total_bytes);
    hutch_json_uint(out, "dropped_bytes", streams.dropped_bytes);
    if (truncated) {
        hutch_json_uint(out, "stdout_head_bytes", streams.out.head_bytes);
        hutch_json_uint(out, "stderr_head_bytes", streams.err.head_bytes);
    }
    return 0;
}

static void write_counter(struct hutch_json_out *out, const char *key, bool is_known,
                          uint64_t value)
{
    if (is_known)
        hutch_json_uint(out, key, value);
    else
        hutch_json_null(out, key);
}

static void write_usage(struct hutch_json_out *out, const struct hutch_usage *usage)
{
    hutch_json_open(out, "usage", '{');
    hutch_json_uint(out, "cpu_ms", usage->cpu_us / 1000);
    write_counter(out, "memory_peak_bytes", usage->has_memory_peak, usage->memory_peak_bytes);
    write_counter(out, "pids_peak", usage->has_pids_peak, usage->pids_peak);
    hutch_json_uint(out, "disk_peak_bytes", usage->disk_peak_bytes);
    hutch_json_uint(out, "oom_kills", usage->oom_kills);
    hutch_json_close(out, '}');
}

static void write_isolation(struct hutch_json_out *out, const struct hutch_result *result)
{
    hutch_json_open(out, "isolation", '{');
    hutch_json_string(out, "backend", result->backend);
    hutch_json_string(out, "level", result->isolation_level);
    hutch_json_string(out, "writable_layer", result->writable_layer);
    hutch_json_open(out, "missing", '[');
    for (const char *const *name = result->missing; name && *name; name++)
        hutch_json_string(out, NULL, *name);
    hutch_json_close(out, ']');
    hutch_json_close(out, '}');
}

static void write_error(struct hutch_json_out *out, const struct hutch_error *error)
{
    if (error->code == HUTCH_OK)
        return;
    hutch_json_open(out, "error", '{');
    hutch_json_string(out, "code", hutch_code_name(error->code));
    hutch_json_string(out, "message", error->msg);
    hutch_json_close(out, '}');
}

static int write_result(struct hutch_json_out *out, const struct hutch_result *result,
                        struct hutch_error *err)
{
    hutch_json_open(out, NULL, '{');
    hutch_json_string(out, "id", result->id);
    hutch_json_string(out, "reason", hutch_reason_name(result->reason));
    hutch_json_int(out, "exit_code", result->exit_code);
    write_counter(out, "signal", result->signal != 0, (uint64_t)result->signal);
    hutch_json_bool(out, "ok", result->ok);
    int r = write_streams(out, result, err);
    if (r < 0)
        return r;
    hutch_json_uint(out, "duration_ms", result->duration_us / 1000);
    write_usage(out, &result->usage);
    write_isolation(out, result);
    hutch_json_bool(out, "held_pipes", result->held_pipes);
    hutch_egress_report_denials(out, "egress_denied", result->egress);
    if (result->egress)
        hutch_egress_report(out, "egress", result->egress);
    write_error(out, &result->error);
    hutch_json_close(out, '}');
    return 0;
}

int hutch_result_to_json(const struct hutch_result *result, char **ret_json, size_t *ret_length,
                         struct hutch_error *err)
{
    /* A byte becomes six at most ("\u001b"); everything else is small. */
    size_t kept = result->out.length + result->err.length + result->both.length;
    size_t told = hutch_egress_report_ceiling(result->egress);
    hutch_cleanup(hutch_buf_done) struct hutch_buf buf = HUTCH_BUF(6 * kept + told + (64u << 10));
    struct hutch_json_out out = {&buf, false};
    int r = write_result(&out, result, err);
    return r < 0 ? r : hutch_buf_take(&buf, ret_json, ret_length, err);
}
