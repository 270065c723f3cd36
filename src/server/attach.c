/* SPDX-License-Identifier: Apache-2.0 */
/* The loop's side of a WebSocket to a session, and its life. */
#include "server/attach.h"

#include <string.h>
#include <sys/eventfd.h>

#include "server/server.h"

/* ---- life ------------------------------------------------------------------------------------ */

static void drop_messages(struct attach *attach)
{
    for (struct attach_message *message = attach->first_in, *next; message; message = next) {
        next = message->next;
        free(message);
    }
}

static void release(struct attach *attach)
{
    struct api_call *call = attach->call;
    if (--attach->uses)
        return;
    drop_messages(attach);
    hutch_sandbox_free(attach->reading);
    hutch_sandbox_free(attach->writing);
    server_closep(&attach->stop);
    (void)pthread_mutex_destroy(&attach->lock);
    (void)pthread_cond_destroy(&attach->has_room);
    free(attach->id);
    free(attach);
    api_end(call);
}

void attach_job_done(struct attach *attach, void (*fn)(void *argument))
{
    http_post(attach->http, fn, attach);
}

void attach_done(void *argument)
{
    release(argument);
}

static bool start_job(struct attach *attach, void (*job)(void *argument), struct hutch_error *err)
{
    attach->uses++;
    if (server_work(api_server(attach->call), job, attach, err) == 0)
        return true;
    attach->uses--;
    return false;
}

/* ---- to the client --------------------------------------------------------------------------- */

/* How much waits, as the connection sees it, besides what is still on its way to it. */
static void count_out(struct attach *attach, size_t sent)
{
    size_t pending = http_websocket_pending(attach->exchange);
    (void)pthread_mutex_lock(&attach->lock);
    attach->on_way -= sent;
    attach->out_bytes = pending;
    (void)pthread_cond_broadcast(&attach->has_room);
    (void)pthread_mutex_unlock(&attach->lock);
}

static void send_in_loop(void *argument)
{
    struct attach_message *message = argument;
    struct attach *attach = message->attach;
    if (message->close_code)
        http_websocket_close(attach->exchange, message->close_code, message->data);
    else
        http_websocket_send(attach->exchange, message->is_text, message->data, message->length);
    count_out(attach, message->length);
    free(message);
}

static struct attach_message *message_new(struct attach *attach, bool is_text, const char *data,
                                          size_t length)
{
    struct attach_message *message = malloc(sizeof(*message) + length + 1);
    if (!message)
        return NULL;
    *message = (struct attach_message){.attach = attach, .is_text = is_text, .length = length};
    if (length)
        memcpy(message->data, data, length);
    message->data[length] = '\0';
    return message;
}

static void post_out(struct attach *attach, struct attach_message *message)
{
    (void)pthread_mutex_lock(&attach->lock);
    attach->on_way += message->length;
    (void)pthread_mutex_unlock(&attach->lock);
    http_post(attach->http, send_in_loop, message);
}

bool attach_send(struct attach *attach, bool is_text, const char *data, size_t length)
{
    (void)pthread_mutex_lock(&attach->lock);
    while (!attach->is_closed && attach->on_way + attach->out_bytes > ATTACH_MOST_OUT)
        (void)pthread_cond_wait(&attach->has_room, &attach->lock);
    bool is_closed = attach->is_closed;
    (void)pthread_mutex_unlock(&attach->lock);
    struct attach_message *message = is_closed ? NULL : message_new(attach, is_text, data, length);
    if (!message)
        return false;
    post_out(attach, message);
    return true;
}

void attach_close(struct attach *attach, int code, const char *why)
{
    struct attach_message *message = message_new(attach, true, why, strlen(why));
    if (!message)
        return;
    message->close_code = code;
    post_out(attach, message);
}

static void on_room(struct http_exchange *exchange)
{
    count_out(http_userdata(exchange), 0);
}

/* ---- from the client ------------------------------------------------------------------------- */

static void let_go_on(void *argument)
{
    struct attach *attach = argument;
    (void)pthread_mutex_lock(&attach->lock);
    bool was_held = attach->is_held && attach->in_bytes <= ATTACH_MOST_IN / 2;
    attach->is_held &= !was_held;
    (void)pthread_mutex_unlock(&attach->lock);
    if (was_held)
        http_websocket_hold(attach->exchange, false);
}

struct attach_message *attach_next(struct attach *attach)
{
    (void)pthread_mutex_lock(&attach->lock);
    struct attach_message *message = attach->is_closed ? NULL : attach->first_in;
    attach->is_writing = message != NULL;
    if (message) {
        attach->first_in = message->next;
        attach->in_bytes -= message->length;
    }
    if (message && !attach->first_in)
        attach->last_in = &attach->first_in;
    bool may_go_on = attach->is_held && attach->in_bytes <= ATTACH_MOST_IN / 2;
    (void)pthread_mutex_unlock(&attach->lock);
    if (may_go_on)
        http_post(attach->http, let_go_on, attach);
    return message;
}

static void on_message(struct http_exchange *exchange, bool is_text, const char *data,
                       size_t length)
{
    struct attach *attach = http_userdata(exchange);
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct attach_message *message = message_new(attach, is_text, data, length);
    if (!message) {
        http_websocket_close(exchange, 1011, "out of memory");
        return;
    }
    (void)pthread_mutex_lock(&attach->lock);
    *attach->last_in = message;
    attach->last_in = &message->next;
    attach->in_bytes += length;
    bool is_too_much = attach->in_bytes > ATTACH_MOST_IN && !attach->is_held;
    attach->is_held |= is_too_much;
    bool is_first = !attach->is_writing;
    attach->is_writing = true;
    (void)pthread_mutex_unlock(&attach->lock);
    if (is_too_much)
        http_websocket_hold(exchange, true);
    if (is_first && !start_job(attach, attach_write, &err))
        http_websocket_close(exchange, 1011, "no thread is to be had; try again later");
}

static void on_close(struct http_exchange *exchange, int code)
{
    struct attach *attach = http_userdata(exchange);
    (void)code;
    (void)pthread_mutex_lock(&attach->lock);
    attach->is_closed = true;
    (void)pthread_cond_broadcast(&attach->has_room);
    (void)pthread_mutex_unlock(&attach->lock);
    (void)eventfd_write(attach->stop, 1);
    release(attach);
}

/* ---- its beginning --------------------------------------------------------------------------- */

/* Back in the loop: the session is there, or the call has its answer. */
void attach_found(void *argument)
{
    static const struct http_websocket_fns fns = {on_message, on_close, on_room};
    struct attach *attach = argument;
    struct hutch_error err = HUTCH_ERROR_INIT;
    http_set_userdata(attach->exchange, attach);
    attach->uses++; /* the open WebSocket's, which on_close gives back */
    if (!attach->is_found || http_websocket(attach->exchange, "hutch.v1", &fns) < 0)
        attach->uses--;
    else if (!start_job(attach, attach_read, &err))
        http_websocket_close(attach->exchange, 1011, "no thread is to be had; try again later");
    release(attach);
}

static struct attach *attach_new(struct api_call *call)
{
    struct attach *attach = calloc(1, sizeof(*attach));
    if (!attach)
        return NULL;
    attach->call = call;
    attach->exchange = api_exchange(call);
    attach->http = api_server(call)->http;
    attach->id = strdup(api_param(call, "exec"));
    attach->may_write = api_who(call)->scope >= API_WRITE;
    attach->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    attach->last_in = &attach->first_in;
    (void)pthread_mutex_init(&attach->lock, NULL);
    (void)pthread_cond_init(&attach->has_room, NULL);
    return attach;
}

void handle_session_websocket(struct api_call *call)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct attach *attach = attach_new(call);
    if (!attach) {
        api_problem(call, 503, "no_memory", "out of memory");
        api_end(call);
        return;
    }
    attach->uses = 1;
    bool is_whole = attach->id && attach->stop >= 0;
    if (is_whole && start_job(attach, attach_find, &err)) {
        attach->uses--; /* the job's is enough */
        return;
    }
    if (is_whole)
        api_fail(call, &err);
    else
        api_problem(call, 503, "unavailable", "no descriptor is to be had; try again later");
    release(attach);
}
