/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl makes the connection (socket, network, TLS) and hands it over; the few lines of HTTP that
 * turn it into a stream are written here. */
#include "backend/docker/hijack.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/docker/demux.h"
#include "core/json_in.h"
#include "util/own.h"

enum {
    RAW_BYTES = 256 << 10,
    HELD_BYTES = 64 << 10,
    HEAD_BYTES = 16 << 10,
    ANSWER_MS = 60000,
};

struct hijack {
    CURL *easy;
    curl_socket_t socket;
    struct demux demux;
    bool is_ended;
    bool is_dry; /* the last reading got nothing: poll tells when there is more */
    size_t at;   /* of what was read and not looked at yet */
    size_t end;
    /* What TLS has begun to send has to be sent with the same bytes from the same place. */
    size_t held;
    char problem[CURL_ERROR_SIZE];
    char raw[RAW_BYTES];
    char out[HELD_BYTES];
};

void hijack_free(struct hijack *hijack)
{
    if (!hijack)
        return;
    curl_easy_cleanup(hijack->easy);
    free(hijack);
}

int hijack_fd(const struct hijack *hijack)
{
    return (int)hijack->socket;
}

bool hijack_has_pending(const struct hijack *hijack)
{
    return hijack->at < hijack->end || (!hijack->is_dry && !hijack->is_ended);
}

bool hijack_has_ended(const struct hijack *hijack)
{
    return hijack->is_ended;
}

const char *hijack_errors(const struct hijack *hijack)
{
    return hijack->demux.errors;
}

/* ---- the stream ---- */

static ssize_t receive(struct hijack *hijack, char *buffer, size_t size)
{
    size_t length = 0;
    CURLcode code = curl_easy_recv(hijack->easy, buffer, size, &length);
    hijack->is_dry = code == CURLE_AGAIN;
    if (code == CURLE_AGAIN) {
        errno = EAGAIN;
        return -1;
    }
    /* A connection that is cut ends as one that is closed does: why the container is gone, or
     * whether, the engine is asked anyway. */
    if (code != CURLE_OK || !length)
        hijack->is_ended = true;
    return hijack->is_ended ? 0 : (ssize_t)length;
}

ssize_t hijack_read(struct hijack *hijack, void *buffer, size_t size)
{
    for (;;) {
        size_t used = 0;
        ptrdiff_t made = demux_feed(&hijack->demux, hijack->raw + hijack->at,
                                    hijack->end - hijack->at, &used, buffer, size);
        if (made < 0) {
            errno = EPROTO;
            return -1;
        }
        hijack->at += used;
        if (made > 0)
            return made;
        if (hijack->is_ended)
            return 0;
        ssize_t length = receive(hijack, hijack->raw, sizeof(hijack->raw));
        if (length < 0)
            return -1;
        hijack->at = 0;
        hijack->end = (size_t)length;
    }
}

ssize_t hijack_write(struct hijack *hijack, const void *data, size_t length)
{
    size_t sent = 0;
    if (!hijack->held) {
        hijack->held = length < HELD_BYTES ? length : HELD_BYTES;
        memcpy(hijack->out, data, hijack->held);
    }
    if (!hijack->held)
        return 0;
    CURLcode code = curl_easy_send(hijack->easy, hijack->out, hijack->held, &sent);
    if (code == CURLE_AGAIN) {
        errno = EAGAIN;
        return -1;
    }
    hijack->held = 0;
    if (code != CURLE_OK) {
        errno = EPIPE;
        return -1;
    }
    return (ssize_t)sent;
}

/* ---- the beginning ---- */

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int wait_for(const struct hijack *hijack, short events, int64_t deadline,
                    const struct docker_engine *engine, struct hutch_error *err)
{
    struct pollfd fds[] = {{.fd = (int)hijack->socket, .events = events},
                           {.fd = engine->keeper_fd, .events = POLLRDHUP}};
    int64_t left = deadline - now_ms();
    int ready = left > 0 ? poll(fds, 2, (int)left) : 0;
    if (ready < 0 && errno != EINTR)
        return hutch_fail_errno(err, errno, "wait for the engine");
    if (ready == 0)
        return docker_fail_transport(engine, hijack->easy, CURLE_OPERATION_TIMEDOUT,
                                     "no answer to the question for the container's streams", err);
    if (ready > 0 && fds[1].revents)
        return docker_fail_transport(engine, hijack->easy, CURLE_ABORTED_BY_CALLBACK, "", err);
    return 0;
}

static int send_head(struct hijack *hijack, const struct docker_engine *engine, const char *path,
                     int64_t deadline, struct hutch_error *err)
{
    char host[ENDPOINT_HOST_BYTES];
    struct hutch_buf head = HUTCH_BUF(HEAD_BYTES);
    int status = 0;
    (void)snprintf(host, sizeof(host), "%s", strstr(engine->endpoint.url, "://") + 3);
    hutch_buf_printf(&head,
                     "POST %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: hutch/" HUTCH_VERSION "\r\n"
                     "Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n",
                     engine->version.prefix, path, host);
    if (head.failed)
        status = hutch_fail_nomem(err);
    for (size_t at = 0; status == 0 && at < head.length;) {
        ssize_t sent = hijack_write(hijack, head.data + at, head.length - at);
        if (sent > 0)
            at += (size_t)sent;
        else if (errno == EAGAIN)
            status = wait_for(hijack, POLLOUT, deadline, engine, err);
        else
            status =
                docker_fail_transport(engine, hijack->easy, CURLE_SEND_ERROR, hijack->problem, err);
    }
    hutch_buf_done(&head);
    return status;
}

/* Until the empty line; what follows it belongs to the stream already. */
static int receive_head(struct hijack *hijack, const struct docker_engine *engine, int64_t deadline,
                        struct hutch_error *err)
{
    for (;;) {
        size_t room = HEAD_BYTES - 1 - hijack->end;
        ssize_t length = room ? receive(hijack, hijack->raw + hijack->end, room) : 0;
        if (length == 0)
            return docker_fail_transport(engine, hijack->easy, CURLE_RECV_ERROR, hijack->problem,
                                         err);
        if (length < 0 && wait_for(hijack, POLLIN, deadline, engine, err) < 0)
            return -(int)err->code;
        if (length < 0)
            continue;
        hijack->end += (size_t)length;
        hijack->raw[hijack->end] = '\0';
        const char *end = memmem(hijack->raw, hijack->end, "\r\n\r\n", 4);
        if (end) {
            hijack->at = (size_t)(end - hijack->raw) + 4;
            return 0;
        }
    }
}

static int check_head(const struct hijack *hijack, struct hutch_error *err)
{
    hutch_cleanup(hutch_value_done) struct hutch_value json = {0};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    long status = 0;
    if (sscanf(hijack->raw, "HTTP/1.%*1d %3ld", &status) != 1)
        return hutch_fail(err, HUTCH_E_SYSTEM, 0, "the engine's answer is not HTTP");
    if (status == 101 || status == 200)
        return 0;
    const char *object = strchr(hijack->raw + hijack->at, '{');
    if (object)
        (void)hutch_json_parse(object, strlen(object), &json, &ignored);
    return docker_fail_answer(status, &json, NULL, err);
}

static int connect_to(struct hijack *hijack, const struct docker_engine *engine,
                      struct hutch_error *err)
{
    docker_set_connection(engine, hijack->easy, hijack->problem);
    (void)curl_easy_setopt(hijack->easy, CURLOPT_URL, engine->endpoint.url);
    (void)curl_easy_setopt(hijack->easy, CURLOPT_CONNECT_ONLY, 1L);
    CURLcode code = curl_easy_perform(hijack->easy);
    if (code == CURLE_OK)
        code = curl_easy_getinfo(hijack->easy, CURLINFO_ACTIVESOCKET, &hijack->socket);
    if (code != CURLE_OK)
        return docker_fail_transport(engine, hijack->easy, code, hijack->problem, err);
    return 0;
}

int hijack_open(const struct docker_engine *engine, const char *path, struct hijack **ret_hijack,
                struct hutch_error *err)
{
    int64_t deadline = now_ms() + ANSWER_MS;
    struct hijack *hijack = calloc(1, sizeof(*hijack));
    if (!hijack)
        return hutch_fail_nomem(err);
    hijack->easy = curl_easy_init();
    int status = hijack->easy ? connect_to(hijack, engine, err) : hutch_fail_nomem(err);
    if (status == 0)
        status = send_head(hijack, engine, path, deadline, err);
    if (status == 0)
        status = receive_head(hijack, engine, deadline, err);
    if (status == 0)
        status = check_head(hijack, err);
    if (status < 0) {
        hijack_free(hijack);
        return status;
    }
    *ret_hijack = hijack;
    return 0;
}
