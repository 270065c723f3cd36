/* SPDX-License-Identifier: Apache-2.0 */
/* Which events: by time, and by the labels of the run or sandbox that they are about. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "audit/audit.h"
#include "hutch/spec.h"
#include "util/own.h"

void audit_time_ago(uint64_t ago_ms, char ret_text[AUDIT_TIME_BYTES])
{
    struct timespec now;
    struct tm parts;
    char seconds[32];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    uint64_t then_ms = now_ms > ago_ms ? now_ms - ago_ms : 0;
    time_t then = (time_t)(then_ms / 1000);
    (void)gmtime_r(&then, &parts);
    (void)strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(ret_text, AUDIT_TIME_BYTES, "%s.%03u", seconds, (unsigned)(then_ms % 1000));
}

/* Is this a moment that there was or will be? A month that no year has is a slip of the pen, and
 * would be told of as a time without events. */
static bool is_moment(const char *text, size_t length)
{
    static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"};
    for (size_t i = 0; i < HUTCH_COUNT(forms); i++) {
        struct tm given = {0};
        const char *end = strptime(text, forms[i], &given);
        struct tm normal = given;
        if (end == text + length && timegm(&normal) != (time_t)-1)
            return normal.tm_mday == given.tm_mday && normal.tm_hour == given.tm_hour;
    }
    return false;
}

/* Times of one form compare as texts do; the beginning of one is the first moment that it can mean.
 */
int audit_since(const char *text, char ret_text[AUDIT_TIME_BYTES], struct hutch_error *err)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    uint64_t ago_ms = 0;
    size_t length = strcspn(text, "Z");
    bool is_time = length == 10 || length == 16 || length == sizeof(form) - 1;
    for (size_t i = 0; is_time && i < length; i++)
        is_time = form[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
    if (is_time && (!text[length] || !text[length + 1]) && is_moment(text, length)) {
        (void)snprintf(ret_text, AUDIT_TIME_BYTES, "%.*s", (int)length, text);
        return 0;
    }
    if (hutch_duration_parse(text, &ago_ms, err) < 0)
        return hutch_fail(
            err, HUTCH_E_INVALID, 0,
            "'%.60s' is no time: write how long ago, such as 90m, or a moment in UTC, "
            "such as 2026-11-16 or 2026-11-16T10:00:00Z",
            text);
    audit_time_ago(ago_ms, ret_text);
    return 0;
}

/* What people read of an event: its command line, how it ended, what was changed or copied. */
static const char select_events[] =
    "WITH readable AS (SELECT position, seq, time, kind, id,"
    " CASE WHEN json_valid(line) THEN line END AS event FROM events) "
    "SELECT seq, time, kind, json_extract(event, '$.who.uid'),"
    " coalesce(json_extract(event, '$.name'), id),"
    " coalesce((SELECT group_concat(value, ' ') FROM json_each(event, '$.argv')),"
    "  (SELECT group_concat(json_extract(value, '$.host') || ':' || json_extract(value, '$.port')"
    "   || ' ' || json_extract(value, '$.why'), ', ') FROM json_each(event, '$.attempts')),"
    "  json_extract(event, '$.reason') || coalesce(' ' || json_extract(event, '$.exit_code'), ''),"
    "  json_extract(event, '$.what') || ': ' || json_extract(event, '$.error'),"
    "  json_extract(event, '$.from') || ' ' || json_extract(event, '$.to'),"
    "  json_extract(event, '$.to'), json_extract(event, '$.set'), json_extract(event, '$.why')),"
    " event"
    " FROM readable WHERE (?1 IS NULL OR time >= ?1) AND (?2 IS NULL OR id IN"
    " (SELECT id FROM labels WHERE key = ?2 AND (?3 IS NULL OR value = ?3)))"
    " AND (?4 IS NULL OR json_extract(event, '$.tenant') = ?4 OR id IN (" AUDIT_IDS_OF_TENANT "))"
    " AND (?5 IS NULL OR id = ?5) AND seq >= ?6 ORDER BY position";

static const char *text_of(sqlite3_stmt *query, int column, const char *otherwise)
{
    const char *text = (const char *)sqlite3_column_text(query, column);
    return text ? text : otherwise;
}

static int tell_rows(const struct audit_db *db, sqlite3_stmt *query, hutch_audit_fn on_event,
                     void *userdata, struct hutch_error *err)
{
    int step;
    while ((step = sqlite3_step(query)) == SQLITE_ROW) {
        const struct hutch_audit_event event = {
            .seq = (uint64_t)sqlite3_column_int64(query, 0),
            .time = text_of(query, 1, ""),
            .kind = text_of(query, 2, "damaged"),
            .uid = sqlite3_column_type(query, 3) == SQLITE_INTEGER ? sqlite3_column_int64(query, 3)
                                                                   : -1,
            .sandbox = text_of(query, 4, ""),
            .detail = text_of(query, 5, ""),
            .json =
                sqlite3_column_type(query, 6) == SQLITE_TEXT ? text_of(query, 6, "null") : "null"};
        int status = on_event(userdata, &event);
        if (status)
            return status;
    }
    return step == SQLITE_DONE ? 0 : audit_db_fail(db, "read", err);
}

static void bind_label(sqlite3_stmt *query, const char *label)
{
    if (!label)
        return;
    size_t key = strcspn(label, "=");
    (void)sqlite3_bind_text(query, 2, label, (int)key, SQLITE_TRANSIENT);
    if (label[key])
        (void)sqlite3_bind_text(query, 3, label + key + 1, -1, SQLITE_TRANSIENT);
}

static int ask(const struct audit_db *db, const struct hutch_audit_query *query, const char *since,
               hutch_audit_fn on_event, void *userdata, struct hutch_error *err)
{
    hutch_cleanup(audit_query_done) sqlite3_stmt *rows = NULL;
    if (audit_db_prepare(db, select_events, &rows, err) < 0)
        return -(int)err->code;
    if (since)
        (void)sqlite3_bind_text(rows, 1, since, -1, SQLITE_STATIC);
    bind_label(rows, query->label);
    if (query->tenant)
        (void)sqlite3_bind_text(rows, 4, query->tenant, -1, SQLITE_STATIC);
    if (query->id)
        (void)sqlite3_bind_text(rows, 5, query->id, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(rows, 6,
                             (sqlite3_int64)(query->from < INT64_MAX ? query->from : INT64_MAX));
    return tell_rows(db, rows, on_event, userdata, err);
}

int audit_read(const struct hutch_audit_query *query, hutch_audit_fn on_event, void *userdata,
               struct hutch_error *err)
{
    struct audit_db db = AUDIT_DB_INIT;
    char since[AUDIT_TIME_BYTES];
    if ((query->since && audit_since(query->since, since, err) < 0) || audit_end_the_dead(err) < 0)
        return -(int)err->code;
    int status = audit_db_open(&db, err);
    if (status > 0)
        status = audit_collect(&db, err);
    if (status == 0 && db.sql)
        status = ask(&db, query, query->since ? since : NULL, on_event, userdata, err);
    audit_db_close(&db);
    return status;
}
