/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's own files: for those who write, read or mend it. */
#ifndef HUTCH_STORE_AUDIT_FILES_H
#define HUTCH_STORE_AUDIT_FILES_H

#include "store/audit.h"

#define AUDIT_SEGMENT_NAME_BYTES 40
#define AUDIT_SEGMENT_MAX_BYTES (64u << 20)

/* Bytes of the head that stand for something when they are locked. */
enum audit_lock { AUDIT_LOCK_ADD = 0, AUDIT_LOCK_TEND = 1, AUDIT_LOCK_LIVES = 16 };

struct audit_head {
    uint64_t first; /* the number of the segment that is written to */
    uint64_t seq;   /* of the last event; 0: there is none yet */
    uint64_t end;   /* of that event in its segment */
    char hash[SHA256_HEX_BYTES];
};

/* What the first event of all follows. */
void audit_head_begin(struct audit_head *head);
/* 1: read, 0: the file is empty, -1: it is damaged or cannot be read. */
int audit_head_read(int fd, struct audit_head *ret_head);
/* Returns 0, or -1 with errno. */
int audit_head_write(int fd, const struct audit_head *head);

/* type: F_RDLCK, F_WRLCK, F_UNLCK. Returns 0, or -1 with errno: ETIMEDOUT when somebody has held it
 * for longer than anybody should. */
int audit_lock(int head, uint64_t byte, short type, bool waits);
/* Of the whole file. */
void audit_unlock_all(int head);
bool audit_is_alive(int head, uint64_t life);

void audit_segment_path(const char *directory, uint64_t first,
                        char ret_path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES]);
/* The numbers of all segments that are there, in order. Free them with free(). */
int audit_segments(const char *directory, uint64_t **ret_firsts, size_t *ret_count,
                   struct hutch_error *err);

/* ---- lines ---- */

/* What the next line has to follow. */
struct audit_chain {
    uint64_t seq;
    char hash[SHA256_HEX_BYTES];
};

/* The members between "time" and "hash". */
int audit_line_body(struct hutch_buf *body, const struct audit_event *event,
                    const struct audit_who *self, struct hutch_error *err);
/* What comes before and behind the body: the line is before, body, behind. */
#define AUDIT_BEFORE_BYTES 96
#define AUDIT_BEHIND_BYTES 96
struct audit_frame {
    char before[AUDIT_BEFORE_BYTES];
    char behind[AUDIT_BEHIND_BYTES];
    struct audit_chain chain; /* after this line */
};
void audit_line_frame(const struct audit_chain *after, const struct hutch_buf *body,
                      struct audit_frame *ret_frame);
/* Number and hash as the line has them, without a look at whether they are right. The line goes
 * without its end. */
bool audit_line_read(const char *line, size_t length, struct audit_chain *ret_chain);
/* Does the line follow? The chain goes on with what the line says of itself in any case, so that
 * one fault is told once. why: half a sentence, empty when it follows. */
bool audit_line_check(struct audit_chain *chain, const char *line, size_t length, char *why,
                      size_t size);

/* ---- reading ---- */

struct audit_entry {
    const char *line; /* without its end; NULL: something is wrong that no line tells */
    size_t length;
    uint64_t seq;         /* as it says, or as it would be */
    const char *segment;  /* the name of the file */
    uint64_t line_number; /* in it, from 1 */
    const char *fault;    /* why it does not follow from the one before; NULL: it does */
};
/* Anything but 0 ends the walk. */
typedef int (*audit_entry_fn)(void *userdata, const struct audit_entry *entry);
/* Every line of the journal that comes after the chain's event, and at last whether it ends where
 * the head says. The chain is moved along. Where there is no journal: nothing. */
int audit_walk(const char *directory, struct audit_chain *chain, audit_entry_fn on_entry,
               void *userdata, struct hutch_error *err);

/* ---- mending ---- */

/* Does the segment hold a whole line? */
bool audit_has_line(const char *directory, uint64_t first);
/* The head does not fit what is there. A new segment is begun behind everything, and its first
 * event tells; what is there stays as it is, for whoever verifies. The lock is held. */
int audit_mend(struct audit *audit, const struct audit_head *head, struct audit_head *ret_head,
               struct hutch_error *err);

#endif
