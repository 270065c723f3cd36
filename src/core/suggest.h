/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CORE_SUGGEST_H
#define HUTCH_CORE_SUGGEST_H

#include <stddef.h>

/* Names offered one after the other; remembers the one nearest to what was written. */
struct hutch_suggestion {
    const char *written;
    const char *nearest; /* what to write instead, NULL when nothing is near */
    size_t distance;
};

#define HUTCH_SUGGESTION(text) \
    {                          \
        (text), NULL, 0        \
    }

/* If candidate is nearer to what was written than anything so far, instead becomes the
 * suggestion. */
void hutch_suggestion_offer(struct hutch_suggestion *suggestion, const char *candidate,
                            const char *instead);

#endif
