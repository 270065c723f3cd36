/* SPDX-License-Identifier: Apache-2.0 */
/* What was used, added up. Only the ends of lives count: what a sandbox's commands have used is in
 * its own end already. */
#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "util/own.h"

/* begin: the event with which the life began, which tells what it was. */
static const struct {
    const char *by;
    const char *expression;
} groups[] = {
    {"user", "json_extract(begin.line, '$.who.uid')"},
    {"image", "coalesce(json_extract(begin.line, '$.image'), '')"},
    {"backend", "coalesce(json_extract(begin.line, '$.backend'), '')"},
    {"day", "substr(finish.time, 1, 10)"},
};

#define LABEL_PREFIX "label."

static const char *expression_of(const char *by)
{
    if (!strncmp(by, LABEL_PREFIX, sizeof(LABEL_PREFIX) - 1) && by[sizeof(LABEL_PREFIX) - 1])
        return "coalesce((SELECT value FROM labels WHERE id = finish.id AND key = ?2), '')";
    for (size_t i = 0; i < HUTCH_COUNT(groups); i++)
        if (!strcmp(by, groups[i].by))
            return groups[i].expression;
    return NULL;
}

static int tell_sums(const struct audit_db *db, sqlite3_stmt *query, hutch_audit_sum_fn on_sum,
                     void *userdata, struct hutch_error *err)
{
    int step;
    while ((step = sqlite3_step(query)) == SQLITE_ROW) {
        const char *group = (const char *)sqlite3_column_text(query, 0);
        const struct hutch_audit_sum sum = {.group = group ? group : "",
                                            .runs = (uint64_t)sqlite3_column_int64(query, 1),
                                            .cpu_us = (uint64_t)sqlite3_column_int64(query, 2),
                                            .memory_mib_seconds = sqlite3_column_double(query, 3),
                                            .egress_bytes =
                                                (uint64_t)sqlite3_column_int64(query, 4)};
        int status = on_sum(userdata, &sum);
        if (status)
            return status;
    }
    return step == SQLITE_DONE ? 0 : audit_db_fail(db, "read", err);
}

static int ask(const struct audit_db *db, const char *by, const char *since,
               const struct hutch_audit_query *asked, hutch_audit_sum_fn on_sum, void *userdata,
               struct hutch_error *err)
{
    hutch_cleanup(audit_query_done) sqlite3_stmt *query = NULL;
    char text[1500];
    (void)snprintf(
        text, sizeof(text),
        "SELECT %s AS grouped, count(*), total(json_extract(finish.line, '$.usage.cpu_us')),"
        " total(json_extract(finish.line, '$.usage.memory_peak_bytes') / 1048576.0 *"
        "  json_extract(finish.line, '$.duration_ms') / 1000.0),"
        " total(json_extract(finish.line, '$.egress.bytes_in')) +"
        "  total(json_extract(finish.line, '$.egress.bytes_out'))"
        " FROM events AS finish LEFT JOIN events AS begin ON begin.seq = finish.ends"
        " WHERE finish.ends AND json_valid(finish.line) AND ifnull(json_valid(begin.line), 1)"
        " AND (?1 IS NULL OR finish.time >= ?1) AND (?3 IS NULL OR finish.id IN"
        " (SELECT id FROM labels WHERE key = ?3 AND (?4 IS NULL OR value = ?4)))"
        " AND (?5 IS NULL OR json_extract(begin.line, '$.tenant') = ?5)"
        " GROUP BY grouped ORDER BY grouped",
        expression_of(by));
    if (audit_db_prepare(db, text, &query, err) < 0)
        return -(int)err->code;
    if (since)
        (void)sqlite3_bind_text(query, 1, since, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(query, 2, by + strcspn(by, ".") + (strchr(by, '.') != NULL), -1,
                            SQLITE_STATIC);
    if (asked->label) {
        size_t key = strcspn(asked->label, "=");
        (void)sqlite3_bind_text(query, 3, asked->label, (int)key, SQLITE_STATIC);
        if (asked->label[key])
            (void)sqlite3_bind_text(query, 4, asked->label + key + 1, -1, SQLITE_STATIC);
    }
    if (asked->tenant)
        (void)sqlite3_bind_text(query, 5, asked->tenant, -1, SQLITE_STATIC);
    return tell_sums(db, query, on_sum, userdata, err);
}

int audit_usage(const char *by, const struct hutch_audit_query *query, hutch_audit_sum_fn on_sum,
                void *userdata, struct hutch_error *err)
{
    struct audit_db db = AUDIT_DB_INIT;
    char since[AUDIT_TIME_BYTES];
    if (!expression_of(by))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "usage cannot be added up by '%.60s'; by what it can: label.KEY, user, "
                          "image, backend, day",
                          by);
    if (query->id || query->from)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "usage is added up over everything: it is not asked for one sandbox, nor "
                          "from an event on");
    if ((query->since && audit_since(query->since, since, err) < 0) || audit_end_the_dead(err) < 0)
        return -(int)err->code;
    int status = audit_db_open(&db, err);
    if (status > 0)
        status = audit_collect(&db, err);
    if (status == 0 && db.sql)
        status = ask(&db, by, query->since ? since : NULL, query, on_sum, userdata, err);
    audit_db_close(&db);
    return status;
}
