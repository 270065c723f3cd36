/* SPDX-License-Identifier: Apache-2.0 */
#include "server/idempotency.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "server/call.h"
#include "server/kept.h"
#include "server/util.h"

#define KEY_BYTES 255

/* One key that is being answered, in the list of those. */
struct idempotent {
    struct idempotent *next;
    char name[KEPT_NAME_BYTES];
    char request[KEPT_NAME_BYTES];
};

struct idempotency {
    pthread_mutex_t lock; /* for the list */
    struct idempotent *first;
    struct kept *kept;
};

int idempotency_new(uint64_t most, struct idempotency **ret_idempotency, struct hutch_error *err)
{
    struct idempotency *idempotency = calloc(1, sizeof(*idempotency));
    if (!idempotency)
        return server_fail_nomem(err);
    (void)pthread_mutex_init(&idempotency->lock, NULL);
    if (kept_open(most, &idempotency->kept, err) < 0) {
        idempotency_free(idempotency);
        return -(int)err->code;
    }
    *ret_idempotency = idempotency;
    return 0;
}

void idempotency_free(struct idempotency *idempotency)
{
    if (!idempotency)
        return;
    kept_close(idempotency->kept);
    (void)pthread_mutex_destroy(&idempotency->lock);
    free(idempotency);
}

/* ---- those that are being answered ----------------------------------------------------------- */

/* False when there is one of this name. */
static bool claim(struct idempotency *idempotency, struct idempotent *own)
{
    bool is_free = true;
    (void)pthread_mutex_lock(&idempotency->lock);
    for (const struct idempotent *other = idempotency->first; other; other = other->next)
        is_free = is_free && strcmp(other->name, own->name) != 0;
    if (is_free) {
        own->next = idempotency->first;
        idempotency->first = own;
    }
    (void)pthread_mutex_unlock(&idempotency->lock);
    return is_free;
}

static void release(struct idempotency *idempotency, struct idempotent *own)
{
    (void)pthread_mutex_lock(&idempotency->lock);
    struct idempotent **place = &idempotency->first;
    while (*place != own)
        place = &(*place)->next;
    *place = own->next;
    (void)pthread_mutex_unlock(&idempotency->lock);
    free(own);
}

/* ---- a call ---------------------------------------------------------------------------------- */

static bool is_key(const char *text)
{
    size_t length = strlen(text);
    for (const char *at = text; *at; at++)
        if (*at < '!' || *at > '~')
            return false;
    return length > 0 && length <= KEY_BYTES;
}

/* A key is its tenant's own; the request is everything that makes it another one. */
static void name_it(const struct api_call *call, const char *key, struct idempotent *own)
{
    const char *const who[] = {call->who.tenant ? call->who.tenant : "", key, NULL};
    const char *const what[] = {http_method(call->exchange), http_path(call->exchange),
                                http_query(call->exchange), call->text ? call->text : "", NULL};
    kept_name(who, own->name);
    kept_name(what, own->request);
}

/* Answers with what was kept, or that it was another request. False when there is nothing. */
static bool answer_again(struct idempotency *idempotency, struct api_call *call,
                         const struct idempotent *own)
{
    struct kept_answer answer = {0};
    if (!kept_read(idempotency->kept, own->name, &answer))
        return false;
    if (strcmp(answer.request, own->request) != 0) {
        api_problem(call, 422, "conflict",
                    "this Idempotency-Key was used for another request; use a new one");
    } else {
        api_add_header(call, "Idempotency-Replayed", "true");
        if (*answer.location)
            api_add_header(call, "Location", answer.location);
        api_reply_bytes(call, answer.status, answer.type, answer.content, answer.content_length);
    }
    kept_answer_done(&answer);
    return true;
}

bool idempotency_begin(struct idempotency *idempotency, struct api_call *call)
{
    const char *key = http_field(call->exchange, "idempotency-key");
    if (!key || strcmp(call->route->method, "POST") != 0)
        return true;
    if (!is_key(key) || call->route->flags & API_BODY_PIPE) {
        api_problem(call, 400, "invalid",
                    call->route->flags & API_BODY_PIPE
                        ? "this request is not kept to be answered again: leave out Idempotency-Key"
                        : "an Idempotency-Key has 1 to 255 visible ASCII characters");
        return false;
    }
    struct idempotent *own = calloc(1, sizeof(*own));
    if (!own) {
        api_problem(call, 503, "no_memory", "out of memory");
        return false;
    }
    name_it(call, key, own);
    if (!claim(idempotency, own)) {
        free(own);
        api_add_header(call, "Retry-After", "1");
        api_problem(call, 409, "conflict",
                    "a request with this Idempotency-Key is being answered; ask again soon");
        return false;
    }
    if (answer_again(idempotency, call, own)) {
        release(idempotency, own);
        return false;
    }
    call->idempotent = own;
    return true;
}

/* Where what was made is; one that is too long is left out. */
static void copy_location(const struct api_call *call, char location[KEPT_LOCATION_BYTES])
{
    for (size_t i = 0; i < call->header_count; i++) {
        const char *value = call->headers[i].value;
        if (!strcmp(call->headers[i].name, "Location") && strlen(value) < KEPT_LOCATION_BYTES &&
            !strchr(value, ' '))
            memcpy(location, value, strlen(value) + 1);
    }
}

void idempotency_end(struct idempotency *idempotency, struct api_call *call)
{
    struct idempotent *own = call->idempotent;
    if (!own)
        return;
    call->idempotent = NULL;
    if (call->answer == CALL_ANSWERED && call->status >= 200 && call->status < 300) {
        struct kept_answer answer = {
            .status = call->status,
            .type = call->content_type,
            .content = call->content,
            .content_length = call->content_length,
        };
        copy_location(call, answer.location);
        kept_write(idempotency->kept, own->name, own->request, &answer);
    }
    release(idempotency, own);
}
