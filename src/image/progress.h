/* SPDX-License-Identifier: Apache-2.0 */
/* Telling the caller how far a longer work is, from several threads but never from two at once. */
#ifndef HUTCH_IMAGE_PROGRESS_H
#define HUTCH_IMAGE_PROGRESS_H

#include <pthread.h>

#include "hutch/image.h"
#include "image/digest.h"

struct progress {
    const struct hutch_image_options *options; /* may be NULL */
    pthread_mutex_t mutex;
};

#define PROGRESS_INIT(caller_options)                                   \
    {                                                                   \
        .options = (caller_options), .mutex = PTHREAD_MUTEX_INITIALIZER \
    }

/* Which blob, by the beginning of its digest, and how many of its bytes. */
void progress_tell(struct progress *progress, const char *action, const char *digest, uint64_t done,
                   uint64_t total);

#endif
