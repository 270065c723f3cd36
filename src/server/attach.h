/* SPDX-License-Identifier: Apache-2.0 */
/* A WebSocket to a session, "hutch.v1": docs/API.md has its messages.
 *
 * The loop's thread has the WebSocket; two jobs in workers' threads wait for the session. One reads
 * its log, as long as the WebSocket is open. The other writes to it, and is there only while
 * something is to be written. What one side has for the other is bounded: a client who does not
 * read holds up the reading of the log, a command that does not read holds up the client.
 *
 * Jobs leave what they have to say to the loop, which counts them: what is here lives until the
 * last has come back and the WebSocket is closed. */
#ifndef HUTCH_SERVER_ATTACH_H
#define HUTCH_SERVER_ATTACH_H

#include <pthread.h>

#include "http/http.h"
#include "server/streams.h"

#define ATTACH_PIECE_BYTES ((size_t)64 << 10)
#define ATTACH_MOST_OUT ((size_t)256 << 10) /* on its way to the client */
#define ATTACH_MOST_IN ((size_t)256 << 10)  /* on its way to the command */

struct attach_message {
    struct attach_message *next;
    struct attach *attach; /* of one to the client */
    bool is_text;
    int close_code; /* 0: it is a message; else the text is why */
    size_t length;
    char data[];
};

struct attach {
    struct api_call *call;
    struct http_exchange *exchange;
    struct http_server *http;
    char *id;
    uint64_t offset;
    struct hutch_sandbox *reading; /* each job's own */
    struct hutch_sandbox *writing;
    bool is_found;
    bool may_write;
    bool has_complained; /* of input that could not be delivered */
    int stop;            /* an eventfd: the WebSocket is closed */
    unsigned uses;       /* jobs, and the open WebSocket: the loop's own */

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t has_room;
    bool is_closed;
    size_t on_way;    /* posted to the loop */
    size_t out_bytes; /* waiting in the connection */
    size_t in_bytes;
    bool is_held;
    bool is_writing; /* the job is there */
    struct attach_message *first_in;
    struct attach_message **last_in;
};

/* attach_work.c: the jobs. */
void attach_find(void *argument);
void attach_read(void *argument);
void attach_write(void *argument);

/* attach.c. Any thread: waits until there is room. False when the WebSocket is closed. */
bool attach_send(struct attach *attach, bool is_text, const char *data, size_t length);
/* Any thread: behind everything that was sent. */
void attach_close(struct attach *attach, int code, const char *why);
/* The writing job's next, NULL when it has nothing more to do. */
struct attach_message *attach_next(struct attach *attach);
/* The last word of a job. */
void attach_job_done(struct attach *attach, void (*fn)(void *argument));
void attach_found(void *argument);
void attach_done(void *argument);

#endif
