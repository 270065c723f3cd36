/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to a sandbox that stays is noted before it is done, and again when it failed. */
#ifndef HUTCH_LIBHUTCH_NOTE_H
#define HUTCH_LIBHUTCH_NOTE_H

#include <stddef.h>

#include "hutch/sandbox.h"

struct note {
    const struct hutch_sandbox *sandbox;
    const char *kind;
    const char *from; /* of a copy: where from and where to. Of a fork: to. May be NULL */
    const char *to;
    size_t count; /* of an update: what is set to what */
    const char *const *fields;
    const char *const *texts;
};

/* Nothing may be done when this fails. */
int note_begin(const struct note *note, struct hutch_error *err);
/* Returns the status. */
int note_end(const struct note *note, int status, const struct hutch_error *err);

#endif
