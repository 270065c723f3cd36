/* SPDX-License-Identifier: Apache-2.0 */
#include "image/feed.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "image/hash.h"
#include "image/inflate.h"

#define SLOTS 4u
#define SLOT_BYTES (256u << 10) /* whole blocks of an archive */

/* The thread owns the slot after the last filled one, the reader the first filled one. */
struct feed {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    size_t filled; /* how many were filled and emptied in all */
    size_t emptied;
    bool is_done;
    bool is_stopped;
    int status;
    struct hutch_error err;
    /* the thread's own until it has ended */
    struct inflate *inflate;
    struct hash *hash;
    uint64_t bytes;
    uint64_t max_bytes;
    /* the reader's own */
    bool is_lent; /* the first filled slot */
    size_t lengths[SLOTS];
    unsigned char *slots[SLOTS];
};

/* ---- the thread ---- */

static int fill(struct feed *feed, unsigned char *slot, size_t *ret_length, struct hutch_error *err)
{
    ssize_t length = inflate_fill(feed->inflate, slot, SLOT_BYTES, err);
    if (length < 0)
        return -1;
    feed->bytes += (size_t)length;
    if (feed->bytes > feed->max_bytes)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the layer is larger than %llu bytes when it is decompressed",
                          (unsigned long long)feed->max_bytes);
    hash_add(feed->hash, slot, (size_t)length);
    *ret_length = (size_t)length;
    return 0;
}

/* Waits until a slot is free. False: the reader has no more use for it. */
static bool wait_for_room(struct feed *feed)
{
    (void)pthread_mutex_lock(&feed->lock);
    while (!feed->is_stopped && feed->filled - feed->emptied == SLOTS)
        (void)pthread_cond_wait(&feed->changed, &feed->lock);
    bool goes_on = !feed->is_stopped;
    (void)pthread_mutex_unlock(&feed->lock);
    return goes_on;
}

static void hand_over(struct feed *feed, size_t length, int status, const struct hutch_error *err)
{
    (void)pthread_mutex_lock(&feed->lock);
    feed->status = status;
    feed->err = *err;
    feed->is_done = status < 0 || length == 0;
    if (!feed->is_done)
        feed->filled++;
    (void)pthread_cond_signal(&feed->changed);
    (void)pthread_mutex_unlock(&feed->lock);
}

static void *run(void *argument)
{
    struct feed *feed = argument;
    struct hutch_error err = HUTCH_ERROR_INIT;
    size_t slot = 0, length = 1;
    int status = 0;
    while (status == 0 && length && wait_for_room(feed)) {
        length = 0;
        status = fill(feed, feed->slots[slot], &length, &err);
        feed->lengths[slot] = length;
        hand_over(feed, length, status, &err);
        slot = (slot + 1) % SLOTS;
    }
    return NULL;
}

/* ---- the reader ---- */

/* The length of the first filled slot; 0 at the end, which may be a failure. */
static size_t wait_for_bytes(struct feed *feed)
{
    (void)pthread_mutex_lock(&feed->lock);
    while (feed->filled == feed->emptied && !feed->is_done)
        (void)pthread_cond_wait(&feed->changed, &feed->lock);
    size_t length = feed->filled == feed->emptied ? 0 : feed->lengths[feed->emptied % SLOTS];
    (void)pthread_mutex_unlock(&feed->lock);
    return length;
}

static void give_back(struct feed *feed)
{
    (void)pthread_mutex_lock(&feed->lock);
    feed->emptied++;
    (void)pthread_cond_signal(&feed->changed);
    (void)pthread_mutex_unlock(&feed->lock);
}

ssize_t feed_next(struct feed *feed, const char **ret_data)
{
    if (feed->is_lent)
        give_back(feed);
    size_t length = wait_for_bytes(feed);
    feed->is_lent = length > 0;
    *ret_data = (const char *)feed->slots[feed->emptied % SLOTS];
    errno = EIO;
    return length == 0 && feed_has_failed(feed, NULL) ? -1 : (ssize_t)length;
}

bool feed_has_failed(struct feed *feed, struct hutch_error *err)
{
    (void)pthread_mutex_lock(&feed->lock);
    bool failed = feed->status < 0;
    if (failed && err)
        *err = feed->err;
    (void)pthread_mutex_unlock(&feed->lock);
    return failed;
}

int feed_finish(struct feed *feed, char ret_digest[IMAGE_DIGEST_BYTES], uint64_t *ret_bytes,
                struct hutch_error *err)
{
    while (wait_for_bytes(feed))
        give_back(feed);
    if (feed_has_failed(feed, err))
        return -(int)err->code;
    *ret_bytes = feed->bytes;
    struct hash *hash = feed->hash;
    feed->hash = NULL;
    return hash_finish(hash, ret_digest, err);
}

/* ---- from beginning to end ---- */

static void release(struct feed *feed)
{
    inflate_free(feed->inflate);
    hash_free(feed->hash);
    for (size_t i = 0; i < SLOTS; i++)
        free(feed->slots[i]);
    (void)pthread_cond_destroy(&feed->changed);
    (void)pthread_mutex_destroy(&feed->lock);
    free(feed);
}

void feed_free(struct feed *feed)
{
    if (!feed)
        return;
    (void)pthread_mutex_lock(&feed->lock);
    feed->is_stopped = true;
    (void)pthread_cond_signal(&feed->changed);
    (void)pthread_mutex_unlock(&feed->lock);
    (void)pthread_join(feed->thread, NULL);
    release(feed);
}

static int prepare(struct feed *feed, layer_source *source, void *context, struct hutch_error *err)
{
    (void)pthread_mutex_init(&feed->lock, NULL);
    (void)pthread_cond_init(&feed->changed, NULL);
    feed->hash = hash_new();
    for (size_t i = 0; i < SLOTS; i++)
        if (!(feed->slots[i] = malloc(SLOT_BYTES)))
            return hutch_fail_nomem(err);
    int status = inflate_new(source, context, &feed->inflate, err);
    if (status < 0)
        return status;
    status = pthread_create(&feed->thread, NULL, run, feed);
    return status ? hutch_fail_errno(err, status, "cannot start a thread for the layer") : 0;
}

int feed_start(layer_source *source, void *context, uint64_t max_bytes, struct feed **ret_feed,
               struct hutch_error *err)
{
    struct feed *feed = calloc(1, sizeof(*feed));
    if (!feed)
        return hutch_fail_nomem(err);
    feed->max_bytes = max_bytes;
    int status = prepare(feed, source, context, err);
    if (status < 0) {
        release(feed);
        return status;
    }
    *ret_feed = feed;
    return 0;
}
