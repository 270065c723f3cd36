/* SPDX-License-Identifier: Apache-2.0 */
/* The audit's database: every event of the journal that has been collected, as the line it was,
 * with what questions look for beside it. Rows are only ever added; the first of them may be
 * removed, and then the anchor says what the rest follows. */
#ifndef HUTCH_AUDIT_DATABASE_H
#define HUTCH_AUDIT_DATABASE_H

#include <sqlite3.h>

#include "store/audit_files.h"

struct audit_db {
    char directory[AUDIT_PATH_BYTES];
    int tended; /* nobody else collects, verifies or prunes */
    sqlite3 *sql;
};

#define AUDIT_DB_INIT    \
    {                    \
        "", -EBADF, NULL \
    }

/* This user's, made when there is none. 1: open, 0: there is no journal, and nothing was made. */
int audit_db_open(struct audit_db *db, struct hutch_error *err);
void audit_db_close(struct audit_db *db);

int audit_db_fail(const struct audit_db *db, const char *what, struct hutch_error *err);
int audit_db_run(const struct audit_db *db, const char *statements, struct hutch_error *err);
int audit_db_prepare(const struct audit_db *db, const char *statement, sqlite3_stmt **ret_query,
                     struct hutch_error *err);
static inline void audit_query_done(sqlite3_stmt **query)
{
    (void)sqlite3_finalize(*query);
}

/* What the first row follows: the anchor, or the beginning of all. */
int audit_db_anchor(const struct audit_db *db, struct audit_chain *ret_chain,
                    struct hutch_error *err);
/* What the next row has to follow. */
int audit_db_last(const struct audit_db *db, struct audit_chain *ret_chain,
                  struct hutch_error *err);

/* collect.c: what the journal has and the database has not; segments that are no longer needed go.
 */
int audit_collect(struct audit_db *db, struct hutch_error *err);

#endif
