/* SPDX-License-Identifier: Apache-2.0 */
/* A layer on its way: a blob that grows in the store, and a thread that unpacks it as it grows.
 *
 * One thread fetches all blobs and writes them (job_sink); a few others each take one layer after
 * the other and follow its file (job_run). They meet in the crew: how much of each blob is there,
 * and whether anybody has failed, which ends all the others. The fetching thread never waits for an
 * unpacking one, so there is no way for them to wait for each other. */
#ifndef HUTCH_IMAGE_PULL_JOB_H
#define HUTCH_IMAGE_PULL_JOB_H

#include <pthread.h>

#include "image/manifest.h"
#include "image/progress.h"
#include "image/store_add.h"

struct crew {
    const struct image_store *store;
    struct progress *progress;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool has_failed;
    struct hutch_error error; /* of who failed first */
};

struct layer_job {
    struct crew *crew;
    const struct descriptor *blob;
    const char *diff_id;
    const char *stack_key;      /* see implicit.h */
    struct blob_writer *writer; /* NULL: the blob is there already */
    int fd;                     /* to read it; belongs to the writer when there is one */
    uint64_t available;         /* guarded by the crew's mutex */
    uint64_t told;              /* of it, by the last report of progress */
    uint64_t offset;            /* how far the unpacking thread has read */
    struct layer_writer *layer; /* unpacked, and waiting for what is below; else NULL */
    int dir;
    struct layer_result result;
    char name[16]; /* of the unpacked layer in the store; empty: not yet */
};

void job_done(struct layer_job *job);
/* The first failure is kept, and everybody wakes up. */
void crew_fail(struct crew *crew, const struct hutch_error *err);
bool crew_has_failed(struct crew *crew);

/* Registry's side: see registry_get. */
int job_sink(void *context, const void *data, size_t length, struct hutch_error *err);
int job_restart(void *context, struct hutch_error *err);

/* Unpacks the layer, checks both digests, and gives blob and layer their places; a layer that
 * depends on what is below stays in job->layer. */
int job_run(struct layer_job *job, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
