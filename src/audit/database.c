/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/database.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/own.h"

#define PATIENCE_MS 10000

/* begins: 1 where a life begins; ends: the event that began the life that ends there. */
static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS events("
    " position INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL, time TEXT, kind TEXT,"
    " id TEXT, begins INTEGER, ends INTEGER, line NOT NULL);"
    "CREATE INDEX IF NOT EXISTS events_seq ON events(seq);"
    "CREATE INDEX IF NOT EXISTS events_time ON events(time);"
    "CREATE INDEX IF NOT EXISTS events_id ON events(id);"
    "CREATE INDEX IF NOT EXISTS events_begins ON events(seq) WHERE begins;"
    "CREATE INDEX IF NOT EXISTS events_ends ON events(ends) WHERE ends;"
    "CREATE TABLE IF NOT EXISTS labels("
    " id TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(id, key))"
    " WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS labels_key ON labels(key, value);"
    "CREATE TABLE IF NOT EXISTS anchor("
    " one INTEGER PRIMARY KEY CHECK(one = 1), position INTEGER NOT NULL, seq INTEGER NOT NULL,"
    " hash TEXT NOT NULL);"
    "CREATE TRIGGER IF NOT EXISTS events_stay BEFORE UPDATE ON events"
    " BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;"
    "CREATE TRIGGER IF NOT EXISTS events_go_first_to_last BEFORE DELETE ON events"
    " WHEN old.position > ifnull((SELECT position FROM anchor), 0)"
    " BEGIN SELECT RAISE(ABORT, 'only what the anchor stands for is removed'); END;"
    "CREATE TRIGGER IF NOT EXISTS anchor_goes_on BEFORE UPDATE ON anchor"
    " WHEN new.position <= old.position"
    " BEGIN SELECT RAISE(ABORT, 'the anchor only goes forward'); END;"
    "CREATE TRIGGER IF NOT EXISTS anchor_stays BEFORE DELETE ON anchor"
    " BEGIN SELECT RAISE(ABORT, 'the anchor is never removed'); END;"
    "PRAGMA user_version = 1;"
    "COMMIT;";

int audit_db_fail(const struct audit_db *db, const char *what, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_SYSTEM, 0, "%s the audit database '%.200s/audit.db': %.150s",
                      what, db->directory, db->sql ? sqlite3_errmsg(db->sql) : "no memory");
}

int audit_db_run(const struct audit_db *db, const char *statements, struct hutch_error *err)
{
    return sqlite3_exec(db->sql, statements, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : audit_db_fail(db, "write to", err);
}

int audit_db_prepare(const struct audit_db *db, const char *statement, sqlite3_stmt **ret_query,
                     struct hutch_error *err)
{
    return sqlite3_prepare_v2(db->sql, statement, -1, ret_query, NULL) == SQLITE_OK
               ? 0
               : audit_db_fail(db, "ask", err);
}

static int tend(struct audit_db *db, struct hutch_error *err)
{
    char path[AUDIT_PATH_BYTES + 8];
    (void)snprintf(path, sizeof(path), "%s/head", db->directory);
    db->tended = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (db->tended < 0 || audit_lock(db->tended, AUDIT_LOCK_TEND, F_WRLCK, true) < 0)
        return hutch_fail_errno(err, errno, "lock '%.200s'", path);
    return 0;
}

/* One that nobody else may read from its first byte on: SQLite gives its other files the same mode.
 */
static int open_file(struct audit_db *db, struct hutch_error *err)
{
    char path[AUDIT_PATH_BYTES + 16];
    (void)snprintf(path, sizeof(path), "%s/audit.db", db->directory);
    hutch_autofd int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "open '%.200s'", path);
    if (sqlite3_open_v2(path, &db->sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL) !=
        SQLITE_OK)
        return audit_db_fail(db, "open", err);
    (void)sqlite3_busy_timeout(db->sql, PATIENCE_MS);
    /* what has been collected is on the disk before its segment goes */
    if (audit_db_run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;", err) < 0 ||
        audit_db_run(db, schema, err) < 0)
        return -(int)err->code;
    return 0;
}

int audit_db_open(struct audit_db *db, struct hutch_error *err)
{
    if (!audit_exists(db->directory))
        return 0;
    if (tend(db, err) < 0 || open_file(db, err) < 0) {
        audit_db_close(db);
        return -(int)err->code;
    }
    return 1;
}

void audit_db_close(struct audit_db *db)
{
    (void)sqlite3_close(db->sql);
    db->sql = NULL;
    hutch_fd_close(&db->tended);
}

static void begin_chain(struct audit_chain *chain)
{
    struct audit_head begin;
    audit_head_begin(&begin);
    chain->seq = 0;
    memcpy(chain->hash, begin.hash, sizeof(chain->hash));
}

int audit_db_anchor(const struct audit_db *db, struct audit_chain *ret_chain,
                    struct hutch_error *err)
{
    hutch_cleanup(audit_query_done) sqlite3_stmt *query = NULL;
    if (audit_db_prepare(db, "SELECT seq, hash FROM anchor", &query, err) < 0)
        return -(int)err->code;
    begin_chain(ret_chain);
    int step = sqlite3_step(query);
    if (step == SQLITE_DONE)
        return 0;
    if (step != SQLITE_ROW)
        return audit_db_fail(db, "ask", err);
    ret_chain->seq = (uint64_t)sqlite3_column_int64(query, 0);
    (void)snprintf(ret_chain->hash, sizeof(ret_chain->hash), "%s",
                   (const char *)sqlite3_column_text(query, 1));
    return 0;
}

int audit_db_last(const struct audit_db *db, struct audit_chain *ret_chain, struct hutch_error *err)
{
    hutch_cleanup(audit_query_done) sqlite3_stmt *query = NULL;
    if (audit_db_prepare(db, "SELECT seq, line FROM events ORDER BY position DESC LIMIT 1", &query,
                         err) < 0)
        return -(int)err->code;
    int step = sqlite3_step(query);
    if (step == SQLITE_DONE)
        return audit_db_anchor(db, ret_chain, err);
    if (step != SQLITE_ROW)
        return audit_db_fail(db, "ask", err);
    begin_chain(ret_chain);
    const char *line = sqlite3_column_blob(query, 1);
    if (!line || !audit_line_read(line, (size_t)sqlite3_column_bytes(query, 1), ret_chain))
        ret_chain->seq = (uint64_t)sqlite3_column_int64(query, 0); /* damaged: --verify tells */
    return 0;
}
