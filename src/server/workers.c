/* SPDX-License-Identifier: Apache-2.0 */
#include "server/workers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "server/util.h"

/* Several times what the deepest of libhutch's calls take; only pages that were touched cost
 * anything. */
#define STACK_BYTES ((size_t)1024 * 1024)
#define IDLE_MS UINT64_C(5000)

struct job {
    struct job *next;
    void (*fn)(void *argument);
    void *argument;
};

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t has_job;
    pthread_cond_t has_ended;
    struct job *first;
    struct job **last;
    uint64_t count;
    uint64_t idle;   /* that wait for a job */
    uint64_t queued; /* jobs that nobody has taken */
    uint64_t most;
    bool is_ending;
};

int workers_new(uint64_t most, struct workers **ret_workers, struct hutch_error *err)
{
    struct workers *workers = calloc(1, sizeof(*workers));
    pthread_condattr_t forward;
    if (!workers)
        return server_fail_nomem(err);
    (void)pthread_condattr_init(&forward);
    (void)pthread_condattr_setclock(&forward, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&workers->lock, NULL);
    (void)pthread_cond_init(&workers->has_job, &forward);
    (void)pthread_cond_init(&workers->has_ended, &forward);
    (void)pthread_condattr_destroy(&forward);
    workers->last = &workers->first;
    workers->most = most;
    *ret_workers = workers;
    return 0;
}

static struct timespec from_now(uint64_t ms)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(ms / 1000);
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

/* NULL: this thread is to end. The lock is held. */
static struct job *take(struct workers *workers)
{
    struct timespec until = from_now(IDLE_MS);
    int waited = 0;
    workers->idle++;
    while (!workers->first && !workers->is_ending && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&workers->has_job, &workers->lock, &until);
    workers->idle--;
    struct job *job = workers->first;
    if (!job)
        return NULL;
    workers->first = job->next;
    if (!workers->first)
        workers->last = &workers->first;
    workers->queued--;
    return job;
}

static void *work(void *argument)
{
    struct workers *workers = argument;
    (void)pthread_mutex_lock(&workers->lock);
    for (struct job *job = take(workers); job; job = take(workers)) {
        (void)pthread_mutex_unlock(&workers->lock);
        job->fn(job->argument);
        free(job);
        (void)pthread_mutex_lock(&workers->lock);
    }
    workers->count--;
    (void)pthread_cond_signal(&workers->has_ended);
    (void)pthread_mutex_unlock(&workers->lock);
    return NULL;
}

/* Signals are the loop's alone. The lock is held. */
static int add_thread(struct workers *workers)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    (void)sigfillset(&all);
    int failed = pthread_attr_init(&attributes);
    if (failed)
        return failed;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&thread, &attributes, work, workers);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (!failed)
        workers->count++;
    return failed;
}

int workers_do(struct workers *workers, void (*fn)(void *argument), void *argument,
               struct hutch_error *err)
{
    struct job *job = malloc(sizeof(*job));
    int failed = 0;
    if (!job)
        return server_fail_nomem(err);
    *job = (struct job){NULL, fn, argument};
    (void)pthread_mutex_lock(&workers->lock);
    if (workers->idle <= workers->queued && workers->count < workers->most)
        failed = add_thread(workers);
    if (failed && !workers->count) {
        (void)pthread_mutex_unlock(&workers->lock);
        free(job);
        return server_fail(err, HUTCH_E_UNAVAILABLE, "start a thread: %s", strerror(failed));
    }
    *workers->last = job;
    workers->last = &job->next;
    workers->queued++;
    (void)pthread_cond_signal(&workers->has_job);
    (void)pthread_mutex_unlock(&workers->lock);
    return 0;
}

uint64_t workers_count(struct workers *workers)
{
    (void)pthread_mutex_lock(&workers->lock);
    uint64_t count = workers->count;
    (void)pthread_mutex_unlock(&workers->lock);
    return count;
}

bool workers_end(struct workers *workers, uint64_t patience_ms)
{
    struct timespec until = from_now(patience_ms);
    int waited = 0;
    (void)pthread_mutex_lock(&workers->lock);
    workers->is_ending = true;
    (void)pthread_cond_broadcast(&workers->has_job);
    while (workers->count && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&workers->has_ended, &workers->lock, &until);
    bool is_over = !workers->count;
    (void)pthread_mutex_unlock(&workers->lock);
    if (!is_over)
        return false;
    (void)pthread_cond_destroy(&workers->has_job);
    (void)pthread_cond_destroy(&workers->has_ended);
    (void)pthread_mutex_destroy(&workers->lock);
    free(workers);
    return true;
}
