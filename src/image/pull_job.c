/* SPDX-License-Identifier: Apache-2.0 */
#include "image/pull_job.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "util/own.h"

/* Bytes between two reports of progress. */
#define REPORT_BYTES (512u << 10)
/* That are worth waking those who wait for them: they arrive by sixteen kilobytes. */
#define WAKE_BYTES (256u << 10)

void job_done(struct layer_job *job)
{
    if (!job->writer)
        hutch_fd_close(&job->fd);
    blob_free(HUTCH_TAKE_PTR(job->writer));
    layer_free(HUTCH_TAKE_PTR(job->layer));
    layer_result_done(&job->result);
}

void crew_fail(struct crew *crew, const struct hutch_error *err)
{
    (void)pthread_mutex_lock(&crew->mutex);
    if (!crew->has_failed)
        crew->error = *err;
    crew->has_failed = true;
    (void)pthread_cond_broadcast(&crew->changed);
    (void)pthread_mutex_unlock(&crew->mutex);
}

bool crew_has_failed(struct crew *crew)
{
    (void)pthread_mutex_lock(&crew->mutex);
    bool has_failed = crew->has_failed;
    (void)pthread_mutex_unlock(&crew->mutex);
    return has_failed;
}

static int fail_given_up(struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, ECANCELED, "given up, another layer has failed");
}

/* ---- the fetching thread ---- */

static void set_available(struct layer_job *job, uint64_t available)
{
    struct crew *crew = job->crew;
    (void)pthread_mutex_lock(&crew->mutex);
    bool is_step = available / WAKE_BYTES != job->available / WAKE_BYTES;
    job->available = available;
    if (is_step || available == job->blob->size)
        (void)pthread_cond_broadcast(&crew->changed);
    (void)pthread_mutex_unlock(&crew->mutex);
}

/* Only this thread writes `available`, so it may read it without the lock. */
int job_sink(void *context, const void *data, size_t length, struct hutch_error *err)
{
    struct layer_job *job = context;
    if (crew_has_failed(job->crew))
        return fail_given_up(err);
    int r = blob_write(job->writer, data, length, err);
    if (r < 0)
        return r;
    uint64_t available = job->available + length;
    set_available(job, available);
    if (available - job->told >= REPORT_BYTES || available == job->blob->size) {
        job->told = available;
        progress_tell(job->crew->progress, "download", job->blob->digest, available,
                      job->blob->size);
    }
    return 0;
}

/* What was unpacked of the first try goes on from where it was: should the bytes be others now,
 * they are not those of the layer's diff id. */
int job_restart(void *context, struct hutch_error *err)
{
    struct layer_job *job = context;
    set_available(job, 0);
    job->told = 0;
    return blob_rewind(job->writer, err);
}

/* ---- an unpacking thread ---- */

/* Waits until there is more than `than` bytes of the blob. */
static int await_bytes(struct layer_job *job, uint64_t than, uint64_t *ret_available,
                       struct hutch_error *err)
{
    struct crew *crew = job->crew;
    (void)pthread_mutex_lock(&crew->mutex);
    while (!crew->has_failed && job->available <= than)
        (void)pthread_cond_wait(&crew->changed, &crew->mutex);
    bool has_failed = crew->has_failed;
    *ret_available = job->available;
    (void)pthread_mutex_unlock(&crew->mutex);
    return has_failed ? fail_given_up(err) : 0;
}

static void tell_unpacking(const struct layer_job *job, uint64_t available, size_t got)
{
    bool is_step = (job->offset - got) / REPORT_BYTES != job->offset / REPORT_BYTES;
    if (is_step && available == job->blob->size)
        progress_tell(job->crew->progress, "unpack", job->blob->digest, job->offset,
                      job->blob->size);
}

static ssize_t follow(void *context, void *buffer, size_t size, struct hutch_error *err)
{
    struct layer_job *job = context;
    while (job->offset < job->blob->size) {
        uint64_t available = 0;
        if (await_bytes(job, job->offset, &available, err) < 0)
            return -1;
        uint64_t left = available - job->offset;
        ssize_t got = pread(job->fd, buffer, left < size ? (size_t)left : size, (off_t)job->offset);
        if (got < 0 && errno != EINTR) {
            (void)hutch_fail_errno(err, errno, "read it from the image store");
            return -1;
        }
        if (got > 0) {
            job->offset += (uint64_t)got;
            tell_unpacking(job, available, (size_t)got);
            return got;
        } /* else it was emptied meanwhile, to begin again */
    }
    return 0;
}

static int unpack(struct layer_job *job, struct hutch_error *err)
{
    int r = layer_begin(job->crew->store, &job->layer, &job->dir, err);
    if (r < 0)
        return r;
    const struct layer_options options = {
        .dir = job->dir, .source = follow, .context = job, .keeps_owners = geteuid() == 0};
    r = layer_unpack(&options, &job->result, err);
    if (r < 0)
        return r;
    if (strcmp(job->result.diff_id, job->diff_id) != 0)
        return hutch_fail(
            err, HUTCH_E_INVALID, EBADMSG,
            "its content is '%.19s' and not '%.19s' as the image's configuration says",
            job->result.diff_id, job->diff_id);
    if (job->result.implicit_dirs.count)
        return 0;
    r = layer_commit(job->layer, job->diff_id, layer_known_sum(&job->result), job->name, err);
    layer_free(HUTCH_TAKE_PTR(job->layer));
    return r;
}

/* The blob gets its name after the layer: who waits for the blob finds the layer too. Until all of
 * it is there the writer is the fetching thread's, also when somebody has failed. */
static int commit_blob(struct layer_job *job, struct hutch_error *err)
{
    uint64_t available = 0;
    if (!job->writer)
        return 0;
    int r = job->blob->size ? await_bytes(job, job->blob->size - 1, &available, err) : 0;
    if (r < 0)
        return r;
    r = blob_commit(job->writer, err);
    blob_free(HUTCH_TAKE_PTR(job->writer));
    job->fd = HUTCH_NO_FD;
    return r;
}

/* Of a blob that was damaged on its way, its digest tells more than what is wrong with it as an
 * archive. */
static void blame_blob(struct layer_job *job, struct hutch_error *err)
{
    struct hutch_error cause = HUTCH_ERROR_INIT;
    if (err->code == HUTCH_E_INVALID && commit_blob(job, &cause) < 0 && cause.os_errno != ECANCELED)
        *err = cause;
}

int job_run(struct layer_job *job, struct hutch_error *err)
{
    int r = job->name[0] ? 0 : unpack(job, err);
    if (r < 0)
        blame_blob(job, err);
    else
        r = commit_blob(job, err);
    if (r < 0)
        return hutch_wrap(err, "layer '%.12s': ", IMAGE_DIGEST_HEX(job->blob->digest));
    if (!job->layer)
        progress_tell(job->crew->progress, "done", job->blob->digest, job->blob->size,
                      job->blob->size);
    return 0;
}
