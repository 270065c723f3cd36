/* SPDX-License-Identifier: Apache-2.0 */
/* Every blob that is wanted becomes a job. Jobs are done in batches: of each, the blobs are begun
 * in the order of their digests (see blob_begin), fetched the largest first, and unpacked while
 * they come. What depends on the layers below is settled at the end, from the lowest up. */
#include "image/pull_layers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/implicit.h"
#include "image/pull_job.h"
#include "util/own.h"

#define PARALLEL_FETCHES 4
/* As many: a layer that is there and waits for a thread would be the last one, alone. */
#define PARALLEL_UNPACKS PARALLEL_FETCHES
/* Jobs hold descriptors, and more than so many at once make nothing faster. */
#define BATCH 64

typedef char digest_text[IMAGE_DIGEST_BYTES];

struct layers {
    struct crew crew;
    struct registry *registry;
    const struct manifest *manifest;
    const struct hutch_strlist *diff_ids;
    digest_text *stack_keys;
    struct layer_job **job_of; /* a layer's job; NULL: it is there, or another layer has its blob */
    struct layer_job *jobs;
    size_t job_count;
};

/* What the threads of one batch share. */
struct batch {
    struct layer_job *jobs[BATCH]; /* in the order in which they are fetched */
    size_t count;
    size_t next; /* guarded by the crew's mutex */
    struct crew *crew;
};

static void layers_done(struct layers *layers)
{
    for (size_t i = 0; i < layers->job_count; i++)
        job_done(&layers->jobs[i]);
    free(layers->jobs);
    free(layers->job_of);
    free(layers->stack_keys);
    (void)pthread_cond_destroy(&layers->crew.changed);
    (void)pthread_mutex_destroy(&layers->crew.mutex);
}

static struct layer_job *find_job(const struct layers *layers, const char *digest)
{
    for (size_t i = 0; i < layers->job_count; i++)
        if (!strcmp(layers->jobs[i].blob->digest, digest))
            return &layers->jobs[i];
    return NULL;
}

static struct layer_job new_job(struct layers *layers, size_t index)
{
    return (struct layer_job){.crew = &layers->crew,
                              .blob = &layers->manifest->layers[index],
                              .diff_id = layers->diff_ids->items[index],
                              .stack_key = layers->stack_keys[index],
                              .fd = HUTCH_NO_FD,
                              .dir = HUTCH_NO_FD};
}

/* ---- which layers have to be fetched ---- */

static int plan(struct layers *layers, struct hutch_error *err)
{
    size_t count = layers->manifest->layer_count;
    char name[16];
    int r = 0;
    layers->stack_keys = calloc(count, sizeof(*layers->stack_keys));
    layers->job_of = calloc(count, sizeof(struct layer_job *));
    layers->jobs = calloc(count, sizeof(*layers->jobs));
    if (!layers->stack_keys || !layers->job_of || !layers->jobs)
        return hutch_fail_nomem(err);
    for (size_t i = 0; r >= 0 && i < count; i++) {
        const char *diff_id = layers->diff_ids->items[i];
        const struct descriptor *blob = &layers->manifest->layers[i];
        r = implicit_stack_key(i ? layers->stack_keys[i - 1] : "", diff_id, layers->stack_keys[i],
                               err);
        bool is_unpacked = implicit_find(layers->crew.store, diff_id, layers->stack_keys[i], name);
        if (is_unpacked && store_has_blob(layers->crew.store, blob->digest, NULL)) {
            progress_tell(layers->crew.progress, "exists", blob->digest, blob->size, blob->size);
        } else if (!find_job(layers, blob->digest)) {
            layers->job_of[i] = &layers->jobs[layers->job_count];
            layers->jobs[layers->job_count++] = new_job(layers, i);
        }
    }
    return r;
}

/* ---- one batch ---- */

static int by_digest(const void *a, const void *b)
{
    const struct layer_job *one = *(struct layer_job *const *)a;
    const struct layer_job *other = *(struct layer_job *const *)b;
    return strcmp(one->blob->digest, other->blob->digest);
}

static int largest_first(const void *a, const void *b)
{
    const struct layer_job *one = *(struct layer_job *const *)a;
    const struct layer_job *other = *(struct layer_job *const *)b;
    return (one->blob->size < other->blob->size) - (one->blob->size > other->blob->size);
}

/* Another pull may have it under way: then this waits, and mostly finds the layer unpacked too. */
static int begin_job(struct layer_job *job, struct hutch_error *err)
{
    const struct image_store *store = job->crew->store;
    const struct descriptor *blob = job->blob;
    bool is_there = false;
    progress_tell(job->crew->progress, "wait", blob->digest, 0, blob->size);
    int r =
        blob_begin(store, blob->digest, blob->size, &job->writer, &is_there, &job->available, err);
    if (r < 0)
        return r;
    bool is_unpacked = implicit_find(store, job->diff_id, job->stack_key, job->name);
    if (is_there && is_unpacked) {
        progress_tell(job->crew->progress, "exists", blob->digest, blob->size, blob->size);
        return 0;
    }
    job->fd = is_there ? store_open_blob(store, blob->digest, err) : blob_descriptor(job->writer);
    return job->fd < 0 ? job->fd : 0;
}

static struct layer_job *next_job(struct batch *batch)
{
    struct layer_job *job = NULL;
    (void)pthread_mutex_lock(&batch->crew->mutex);
    while (!job && !batch->crew->has_failed && batch->next < batch->count) {
        job = batch->jobs[batch->next++];
        if (job->fd < 0)
            job = NULL; /* somebody else has done it meanwhile */
    }
    (void)pthread_mutex_unlock(&batch->crew->mutex);
    return job;
}

static void *unpack_jobs(void *context)
{
    struct batch *batch = context;
    for (struct layer_job *job; (job = next_job(batch));) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        if (job_run(job, &err) < 0)
            crew_fail(batch->crew, &err);
    }
    return NULL;
}

/* A server that sends too little would leave the unpacking threads waiting. */
static int check_arrived(const struct registry_get *gets, size_t count, struct hutch_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct layer_job *job = gets[i].context;
        if (job->available != job->blob->size)
            return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                              "layer '%.12s' ended after %llu of %llu bytes, pull again to go on",
                              IMAGE_DIGEST_HEX(job->blob->digest),
                              (unsigned long long)job->available,
                              (unsigned long long)job->blob->size);
    }
    return 0;
}

static int fetch_batch(struct registry *registry, const struct batch *batch,
                       struct hutch_error *err)
{
    struct registry_get gets[BATCH];
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        struct layer_job *job = batch->jobs[i];
        if (job->available < job->blob->size) /* then it has a writer, and nobody else uses that */
            gets[count++] = (struct registry_get){.blob = job->blob,
                                                  .from = job->available,
                                                  .restart = job_restart,
                                                  .sink = job_sink,
                                                  .context = job};
    }
    int r = count ? registry_get_blobs(registry, gets, count, PARALLEL_FETCHES, err) : 0;
    return r < 0 ? r : check_arrived(gets, count, err);
}

static int start_threads(struct batch *batch, pthread_t threads[PARALLEL_UNPACKS],
                         size_t *ret_count, struct hutch_error *err)
{
    int cause = 0;
    for (*ret_count = 0; *ret_count < PARALLEL_UNPACKS && *ret_count < batch->count;) {
        cause = pthread_create(&threads[*ret_count], NULL, unpack_jobs, batch);
        if (cause)
            break; /* fewer do as well */
        ++*ret_count;
    }
    return *ret_count ? 0 : hutch_fail_errno(err, cause, "start a thread to unpack layers");
}

static int run_batch(struct layers *layers, struct batch *batch, struct hutch_error *err)
{
    pthread_t threads[PARALLEL_UNPACKS];
    size_t started = 0;
    struct hutch_error cause = HUTCH_ERROR_INIT;
    int r = 0;
    qsort(batch->jobs, batch->count, sizeof(void *), by_digest);
    for (size_t i = 0; r >= 0 && i < batch->count; i++)
        r = begin_job(batch->jobs[i], err);
    qsort(batch->jobs, batch->count, sizeof(void *), largest_first);
    if (r >= 0)
        r = start_threads(batch, threads, &started, err);
    if (r < 0)
        return r;
    if (fetch_batch(layers->registry, batch, &cause) < 0)
        crew_fail(batch->crew, &cause);
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    if (!batch->crew->has_failed)
        return 0;
    *err = batch->crew->error;
    return -(int)err->code;
}

static int run_all(struct layers *layers, struct hutch_error *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < layers->job_count;) {
        struct batch batch = {.crew = &layers->crew};
        while (batch.count < BATCH && i < layers->job_count)
            batch.jobs[batch.count++] = &layers->jobs[i++];
        r = run_batch(layers, &batch, err);
    }
    return r;
}

/* ---- what depends on the layers below ---- */

static int settle(struct layers *layers, struct layer_job *job, const struct hutch_strlist *below,
                  struct hutch_error *err)
{
    char key[IMAGE_DIGEST_BYTES];
    int r = implicit_settle(layers->crew.store, job->dir, &job->result, below,
                            layers->stack_keys[below->count], key, err);
    if (r >= 0)
        r = layer_commit(job->layer, key, NULL, job->name, err);
    layer_free(HUTCH_TAKE_PTR(job->layer));
    if (r < 0)
        return hutch_wrap(err, "layer '%.12s': ", IMAGE_DIGEST_HEX(job->blob->digest));
    progress_tell(layers->crew.progress, "done", job->blob->digest, job->blob->size,
                  job->blob->size);
    return 0;
}

/* A blob that serves two layers of one image is unpacked once more where it takes something from
 * below. */
static int unpack_again(struct layers *layers, const struct hutch_strlist *below, char name[16],
                        struct hutch_error *err)
{
    hutch_cleanup(job_done) struct layer_job job = new_job(layers, below->count);
    job.available = job.blob->size;
    job.fd = store_open_blob(layers->crew.store, job.blob->digest, err);
    int r = job.fd < 0 ? job.fd : job_run(&job, err);
    if (r >= 0 && job.layer)
        r = settle(layers, &job, below, err);
    if (r >= 0)
        memcpy(name, job.name, sizeof(job.name));
    return r;
}

static int name_layer(struct layers *layers, size_t index, struct hutch_strlist *names,
                      struct hutch_error *err)
{
    struct layer_job *job = layers->job_of[index];
    char name[16] = "";
    int r = 0;
    if (job && job->layer)
        r = settle(layers, job, names, err);
    if (r >= 0 && job)
        memcpy(name, job->name, sizeof(name));
    else if (r >= 0 && !implicit_find(layers->crew.store, layers->diff_ids->items[index],
                                      layers->stack_keys[index], name))
        r = unpack_again(layers, names, name, err);
    return r < 0 ? r : hutch_strlist_add(names, name, err);
}

int pull_layers(const struct image_store *store, struct registry *registry,
                const struct manifest *manifest, const struct hutch_strlist *diff_ids,
                struct progress *progress, struct hutch_strlist *ret_names, struct hutch_error *err)
{
    hutch_cleanup(layers_done) struct layers layers = {
        .crew = {.store = store,
                 .progress = progress,
                 .mutex = PTHREAD_MUTEX_INITIALIZER,
                 .changed = PTHREAD_COND_INITIALIZER},
        .registry = registry,
        .manifest = manifest,
        .diff_ids = diff_ids,
    };
    int r = plan(&layers, err);
    if (r >= 0)
        r = run_all(&layers, err);
    for (size_t i = 0; r >= 0 && i < manifest->layer_count; i++)
        r = name_layer(&layers, i, ret_names, err);
    return r;
}
