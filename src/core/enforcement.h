/* SPDX-License-Identifier: Apache-2.0 */
/* What each backend can enforce, and where. A backend's probe finds out what holds on this host,
 * which may be less, and never counts for more: the table in docs/BACKENDS.md is made from here. */
#ifndef HUTCH_CORE_ENFORCEMENT_H
#define HUTCH_CORE_ENFORCEMENT_H

#include "core/promise.h"

#define HUTCH_ENFORCED_ALWAYS ""

struct hutch_enforcement {
    const char *backend;
    /* By promise: NULL, never; HUTCH_ENFORCED_ALWAYS; or where it is, as half a sentence. */
    const char *where[HUTCH_PROMISE_COUNT];
};

/* A row for each backend. */
const struct hutch_enforcement *hutch_enforcements(size_t *ret_count);

/* What the backend may enforce at most; nothing of one that is not known. */
hutch_promise_set hutch_enforcement_most(const char *backend);
/* What it enforces wherever it runs. */
hutch_promise_set hutch_enforcement_least(const char *backend);

#endif
