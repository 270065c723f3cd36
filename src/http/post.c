/* SPDX-License-Identifier: Apache-2.0 */
/* From any thread into the loop's: a queue, and an eventfd that says that it is not empty. */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "http/connection.h"
#include "util/error.h"
#include "util/own.h"

static struct post *take_all(struct posts *posts)
{
    (void)pthread_mutex_lock(&posts->lock);
    struct post *first = posts->first;
    posts->first = NULL;
    posts->last = &posts->first;
    (void)pthread_mutex_unlock(&posts->lock);
    return first;
}

static void call_all(struct posts *posts)
{
    for (struct post *post = take_all(posts), *next; post; post = next) {
        next = post->next;
        post->fn(post->argument);
        free(post);
    }
}

static void on_posts(evutil_socket_t fd, short events, void *userdata)
{
    uint64_t count;
    (void)events;
    /* First, so that what comes from now on is announced again. */
    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return;
    call_all(userdata);
}

int posts_init(struct http_server *server, struct hutch_error *err)
{
    struct posts *posts = &server->posts;
    posts->last = &posts->first;
    posts->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (posts->fd < 0)
        return hutch_fail_errno(err, errno, "make the descriptor that wakes the server");
    (void)pthread_mutex_init(&posts->lock, NULL);
    (void)event_assign(&posts->event, server->base, posts->fd, EV_READ | EV_PERSIST, on_posts,
                       posts);
    (void)event_add(&posts->event, NULL);
    return 0;
}

void posts_done(struct http_server *server)
{
    struct posts *posts = &server->posts;
    while (posts->first)
        call_all(posts); /* what they own would be lost otherwise */
    (void)event_del(&posts->event);
    hutch_fd_close(&posts->fd);
    (void)pthread_mutex_destroy(&posts->lock);
}

void http_post(struct http_server *server, void (*fn)(void *argument), void *argument)
{
    struct posts *posts = &server->posts;
    struct post *post;
    /* It cannot fail: what is posted is somebody's answer. Memory comes back. */
    while (!(post = malloc(sizeof(*post))))
        (void)usleep(1000);
    *post = (struct post){NULL, fn, argument};
    (void)pthread_mutex_lock(&posts->lock);
    bool was_empty = !posts->first;
    *posts->last = post;
    posts->last = &post->next;
    if (was_empty)
        (void)eventfd_write(posts->fd, 1);
    (void)pthread_mutex_unlock(&posts->lock);
}
