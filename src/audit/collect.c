/* SPDX-License-Identifier: Apache-2.0 */
/* From the journal into the database. Nothing is judged here: a line goes over as it is, and
 * whoever verifies finds the same fault at the same event. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "audit/database.h"
#include "util/own.h"

/* A line that cannot be read is kept as bytes, and found by its number alone. */
static const char insert_event[] =
    "INSERT INTO events(seq, line, time, kind, id, begins, ends)"
    " SELECT ?1, ?2, json_extract(?3, '$.time'), json_extract(?3, '$.kind'),"
    " json_extract(?3, '$.id'), CASE json_extract(?3, '$.life') WHEN 'begins' THEN 1 END,"
    " CASE json_extract(?3, '$.life') WHEN 'ends' THEN json_extract(?3, '$.of') END";
static const char insert_labels[] =
    "INSERT OR IGNORE INTO labels(id, key, value) SELECT json_extract(?1, '$.id'), key, value"
    " FROM json_each(?1, '$.labels') WHERE json_extract(?1, '$.id') IS NOT NULL";
static const char is_json[] = "SELECT json_valid(?1)";

struct collection {
    const struct audit_db *db;
    sqlite3_stmt *event;
    sqlite3_stmt *labels;
    sqlite3_stmt *valid;
    struct hutch_error *err;
};

static void collection_done(struct collection *collection)
{
    audit_query_done(&collection->event);
    audit_query_done(&collection->labels);
    audit_query_done(&collection->valid);
}

static bool can_be_read(const struct collection *collection, const struct audit_entry *entry)
{
    sqlite3_stmt *query = collection->valid;
    (void)sqlite3_reset(query);
    return !memchr(entry->line, '\0', entry->length) &&
           hutch_utf8_valid(entry->line, entry->length) &&
           sqlite3_bind_text(query, 1, entry->line, (int)entry->length, SQLITE_STATIC) ==
               SQLITE_OK &&
           sqlite3_step(query) == SQLITE_ROW && sqlite3_column_int(query, 0);
}

static int step(const struct collection *collection, sqlite3_stmt *query)
{
    int status = sqlite3_step(query);
    (void)sqlite3_reset(query);
    return status == SQLITE_DONE ? 0 : audit_db_fail(collection->db, "write to", collection->err);
}

static int take(void *userdata, const struct audit_entry *entry)
{
    const struct collection *collection = userdata;
    if (!entry->line)
        return 0; /* about the end: whoever verifies is told */
    int length = (int)entry->length;
    bool is_readable = can_be_read(collection, entry);
    (void)sqlite3_bind_int64(collection->event, 1, (sqlite3_int64)entry->seq);
    if (is_readable) {
        (void)sqlite3_bind_text(collection->event, 2, entry->line, length, SQLITE_STATIC);
        (void)sqlite3_bind_text(collection->event, 3, entry->line, length, SQLITE_STATIC);
        (void)sqlite3_bind_text(collection->labels, 1, entry->line, length, SQLITE_STATIC);
    } else {
        (void)sqlite3_bind_blob(collection->event, 2, entry->line, length, SQLITE_STATIC);
        (void)sqlite3_bind_null(collection->event, 3);
    }
    if (step(collection, collection->event) < 0 ||
        (is_readable && step(collection, collection->labels) < 0))
        return -(int)collection->err->code;
    return 0;
}

static int collect_lines(struct audit_db *db, struct hutch_error *err)
{
    struct audit_chain chain;
    hutch_cleanup(collection_done) struct collection collection = {.db = db, .err = err};
    if (audit_db_last(db, &chain, err) < 0 ||
        audit_db_prepare(db, insert_event, &collection.event, err) < 0 ||
        audit_db_prepare(db, insert_labels, &collection.labels, err) < 0 ||
        audit_db_prepare(db, is_json, &collection.valid, err) < 0)
        return -(int)err->code;
    return audit_walk(db->directory, &chain, take, &collection, err) < 0 ? -(int)err->code : 0;
}

/* Does something live on that began there? */
static int has_living(const struct audit_db *db, uint64_t first, uint64_t next,
                      struct hutch_error *err)
{
    hutch_cleanup(audit_query_done) sqlite3_stmt *query = NULL;
    if (audit_db_prepare(
            db,
            "SELECT EXISTS(SELECT 1 FROM events AS b WHERE begins AND seq >= ?1 AND"
            " seq < ?2 AND NOT EXISTS(SELECT 1 FROM events AS e WHERE e.ends = b.seq))",
            &query, err) < 0)
        return -(int)err->code;
    (void)sqlite3_bind_int64(query, 1, (sqlite3_int64)first);
    (void)sqlite3_bind_int64(query, 2, (sqlite3_int64)next);
    return sqlite3_step(query) == SQLITE_ROW ? sqlite3_column_int(query, 0)
                                             : audit_db_fail(db, "ask", err);
}

/* From the first on: a sweep that reads the journal alone must not meet a beginning whose end is
 * not there any more. */
static int remove_segments(struct audit_db *db, struct hutch_error *err)
{
    hutch_autofree uint64_t *firsts = NULL;
    size_t count = 0;
    struct audit_head head;
    struct audit_chain last;
    if (audit_segments(db->directory, &firsts, &count, err) < 0 ||
        audit_db_last(db, &last, err) < 0)
        return -(int)err->code;
    if (audit_lock(db->tended, AUDIT_LOCK_ADD, F_RDLCK, true) < 0)
        return hutch_fail_errno(err, errno, "lock the audit journal '%.200s'", db->directory);
    int found = audit_head_read(db->tended, &head);
    (void)audit_lock(db->tended, AUDIT_LOCK_ADD, F_UNLCK, false);
    for (size_t i = 0; found > 0 && i + 1 < count && firsts[i] < head.first; i++) {
        char path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES];
        if (firsts[i + 1] > last.seq + 1)
            return 0; /* it has grown since it was read */
        int living = has_living(db, firsts[i], firsts[i + 1], err);
        if (living)
            return living < 0 ? living : 0;
        audit_segment_path(db->directory, firsts[i], path);
        if (unlink(path) < 0)
            return hutch_fail_errno(err, errno, "remove '%.200s'", path);
    }
    return 0;
}

int audit_collect(struct audit_db *db, struct hutch_error *err)
{
    if (audit_db_run(db, "BEGIN IMMEDIATE", err) < 0)
        return -(int)err->code;
    int status = collect_lines(db, err);
    if (status == 0)
        status = audit_db_run(db, "COMMIT", err);
    if (status < 0) {
        (void)sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
        return status;
    }
    return remove_segments(db, err);
}
