/* SPDX-License-Identifier: Apache-2.0 */
/* A stream in which exact values of secrets are replaced by "[secret NAME]", also when they come in
 * pieces. What may be the beginning of a value is held back until more is known. */
#ifndef HUTCH_SECRETS_REDACT_H
#define HUTCH_SECRETS_REDACT_H

#include "secrets/set.h"
#include "util/buf.h"

/* A shorter value is in everything that a program says. */
#define REDACT_MIN_BYTES 4
/* Of a chunk, so that what comes of it stays within REDACT_MAX_BYTES. */
#define REDACT_CHUNK_BYTES (32u << 10)
#define REDACT_MAX_BYTES (4u << 20)

struct redactor {
    const struct secret_set *set;
    struct secret_value held;
};

int redactor_check(const struct secret_set *set, struct hutch_error *err);
int redactor_open(struct redactor *redactor, const struct secret_set *set, struct hutch_error *err);
/* Appends to out what can be passed on; with is_end all that is left. */
void redactor_feed(struct redactor *redactor, const char *data, size_t length, bool is_end,
                   struct hutch_buf *out);
void redactor_done(struct redactor *redactor);

#endif
