/* SPDX-License-Identifier: Apache-2.0 */
/* The audit of the daemon's machine, page by page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hutch/audit.h"
#include "remote/client.h"
#include "util/own.h"

enum { DETAIL_CEILING = 64 << 20 };

static char *add_query(char *path, const struct hutch_audit_query *query)
{
    if (!query)
        return path;
    return remote_path_add(remote_path_add(path, "since", query->since), "label", query->label);
}

/* ---- what people read of an event, as src/audit has it --------------------------------------- */

static void put(struct hutch_buf *buf, const char *before, const json_t *value)
{
    if (json_is_string(value))
        hutch_buf_printf(buf, "%s%s", before, json_string_value(value));
    else if (json_is_integer(value))
        hutch_buf_printf(buf, "%s%lld", before, (long long)json_integer_value(value));
}

static void put_attempts(struct hutch_buf *buf, const json_t *attempts)
{
    size_t index;
    const json_t *row;
    json_array_foreach(attempts, index, row)
    {
        put(buf, index ? ", " : "", json_object_get(row, "host"));
        put(buf, ":", json_object_get(row, "port"));
        put(buf, " ", json_object_get(row, "why"));
    }
}

/* Of the texts that it may have, the first that is there. */
static void put_texts(struct hutch_buf *buf, const json_t *event)
{
    static const struct {
        const char *first;
        const char *between;
        const char *second;
        bool needs_both;
    } texts[] = {
        {"reason", " ", "exit_code", false},
        {"what", ": ", "error", true},
        {"from", " ", "to", true},
        {"to", "", NULL, false},
        {"set", "", NULL, false},
        {"why", "", NULL, false},
    };
    for (size_t i = 0; i < HUTCH_COUNT(texts) && !buf->length; i++) {
        const json_t *first = json_object_get(event, texts[i].first);
        const json_t *second = texts[i].second ? json_object_get(event, texts[i].second) : NULL;
        if (json_is_null(first) || !first || (texts[i].needs_both && !second))
            continue;
        if (json_is_object(first) || json_is_array(first)) {
            hutch_autofree char *whole = json_dumps(first, JSON_COMPACT);
            hutch_buf_puts(buf, whole ? whole : "");
        }
        put(buf, "", first);
        put(buf, texts[i].between, second);
    }
}

static void put_detail(struct hutch_buf *buf, const json_t *event)
{
    size_t index;
    const json_t *word;
    json_array_foreach(json_object_get(event, "argv"), index, word)
    {
        put(buf, index ? " " : "", word);
    }
    if (!buf->length)
        put_attempts(buf, json_object_get(event, "attempts"));
    if (!buf->length)
        put_texts(buf, event);
}

static int tell(const json_t *row, hutch_audit_fn on_event, void *userdata, struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf detail = HUTCH_BUF(DETAIL_CEILING);
    hutch_autofree char *json =
        json_dumps(row, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    const char *time = remote_text(row, "time"), *kind = remote_text(row, "kind");
    const char *sandbox = remote_text(row, "name"), *id = remote_text(row, "id");
    const json_t *uid = json_object_get(json_object_get(row, "who"), "uid");
    put_detail(&detail, row);
    if (!json || detail.failed)
        return hutch_fail_nomem(err);
    const struct hutch_audit_event event = {
        .seq = remote_number(row, "seq", 0),
        .time = time ? time : "",
        .kind = kind ? kind : "damaged",
        .uid = json_is_integer(uid) ? json_integer_value(uid) : -1,
        .sandbox = sandbox ? sandbox
                   : id    ? id
                           : "",
        .detail = detail.data ? detail.data : "",
        .json = json,
    };
    return on_event(userdata, &event);
}

static int read_page(const struct hutch_audit_query *query, uint64_t from, json_t **ret_answer,
                     struct hutch_error *err)
{
    char *path = add_query(remote_path("/api/audit"), query);
    if (from)
        path = remote_path_add_number(path, "from", from);
    struct remote_call call = REMOTE_CALL(path);
    return remote_do(&call, ret_answer, err);
}

int hutch_audit_read(const struct hutch_audit_query *query, hutch_audit_fn on_event, void *userdata,
                     struct hutch_error *err)
{
    uint64_t from = 0, next = 0;
    do {
        remote_autojson json_t *answer = NULL;
        size_t index;
        const json_t *row;
        from = next;
        if (read_page(query, from, &answer, err) < 0)
            return -(int)err->code;
        const json_t *list = remote_list(answer, "events", err);
        if (!list)
            return -(int)err->code;
        json_array_foreach(list, index, row)
        {
            int status = tell(row, on_event, userdata, err);
            if (status)
                return status;
        }
        next = remote_number(answer, "next", 0);
    } while (next > from);
    return 0;
}

int hutch_audit_verify(const char *expect, hutch_audit_fault_fn on_fault, void *userdata,
                       struct hutch_audit_verified *ret_verified, struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    struct remote_call call =
        REMOTE_CALL(remote_path_add(remote_path("/api/audit/verify"), "expect", expect));
    size_t index;
    const json_t *row;
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    const json_t *faults = remote_list(answer, "faults", err);
    if (!faults)
        return -(int)err->code;
    json_array_foreach(faults, index, row)
    {
        const char *where = remote_text(row, "where"), *what = remote_text(row, "what");
        const struct hutch_audit_fault fault = {remote_number(row, "seq", 0), where ? where : "",
                                                what ? what : ""};
        if (on_fault)
            on_fault(userdata, &fault);
    }
    const char *hash = remote_text(answer, "last_hash");
    size_t count = json_array_size(faults);
    *ret_verified = (struct hutch_audit_verified){
        .events = remote_number(answer, "events", 0),
        .faults = count ? count : !remote_flag(answer, "ok"),
        .removed = remote_number(answer, "removed", 0),
        .last_seq = remote_number(answer, "last_seq", 0),
    };
    if (hash && strspn(hash, "0123456789abcdef") == strlen(hash))
        (void)snprintf(ret_verified->last_hash, sizeof(ret_verified->last_hash), "%s", hash);
    return 0;
}

static double real_of(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    return json_is_number(value) ? json_number_value(value) : 0;
}

int hutch_audit_usage(const char *by, const struct hutch_audit_query *query,
                      hutch_audit_sum_fn on_sum, void *userdata, struct hutch_error *err)
{
    remote_autojson json_t *answer = NULL;
    struct remote_call call =
        REMOTE_CALL(add_query(remote_path_add(remote_path("/api/usage"), "by", by), query));
    size_t index;
    const json_t *row;
    if (remote_do(&call, &answer, err) < 0)
        return -(int)err->code;
    const json_t *list = remote_list(answer, "usage", err);
    if (!list)
        return -(int)err->code;
    json_array_foreach(list, index, row)
    {
        const char *group = remote_text(row, "group");
        double seconds = real_of(row, "cpu_seconds");
        const struct hutch_audit_sum sum = {
            .group = group ? group : "",
            .runs = remote_number(row, "runs", 0),
            .cpu_us = seconds > 0 && seconds < 1e12 ? (uint64_t)(seconds * 1e6 + 0.5) : 0,
            .memory_mib_seconds = real_of(row, "memory_mib_seconds"),
            .egress_bytes = remote_number(row, "egress_bytes", 0),
        };
        int status = on_sum(userdata, &sum);
        if (status)
            return status;
    }
    return 0;
}
