/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are kept for 24 hours, a file each: so many of them and no more bytes than that, the
 * oldest go first. Any thread. */
#ifndef HUTCH_SERVER_KEPT_H
#define HUTCH_SERVER_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hutch/error.h"

#define KEPT_NAME_BYTES 65 /* a SHA-256 in digits */

#define KEPT_LOCATION_BYTES 256

struct kept;

struct kept_answer {
    char request[KEPT_NAME_BYTES];
    int status;
    char *type;                         /* NULL: no body */
    char location[KEPT_LOCATION_BYTES]; /* "": none */
    char *content;
    size_t content_length;
    char *own; /* where the others are, of one that was read */
};

HUTCH_MUST_CHECK int kept_open(uint64_t most, struct kept **ret_kept, struct hutch_error *err);
void kept_close(struct kept *kept);
/* Of texts up to NULL, each apart from the next. */
void kept_name(const char *const *texts, char ret_name[KEPT_NAME_BYTES]);
bool kept_read(struct kept *kept, const char *name, struct kept_answer *ret_answer);
void kept_answer_done(struct kept_answer *answer);
/* Where it cannot be written, that is said; the answer is given all the same. */
void kept_write(struct kept *kept, const char *name, const char *request,
                const struct kept_answer *answer);

#endif
