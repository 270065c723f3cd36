/* SPDX-License-Identifier: Apache-2.0 */
/* The record of what was done: a journal that is only ever added to.
 *
 * An event is one line of JSON. Its last member is the hash of the line before it and of itself, so
 * nothing can be changed, moved or taken out without every later hash telling. From here events get
 * into a database, for questions (src/audit).
 *
 *     audit/head                    the last event: its number, its hash, where it ends. Byte 0 is
 *                                   locked while an event is added, byte 1 while the journal is
 *                                   tended, byte 16 + N as long as the life that event N began
 *     audit/segment-NUMBER          lines; NUMBER is that of its first event
 *
 * An event is there when the head says so: a line that a killed writer left behind the end is not
 * counted, and overwritten by the next. Nothing waits for the disk (docs/adr/0014). */
#ifndef HUTCH_STORE_AUDIT_H
#define HUTCH_STORE_AUDIT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"
#include "util/json_out.h"
#include "util/sha256.h"

#define AUDIT_NO_LOGIN UINT32_MAX
#define AUDIT_PATH_BYTES 420
#define AUDIT_LINE_MAX (256u << 10)
#define AUDIT_ARGV_BYTES \
    (4u << 10) /* of a command line; a longer one is cut, and told by its sum */

/* Who asked. */
struct audit_who {
    uint32_t uid;
    uint32_t login; /* who logged in, whatever they became; AUDIT_NO_LOGIN: nobody knows */
    pid_t pid;
    char program[32];
};

void audit_who_self(struct audit_who *ret_who);
/* Whoever is at the other end of a unix socket. */
void audit_who_peer(int socket, struct audit_who *ret_who);

/* Adds the event's own members to the line: "key": value. */
typedef void (*audit_fields_fn)(struct hutch_json_out *out, const void *userdata);

struct audit_event {
    const char *kind;            /* "run", "create", "exec", "end", "denied", ... */
    const struct audit_who *who; /* NULL: whoever opened the journal */
    audit_fields_fn fields;      /* may be NULL */
    const void *userdata;
    bool begins_life;   /* "end" has to follow; if this process dies before, a sweep writes it */
    uint64_t ends_life; /* the event that began it; 0: this ends none */
};

/* An open journal. The life that was begun through it last is its own; one that was begun before
 * may be ended later. */
struct audit {
    char directory[AUDIT_PATH_BYTES];
    int head;
    int segment;
    uint64_t first;         /* of the segment that is open */
    uint64_t segment_bytes; /* a new one is begun when one has reached this */
    uint64_t life;          /* the event that began it; 0: none */
    struct audit_who self;
};

#define AUDIT_INIT                                                   \
    {                                                                \
        .head = -EBADF, .segment = -EBADF, .segment_bytes = 4u << 20 \
    }

/* This user's journal, made when there is none. */
int audit_open(struct audit *audit, struct hutch_error *err);
/* Another directory's, which is there. */
int audit_open_at(struct audit *audit, const char *directory, struct hutch_error *err);
/* When it returns 0 the event is there, whoever is killed afterwards. */
int audit_append(struct audit *audit, const struct audit_event *event, struct hutch_error *err);
/* Lets go of its life, too: what has not ended by now is for the sweep. */
void audit_close(struct audit *audit);

/* One event of this process, with all that takes. */
int audit_write(const char *kind, audit_fields_fn fields, const void *userdata,
                struct hutch_error *err);

/* "argv": the words, or with as_digest the SHA-256 of them, each followed by a NUL. */
void audit_put_argv(struct hutch_json_out *out, char *const *words, size_t count, bool as_digest);

/* "life": "begins", or with the number of the event that began it "ends". */
#define AUDIT_LIFE_BEGINS "\"life\":\"begins\""
#define AUDIT_LIFE_ENDS "\"life\":\"ends\",\"of\":"
void audit_put_life(struct hutch_json_out *out, uint64_t of);

/* Has this user a journal? Where it is; nothing is made. */
bool audit_exists(char ret_path[AUDIT_PATH_BYTES]);
/* Writes the end of every life that nobody leads any more: its keeper was killed. Where there is no
 * journal there is nothing to do. */
int audit_end_the_dead(struct hutch_error *err);

#endif
