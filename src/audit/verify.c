/* SPDX-License-Identifier: Apache-2.0 */
/* Is everything there, and as it was written? First the database, from its anchor on; then what of
 * the journal is still there, which has to follow, and where both have an event it is the same. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "util/own.h"

struct verification {
    const struct audit_db *db;
    hutch_audit_fault_fn on_fault;
    void *userdata;
    struct hutch_audit_verified *result;
    uint64_t collected; /* the last event that the database has */
    struct audit_chain expected;
    bool met_expected;
    struct hutch_error *err;
};

static void tell(struct verification *verification, uint64_t seq, const char *where,
                 const char *what)
{
    const struct hutch_audit_fault fault = {seq, where, what};
    verification->result->faults++;
    if (verification->on_fault)
        verification->on_fault(verification->userdata, &fault);
}

static void meet(struct verification *verification, const struct audit_chain *chain,
                 const char *where)
{
    const struct audit_chain *expected = &verification->expected;
    if (!expected->seq || chain->seq != expected->seq)
        return;
    verification->met_expected = true;
    if (strcmp(chain->hash, expected->hash) != 0)
        tell(verification, chain->seq, where, "its hash is not the expected one");
}

/* ---- the database ---------------------------------------------------------------------------- */

static int verify_rows(struct verification *verification, struct audit_chain *chain)
{
    hutch_cleanup(audit_query_done) sqlite3_stmt *query = NULL;
    struct hutch_error *err = verification->err;
    if (audit_db_prepare(verification->db, "SELECT line FROM events ORDER BY position", &query,
                         err) < 0)
        return -(int)err->code;
    int step;
    while ((step = sqlite3_step(query)) == SQLITE_ROW) {
        char why[160];
        const char *line = sqlite3_column_blob(query, 0);
        size_t length = (size_t)sqlite3_column_bytes(query, 0);
        verification->result->events++;
        if (!audit_line_check(chain, line ? line : "", length, why, sizeof(why)))
            tell(verification, chain->seq, "audit.db", why);
        meet(verification, chain, "audit.db");
    }
    return step == SQLITE_DONE ? 0 : audit_db_fail(verification->db, "read", err);
}

/* ---- the journal ----------------------------------------------------------------------------- */

/* 1: the database has this very line, 0: another, or none. */
static int has_line(const struct verification *verification, const struct audit_entry *entry)
{
    hutch_cleanup(audit_query_done) sqlite3_stmt *query = NULL;
    if (audit_db_prepare(verification->db,
                         "SELECT EXISTS(SELECT 1 FROM events WHERE seq = ?1 AND"
                         " CAST(line AS BLOB) = ?2)",
                         &query, verification->err) < 0)
        return -(int)verification->err->code;
    (void)sqlite3_bind_int64(query, 1, (sqlite3_int64)entry->seq);
    (void)sqlite3_bind_blob(query, 2, entry->line, (int)entry->length, SQLITE_STATIC);
    return sqlite3_step(query) == SQLITE_ROW
               ? sqlite3_column_int(query, 0)
               : audit_db_fail(verification->db, "ask", verification->err);
}

static int look_at(void *userdata, const struct audit_entry *entry)
{
    struct verification *verification = userdata;
    struct audit_chain says;
    char where[AUDIT_SEGMENT_NAME_BYTES + 32];
    bool is_collected = entry->line && entry->seq <= verification->collected;
    (void)snprintf(where, sizeof(where), entry->line ? "%s:%" PRIu64 : "%s", entry->segment,
                   entry->line_number);
    verification->result->events += entry->line && !is_collected;
    if (entry->fault)
        tell(verification, entry->seq, where, entry->fault);
    if (entry->line && audit_line_read(entry->line, entry->length, &says) && !is_collected)
        meet(verification, &says, where);
    int same = is_collected && !entry->fault ? has_line(verification, entry) : 1;
    if (same == 0)
        tell(verification, entry->seq, where, "the database has another event of this number");
    return same < 0 ? same : 0;
}

/* The hash of an event that the database has. */
static bool find_hash(const struct audit_db *db, uint64_t seq, struct audit_chain *ret_chain)
{
    hutch_cleanup(audit_query_done) sqlite3_stmt *query = NULL;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (audit_db_prepare(db, "SELECT line FROM events WHERE seq = ?1", &query, &ignored) < 0)
        return false;
    (void)sqlite3_bind_int64(query, 1, (sqlite3_int64)seq);
    if (sqlite3_step(query) != SQLITE_ROW)
        return false;
    const char *line = sqlite3_column_blob(query, 0);
    return line && audit_line_read(line, (size_t)sqlite3_column_bytes(query, 0), ret_chain);
}

/* The journal is read from its own beginning, where the database tells what that follows. */
static int verify_journal(struct verification *verification, const struct audit_chain *anchor,
                          struct audit_chain *chain)
{
    hutch_autofree uint64_t *firsts = NULL;
    size_t count = 0;
    struct audit_chain from;
    const struct audit_db *db = verification->db;
    if (audit_segments(db->directory, &firsts, &count, verification->err) < 0)
        return -(int)verification->err->code;
    uint64_t before = count ? firsts[0] - 1 : chain->seq;
    if (before <= anchor->seq)
        *chain = *anchor;
    else if (before < chain->seq && find_hash(db, before, &from))
        *chain = from;
    return audit_walk(db->directory, chain, look_at, verification, verification->err) < 0
               ? -(int)verification->err->code
               : 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* "SEQ:HASH", or "" for none. */
static int parse_expected(const char *text, struct audit_chain *ret_chain, struct hutch_error *err)
{
    char *end = NULL;
    *ret_chain = (struct audit_chain){0};
    if (!text)
        return 0;
    ret_chain->seq = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || !ret_chain->seq || *end != ':' ||
        strlen(end + 1) != SHA256_HEX_BYTES - 1 ||
        strspn(end + 1, "0123456789abcdef") != SHA256_HEX_BYTES - 1)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.100s' is no event's number and hash, write SEQ:HASH as 'hutch audit "
                          "--verify' prints it",
                          text);
    memcpy(ret_chain->hash, end + 1, SHA256_HEX_BYTES);
    return 0;
}

static int verify(struct verification *verification)
{
    struct audit_chain anchor, chain;
    struct hutch_error *err = verification->err;
    struct hutch_audit_verified *result = verification->result;
    if (audit_db_anchor(verification->db, &anchor, err) < 0)
        return -(int)err->code;
    chain = anchor;
    result->removed = anchor.seq;
    meet(verification, &anchor, "audit.db");
    if (verify_rows(verification, &chain) < 0)
        return -(int)err->code;
    verification->collected = chain.seq;
    if (verify_journal(verification, &anchor, &chain) < 0)
        return -(int)err->code;
    result->last_seq = chain.seq;
    memcpy(result->last_hash, chain.hash, sizeof(result->last_hash));
    if (verification->expected.seq && !verification->met_expected)
        tell(verification, verification->expected.seq, "audit",
             verification->expected.seq < anchor.seq
                 ? "the expected event was removed by a prune and cannot be compared any more"
                 : "the expected event is missing");
    return 0;
}

int audit_verify(const char *expect, hutch_audit_fault_fn on_fault, void *userdata,
                 struct hutch_audit_verified *ret_verified, struct hutch_error *err)
{
    struct audit_db db = AUDIT_DB_INIT;
    struct hutch_audit_verified result = {0};
    struct verification verification = {
        .db = &db, .on_fault = on_fault, .userdata = userdata, .result = &result, .err = err};
    if (parse_expected(expect, &verification.expected, err) < 0)
        return -(int)err->code;
    int opened = audit_db_open(&db, err);
    int status = opened > 0 ? verify(&verification) : opened;
    if (opened == 0 && verification.expected.seq)
        tell(&verification, verification.expected.seq, "audit", "the expected event is missing");
    audit_db_close(&db);
    if (status == 0)
        *ret_verified = result;
    return status;
}
