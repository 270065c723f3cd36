/* SPDX-License-Identifier: Apache-2.0 */
#include "server/events_hub.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hutch/audit.h"
#include "server/events_listener.h"
#include "server/util.h"

#define STACK_BYTES (256u << 10)
#define BATCH 64

struct events_hub {
    pthread_mutex_t lock; /* of what comes before the blank line */
    struct listener *incoming;
    pthread_t thread;
    bool has_thread;
    bool is_ending;

    int wake; /* somebody came, or it ends */
    int poll;
    struct hutch_audit_watch *watch;
    struct events_who who;
    struct listener *listeners;
    uint64_t quiet_since_us;
};

struct events_hub *events_hub_new(void)
{
    struct events_hub *hub = calloc(1, sizeof(*hub));
    if (!hub)
        return NULL;
    (void)pthread_mutex_init(&hub->lock, NULL);
    hub->wake = hub->poll = SERVER_NO_FD;
    return hub;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void watch_fd(const struct events_hub *hub, int how, int fd, uint32_t events, void *whose)
{
    struct epoll_event event = {.events = events, .data.ptr = whose};
    (void)epoll_ctl(hub->poll, how, fd, &event);
}

/* Is told when there is room as long as there is something to say. */
static void settle(const struct events_hub *hub, struct listener *listener)
{
    bool wants = (listener->pending || listener->is_behind) && !listener->is_gone;
    if (wants != listener->wants_room)
        watch_fd(hub, EPOLL_CTL_MOD, listener->fd, wants ? EPOLLOUT : 0, listener);
    listener->wants_room = wants;
}

static void take_in(struct events_hub *hub)
{
    uint64_t ignored;
    (void)!read(hub->wake, &ignored, sizeof(ignored));
    (void)pthread_mutex_lock(&hub->lock);
    struct listener *incoming = hub->incoming;
    hub->incoming = NULL;
    (void)pthread_mutex_unlock(&hub->lock);
    while (incoming) {
        struct listener *listener = incoming;
        incoming = listener->next_one;
        listener->next_one = hub->listeners;
        hub->listeners = listener;
        watch_fd(hub, EPOLL_CTL_ADD, listener->gone_fd, EPOLLIN, listener);
        watch_fd(hub, EPOLL_CTL_ADD, listener->fd, 0, listener);
        settle(hub, listener);
    }
}

/* To everybody who is not behind. Who has no room for it is behind from here on. */
static int tell_all(void *userdata, uint64_t seq, const char *json, size_t length)
{
    struct events_hub *hub = userdata;
    struct events_event event = {.seq = seq, .json = json, .length = length};
    for (struct listener *listener = hub->listeners; listener; listener = listener->next_one) {
        if (listener->is_behind || listener->is_gone)
            continue;
        listener->is_behind = listener->pending || !listener_tell(listener, &hub->who, &event);
        settle(hub, listener);
    }
    events_event_done(&event);
    return 0;
}

static void keep_alive(struct events_hub *hub)
{
    uint64_t now = server_clock_us();
    if (now - hub->quiet_since_us < EVENTS_QUIET_MS * UINT64_C(1000))
        return;
    hub->quiet_since_us = now;
    for (struct listener *listener = hub->listeners; listener; listener = listener->next_one) {
        listener_be_quiet(listener);
        settle(hub, listener);
    }
}

/* The descriptors leave the set by themselves only when they are closed. */
static void let_go(const struct events_hub *hub, struct listener *listener)
{
    watch_fd(hub, EPOLL_CTL_DEL, listener->gone_fd, 0, NULL);
    watch_fd(hub, EPOLL_CTL_DEL, listener->fd, 0, NULL);
    listener_free(listener);
}

static void sweep(struct events_hub *hub, bool everybody)
{
    for (struct listener **at = &hub->listeners; *at;) {
        struct listener *listener = *at;
        if (!everybody && !listener->is_gone) {
            at = &listener->next_one;
            continue;
        }
        *at = listener->next_one;
        let_go(hub, listener);
    }
}

static void attend(struct events_hub *hub, struct listener *listener, uint32_t events)
{
    if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
        listener->is_gone = true;
    else
        listener_go_on(listener, &hub->who);
    settle(hub, listener);
}

static bool is_ending(struct events_hub *hub)
{
    (void)pthread_mutex_lock(&hub->lock);
    bool ending = hub->is_ending;
    (void)pthread_mutex_unlock(&hub->lock);
    return ending;
}

static void *run(void *argument)
{
    struct events_hub *hub = argument;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct epoll_event events[BATCH];
    while (!is_ending(hub)) {
        int count = epoll_wait(hub->poll, events, BATCH, EVENTS_QUIET_MS);
        bool has_news = false;
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == hub)
                take_in(hub);
            else if (!events[i].data.ptr)
                has_news = true;
            else
                attend(hub, events[i].data.ptr, events[i].events);
        }
        /* what is written while nobody can be told of it is found in the journal later */
        if (has_news)
            (void)!hutch_audit_watch_read(hub->watch, tell_all, hub, &ignored);
        keep_alive(hub);
        sweep(hub, false);
    }
    take_in(hub);
    sweep(hub, true);
    return NULL;
}

/* ---- from other threads ---------------------------------------------------------------------- */

/* The lock is held. */
static int start(struct events_hub *hub, struct hutch_error *err)
{
    pthread_attr_t attributes;
    if (hub->has_thread)
        return 0;
    if (!hub->watch && hutch_audit_watch_new(HUTCH_AUDIT_TO_COME, &hub->watch, err) < 0)
        return -(int)err->code;
    if (hub->wake < 0)
        hub->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (hub->poll < 0)
        hub->poll = epoll_create1(EPOLL_CLOEXEC);
    if (hub->wake < 0 || hub->poll < 0)
        return server_fail_errno(err, "listen to events");
    watch_fd(hub, EPOLL_CTL_ADD, hub->wake, EPOLLIN, hub);
    watch_fd(hub, EPOLL_CTL_ADD, hutch_audit_watch_fd(hub->watch), EPOLLIN, NULL);
    hub->quiet_since_us = server_clock_us();
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    errno = pthread_create(&hub->thread, &attributes, run, hub);
    (void)pthread_attr_destroy(&attributes);
    hub->has_thread = errno == 0;
    return hub->has_thread ? 0 : server_fail_errno(err, "make a thread that listens to events");
}

static void wake(const struct events_hub *hub)
{
    const uint64_t one = 1;
    (void)!write(hub->wake, &one, sizeof(one));
}

/* Whoever hears of what is to come hears of everything behind this moment: its number is fixed
 * before the client can know that it listens. */
static int fix_number(uint64_t *from, struct hutch_error *err)
{
    struct hutch_audit_watch *watch = NULL;
    if (*from != HUTCH_AUDIT_TO_COME)
        return 0;
    if (hutch_audit_watch_new(*from, &watch, err) < 0)
        return -(int)err->code;
    *from = hutch_audit_watch_next(watch);
    hutch_audit_watch_free(watch);
    return 0;
}

static void add(struct events_hub *hub, struct listener *listener)
{
    (void)pthread_mutex_lock(&hub->lock);
    bool is_too_late = hub->is_ending;
    if (!is_too_late) {
        listener->next_one = hub->incoming;
        hub->incoming = listener;
        wake(hub);
    }
    (void)pthread_mutex_unlock(&hub->lock);
    if (is_too_late)
        listener_free(listener);
}

/* Everything that may fail before the stream begins. */
static int prepare(struct events_hub *hub, uint64_t *from, struct listener **ret_listener,
                   struct hutch_error *err)
{
    (void)pthread_mutex_lock(&hub->lock);
    int status = start(hub, err);
    (void)pthread_mutex_unlock(&hub->lock);
    if (status == 0)
        status = fix_number(from, err);
    if (status < 0)
        return status;
    *ret_listener = calloc(1, sizeof(**ret_listener));
    return *ret_listener ? 0 : server_fail_nomem(err);
}

void events_hub_listen(struct events_hub *hub, struct api_call *call, enum events_form form,
                       uint64_t from, const char *label)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct events_out out;
    struct listener *listener = NULL;
    if (prepare(hub, &from, &listener, &err) < 0 || !listener) {
        api_fail(call, &err);
        return;
    }
    if (events_begin(call, form, &out) < 0) {
        free(listener);
        return;
    }
    (void)fcntl(out.fd, F_SETFL, O_NONBLOCK);
    *listener = (struct listener){.call = call,
                                  .fd = out.fd,
                                  .gone_fd = api_gone_fd(call),
                                  .form = form,
                                  .tenant = api_who(call)->tenant,
                                  .label = label,
                                  .next = from ? from : 1,
                                  .is_behind = true};
    api_keep(call);
    add(hub, listener);
}

void events_hub_end(struct events_hub *hub)
{
    (void)pthread_mutex_lock(&hub->lock);
    bool has_thread = hub->has_thread && !hub->is_ending;
    hub->is_ending = true;
    if (has_thread)
        wake(hub);
    (void)pthread_mutex_unlock(&hub->lock);
    if (has_thread)
        (void)pthread_join(hub->thread, NULL);
}

void events_hub_free(struct events_hub *hub)
{
    if (!hub)
        return;
    events_hub_end(hub);
    hutch_audit_watch_free(hub->watch);
    events_who_done(&hub->who);
    server_closep(&hub->wake);
    server_closep(&hub->poll);
    (void)pthread_mutex_destroy(&hub->lock);
    free(hub);
}
