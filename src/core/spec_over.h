/* SPDX-License-Identifier: Apache-2.0 */
/* A spec laid over another that must not change: it shares every field with it but those that were
 * replaced. */
#ifndef HUTCH_CORE_SPEC_OVER_H
#define HUTCH_CORE_SPEC_OVER_H

#include "core/spec.h"

struct hutch_spec_over {
    struct hutch_spec spec;
    uint64_t owned; /* bit i: field i is its own, not the other's */
};

void hutch_spec_over_init(struct hutch_spec_over *over, const struct hutch_spec *below);
void hutch_spec_over_done(struct hutch_spec_over *over);

/* An empty slot of its own for the field, which counts as given from now on. */
void *hutch_spec_over_detach(struct hutch_spec_over *over, size_t index);
HUTCH_MUST_CHECK int hutch_spec_over_text(struct hutch_spec_over *over, const char *field,
                                          const char *text, struct hutch_error *err);

/* What only an operator gives, and an earlier decision has left, is gone. */
void hutch_spec_over_forget_decided(struct hutch_spec_over *over);

/* The spec that it was laid over becomes what it is. */
void hutch_spec_over_commit(struct hutch_spec_over *over, struct hutch_spec *below);

#endif
