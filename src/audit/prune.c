/* SPDX-License-Identifier: Apache-2.0 */
/* Retention. Only a whole beginning of the chain can go: the anchor keeps the hash of the last
 * event of it, which the rest follows. */
#include "audit/audit.h"
#include "util/own.h"

/* The last row that may go: before the first that is young enough, cannot be read or began what
 * still lives. */
static const char find_last[] =
    "SELECT max(position) FROM events WHERE position < coalesce((SELECT min(position) FROM events"
    " AS b WHERE time IS NULL OR time >= ?1 OR (begins AND NOT EXISTS(SELECT 1 FROM events AS e"
    " WHERE e.ends = b.seq))), 9223372036854775807)";

static int find_end(const struct audit_db *db, uint64_t older_than_ms, sqlite3_int64 *ret_position,
                    struct hutch_error *err)
{
    hutch_cleanup(audit_query_done) sqlite3_stmt *query = NULL;
    char time[AUDIT_TIME_BYTES];
    audit_time_ago(older_than_ms, time);
    if (audit_db_prepare(db, find_last, &query, err) < 0)
        return -(int)err->code;
    (void)sqlite3_bind_text(query, 1, time, -1, SQLITE_STATIC);
    if (sqlite3_step(query) != SQLITE_ROW)
        return audit_db_fail(db, "ask", err);
    *ret_position = sqlite3_column_int64(query, 0); /* 0: none */
    return 0;
}

static int move_anchor(const struct audit_db *db, sqlite3_int64 position, struct hutch_error *err)
{
    hutch_cleanup(audit_query_done) sqlite3_stmt *query = NULL, *change = NULL;
    struct audit_chain chain;
    if (audit_db_prepare(db, "SELECT line FROM events WHERE position = ?1", &query, err) < 0 ||
        audit_db_prepare(db,
                         "INSERT INTO anchor(one, position, seq, hash) VALUES(1, ?1, ?2, ?3)"
                         " ON CONFLICT(one) DO UPDATE SET position = ?1, seq = ?2, hash = ?3",
                         &change, err) < 0)
        return -(int)err->code;
    (void)sqlite3_bind_int64(query, 1, position);
    if (sqlite3_step(query) != SQLITE_ROW)
        return audit_db_fail(db, "ask", err);
    const char *line = sqlite3_column_blob(query, 0);
    if (!line || !audit_line_read(line, (size_t)sqlite3_column_bytes(query, 0), &chain))
        return hutch_fail(err, HUTCH_E_CONFLICT, 0,
                          "an event of the audit is damaged and nothing was removed; 'hutch audit "
                          "--verify' names it");
    (void)sqlite3_bind_int64(change, 1, position);
    (void)sqlite3_bind_int64(change, 2, (sqlite3_int64)chain.seq);
    (void)sqlite3_bind_text(change, 3, chain.hash, -1, SQLITE_TRANSIENT);
    return sqlite3_step(change) == SQLITE_DONE ? 0 : audit_db_fail(db, "write to", err);
}

static int remove_rows(const struct audit_db *db, sqlite3_int64 position, uint64_t *ret_removed,
                       struct hutch_error *err)
{
    hutch_cleanup(audit_query_done) sqlite3_stmt *query = NULL;
    if (audit_db_prepare(db, "DELETE FROM events WHERE position <= ?1", &query, err) < 0)
        return -(int)err->code;
    (void)sqlite3_bind_int64(query, 1, position);
    if (sqlite3_step(query) != SQLITE_DONE)
        return audit_db_fail(db, "write to", err);
    *ret_removed = (uint64_t)sqlite3_changes64(db->sql);
    return audit_db_run(
        db, "DELETE FROM labels WHERE id NOT IN (SELECT id FROM events WHERE id IS NOT NULL)", err);
}

static int prune(struct audit_db *db, uint64_t older_than_ms, uint64_t *ret_removed,
                 struct hutch_error *err)
{
    sqlite3_int64 position = 0;
    if (find_end(db, older_than_ms, &position, err) < 0)
        return -(int)err->code;
    if (!position)
        return 0;
    if (audit_db_run(db, "BEGIN IMMEDIATE", err) < 0)
        return -(int)err->code;
    int status = move_anchor(db, position, err);
    if (status == 0)
        status = remove_rows(db, position, ret_removed, err);
    if (status == 0)
        status = audit_db_run(db, "COMMIT", err);
    if (status < 0)
        (void)sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

int audit_prune(uint64_t older_than_ms, uint64_t *ret_removed, struct hutch_error *err)
{
    struct audit_db db = AUDIT_DB_INIT;
    uint64_t removed = 0;
    if (audit_end_the_dead(err) < 0)
        return -(int)err->code;
    int status = audit_db_open(&db, err);
    if (status > 0)
        status = audit_collect(&db, err);
    if (status == 0 && db.sql)
        status = prune(&db, older_than_ms, &removed, err);
    audit_db_close(&db);
    if (status == 0 && ret_removed)
        *ret_removed = removed;
    return status;
}
