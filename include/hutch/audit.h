/* SPDX-License-Identifier: Apache-2.0 */
/* What was done on this machine, by whom, and what it cost. Whoever runs sandboxes writes it
 * without being asked; these functions answer questions about it. They are in a library of their
 * own (libhutch-audit), for they need a database. */
#ifndef HUTCH_AUDIT_H
#define HUTCH_AUDIT_H

#include <stddef.h>
#include <stdint.h>

#include "hutch/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Start from HUTCH_AUDIT_QUERY_INIT: fields may be added at the end. */
struct hutch_audit_query {
    size_t size;
    const char
        *since; /* "2026-11-16", "2026-11-16T10:00:00Z", or how long ago ("90m"); NULL: all */
    const char *label;  /* "KEY" or "KEY=VALUE": of sandboxes and runs that have it; NULL: of any */
    const char *tenant; /* of its own sandboxes and runs; NULL: of any */
    const char *id;     /* of this sandbox or run; NULL: of any. Not for usage */
    uint64_t from;      /* events from this number on. Not for usage */
};
#define HUTCH_AUDIT_QUERY_INIT                                      \
    {                                                               \
        sizeof(struct hutch_audit_query), NULL, NULL, NULL, NULL, 0 \
    }

struct hutch_audit_event {
    uint64_t seq;
    const char *time;    /* UTC, as RFC 3339 has it */
    const char *kind;    /* "run", "create", "exec", "end", ... */
    int64_t uid;         /* who asked; -1: it is not known */
    const char *sandbox; /* its name, or the id of a run; "" where there is none */
    const char *detail;  /* the command line, or how it ended */
    const char *json;    /* all of it */
};
/* Anything but 0 ends the listing. */
typedef int (*hutch_audit_fn)(void *userdata, const struct hutch_audit_event *event);
/* In the order in which they happened. query may be NULL. */
HUTCH_API HUTCH_MUST_CHECK int hutch_audit_read(const struct hutch_audit_query *query,
                                                hutch_audit_fn on_event, void *userdata,
                                                struct hutch_error *err);

/* Events as they are written, by whichever process: what is there is read once, from where the last
 * call ended. */
struct hutch_audit_watch;
#define HUTCH_AUDIT_TO_COME UINT64_MAX
/* from: the number of the first event, or HUTCH_AUDIT_TO_COME. */
HUTCH_API HUTCH_MUST_CHECK int
hutch_audit_watch_new(uint64_t from, struct hutch_audit_watch **ret_watch, struct hutch_error *err);
HUTCH_API void hutch_audit_watch_free(struct hutch_audit_watch *watch);
/* Readable when there may be more. Borrowed. */
HUTCH_API int hutch_audit_watch_fd(const struct hutch_audit_watch *watch);
/* The number of the next event. */
HUTCH_API uint64_t hutch_audit_watch_next(const struct hutch_audit_watch *watch);
/* json goes without an end: it has `length` bytes. Anything but 0 ends the reading, behind this
 * event. */
typedef int (*hutch_audit_line_fn)(void *userdata, uint64_t seq, const char *json, size_t length);
/* What there is by now. It does not wait. */
HUTCH_API HUTCH_MUST_CHECK int hutch_audit_watch_read(struct hutch_audit_watch *watch,
                                                      hutch_audit_line_fn on_line, void *userdata,
                                                      struct hutch_error *err);

struct hutch_audit_fault {
    uint64_t seq;      /* of the event, or of where it would be */
    const char *where; /* the file, and the line in it */
    const char *what;  /* half a sentence */
};
typedef void (*hutch_audit_fault_fn)(void *userdata, const struct hutch_audit_fault *fault);

struct hutch_audit_verified {
    uint64_t events; /* that were looked at */
    uint64_t faults;
    uint64_t removed; /* events before them, whose time was over */
    uint64_t last_seq;
    char last_hash[65];
};
/* Follows the chain from its beginning to its end. Faults are no failure. expect: NULL, or
 * "SEQ:HASH" as an earlier call has told it, kept elsewhere: that event has to have that hash. */
HUTCH_API HUTCH_MUST_CHECK int hutch_audit_verify(const char *expect, hutch_audit_fault_fn on_fault,
                                                  void *userdata,
                                                  struct hutch_audit_verified *ret_verified,
                                                  struct hutch_error *err);

/* What runs and sandboxes that have ended used. */
struct hutch_audit_sum {
    const char *group; /* the label's value, the user's number, ...; "" where there is none */
    uint64_t runs;     /* lives of sandboxes too: from a start to its end */
    uint64_t cpu_us;
    double memory_mib_seconds; /* the highest use of each, times how long it lived */
    uint64_t egress_bytes;     /* both ways */
};
typedef int (*hutch_audit_sum_fn)(void *userdata, const struct hutch_audit_sum *sum);
/* by: "label.KEY", "user", "image", "backend" or "day". */
HUTCH_API HUTCH_MUST_CHECK int hutch_audit_usage(const char *by,
                                                 const struct hutch_audit_query *query,
                                                 hutch_audit_sum_fn on_sum, void *userdata,
                                                 struct hutch_error *err);

/* Removes what is older, from the beginning on and up to what still lives. What is left verifies.
 */
HUTCH_API HUTCH_MUST_CHECK int hutch_audit_prune(uint64_t older_than_ms, uint64_t *ret_removed,
                                                 struct hutch_error *err);

#ifdef __cplusplus
}
#endif
#endif
