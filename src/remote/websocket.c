/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/websocket.h"

#include <errno.h>
#include <openssl/evp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <wslay/wslay.h>

#include "util/own.h"

#define PROTOCOL "hutch.v1"
#define KEY_SALT "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* RFC 6455, section 1.3 */

enum {
    HEAD_CEILING = 64 << 10,
    MESSAGE_CEILING = 16 << 20,
    QUEUE_BYTES = 256 << 10,
    TURN_BYTES = 1 << 20,
    HEAD_TIMEOUT_MS = 30000,
};

struct remote_websocket {
    CURL *easy;
    curl_socket_t fd;
    wslay_event_context_ptr frames;
    struct hutch_buf early; /* what came right behind the head */
    size_t early_taken;
    remote_message_fn on_message;
    void *userdata;
    struct hutch_error err; /* of a message */
    size_t budget;          /* of this turn */
    bool is_cut;
};

void remote_websocket_free(struct remote_websocket *socket)
{
    if (!socket)
        return;
    if (socket->frames)
        wslay_event_context_free(socket->frames);
    hutch_buf_done(&socket->early);
    curl_easy_cleanup(socket->easy);
    free(socket);
}

int remote_websocket_fd(const struct remote_websocket *socket)
{
    return (int)socket->fd;
}

bool remote_websocket_wants_write(const struct remote_websocket *socket)
{
    return wslay_event_want_write(socket->frames) != 0;
}

bool remote_websocket_has_room(const struct remote_websocket *socket)
{
    return wslay_event_get_queued_msg_length(socket->frames) < QUEUE_BYTES;
}

bool remote_websocket_has_more(const struct remote_websocket *socket)
{
    return !socket->budget;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool await(const struct remote_websocket *socket, short events)
{
    struct pollfd ready = {.fd = (int)socket->fd, .events = events};
    int got;
    do
        got = poll(&ready, 1, HEAD_TIMEOUT_MS);
    while (got < 0 && errno == EINTR);
    return got > 0;
}

static int fail_cut(const struct remote_client *client, CURLcode code, struct hutch_error *err)
{
    return remote_fail_curl(client, code ? code : CURLE_OPERATION_TIMEDOUT, NULL, err);
}

static int connect_to(struct remote_websocket *socket, const struct remote_client *client,
                      struct hutch_error *err)
{
    char detail[CURL_ERROR_SIZE] = "";
    socket->easy = remote_easy(client);
    if (!socket->easy)
        return hutch_fail_nomem(err);
    (void)curl_easy_setopt(socket->easy, CURLOPT_URL, client->host.url);
    (void)curl_easy_setopt(socket->easy, CURLOPT_CONNECT_ONLY, 1L);
    (void)curl_easy_setopt(socket->easy, CURLOPT_ERRORBUFFER, detail);
    CURLcode code = curl_easy_perform(socket->easy);
    (void)curl_easy_setopt(socket->easy, CURLOPT_ERRORBUFFER, NULL);
    if (code == CURLE_OK)
        code = curl_easy_getinfo(socket->easy, CURLINFO_ACTIVESOCKET, &socket->fd);
    return code == CURLE_OK ? 0 : remote_fail_curl(client, code, detail, err);
}

static int send_all(const struct remote_websocket *socket, const struct remote_client *client,
                    const char *data, size_t length, struct hutch_error *err)
{
    while (length) {
        size_t sent = 0;
        CURLcode code = curl_easy_send(socket->easy, data, length, &sent);
        if (code == CURLE_AGAIN && await(socket, POLLOUT))
            continue;
        if (code != CURLE_OK)
            return fail_cut(client, code, err);
        data += sent;
        length -= sent;
    }
    return 0;
}

/* Up to the empty line; what follows it is kept. Ends the head with NUL and returns its length. */
static int receive_head(struct remote_websocket *socket, const struct remote_client *client,
                        struct hutch_buf *head, struct hutch_error *err)
{
    for (;;) {
        char piece[4096];
        size_t got = 0;
        CURLcode code = curl_easy_recv(socket->easy, piece, sizeof(piece), &got);
        if (code == CURLE_AGAIN && await(socket, POLLIN))
            continue;
        if (code != CURLE_OK || !got)
            return fail_cut(client, code == CURLE_OK ? CURLE_GOT_NOTHING : code, err);
        hutch_buf_append(head, piece, got);
        if (head->failed)
            return remote_fail_strange(err, "a head without an end");
        const char *end = memmem(head->data, head->length, "\r\n\r\n", 4);
        if (end)
            return (int)(end + 4 - head->data);
    }
}

static void make_key(char key[32])
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        memset(bytes, 0, sizeof(bytes)); /* it is no secret: it only tells answers apart */
    (void)EVP_EncodeBlock((unsigned char *)key, bytes, sizeof(bytes));
}

static void expected_accept(const char *key, char accept[32])
{
    char salted[96];
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    (void)snprintf(salted, sizeof(salted), "%s%s", key, KEY_SALT);
    (void)EVP_Digest(salted, strlen(salted), sum, &length, EVP_sha1(), NULL);
    (void)EVP_EncodeBlock((unsigned char *)accept, sum, (int)length);
}

/* The value of a line of the head, without blanks around it; NULL when there is none. */
static const char *head_value(const char *head, const char *name, char *value, size_t size)
{
    size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) != 0 || line[length] != ':')
            continue;
        line += length + 1;
        line += strspn(line, " \t");
        (void)snprintf(value, size, "%.*s", (int)strcspn(line, "\r\n \t"), line);
        return value;
    }
    return NULL;
}

/* The daemon said no. Its reasons follow the head, and may still be on their way. */
static int fail_refused(struct remote_websocket *socket, const struct remote_client *client,
                        struct hutch_buf *answer, size_t head_length, struct hutch_error *err)
{
    long status = 0;
    char text[24] = "";
    size_t wanted = 0;
    if (sscanf(answer->data, "HTTP/1.%*1[01] %ld", &status) != 1)
        return remote_fail_curl(client, CURLE_WEIRD_SERVER_REPLY, NULL, err);
    if (head_value(answer->data, "Content-Length", text, sizeof(text)))
        wanted = strtoul(text, NULL, 10);
    while (wanted < HEAD_CEILING && answer->length - head_length < wanted && !answer->failed) {
        char piece[4096];
        size_t got = 0;
        CURLcode code = curl_easy_recv(socket->easy, piece, sizeof(piece), &got);
        if (code == CURLE_AGAIN && await(socket, POLLIN))
            continue;
        if (code != CURLE_OK || !got)
            break;
        hutch_buf_append(answer, piece, got);
    }
    return remote_fail_status(client, status ? status : 500, answer->data + head_length,
                              answer->length - head_length, err);
}

static int shake_hands(struct remote_websocket *socket, const struct remote_client *client,
                       const char *path, struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_wipe) struct hutch_buf request = HUTCH_BUF(HEAD_CEILING);
    hutch_cleanup(hutch_buf_done) struct hutch_buf answer = HUTCH_BUF((size_t)2 * HEAD_CEILING);
    char key[32], accept[32], found[64];
    const char *host = strstr(client->host.url, "://") + 3;
    make_key(key);
    expected_accept(key, accept);
    hutch_buf_printf(&request,
                     "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Protocol: " PROTOCOL "\r\nUser-Agent: hutch/" HUTCH_VERSION
                     "\r\n",
                     path, host, key);
    if (client->host.token)
        hutch_buf_printf(&request, "Authorization: Bearer %s\r\n", client->host.token);
    hutch_buf_puts(&request, "\r\n");
    if (request.failed)
        return hutch_fail_nomem(err);
    if (send_all(socket, client, request.data, request.length, err) < 0)
        return -(int)err->code;
    int length = receive_head(socket, client, &answer, err);
    if (length < 0)
        return length;
    if (strncmp(answer.data, "HTTP/1.1 101", 12) != 0)
        return fail_refused(socket, client, &answer, (size_t)length, err);
    if (!head_value(answer.data, "Sec-WebSocket-Accept", found, sizeof(found)) ||
        strcmp(found, accept) != 0)
        return remote_fail_strange(err, "a WebSocket that is none");
    hutch_buf_append(&socket->early, answer.data + length, answer.length - (size_t)length);
    return socket->early.failed ? hutch_fail_nomem(err) : 0;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static ssize_t on_receive(wslay_event_context_ptr frames, uint8_t *buffer, size_t length, int flags,
                          void *userdata)
{
    struct remote_websocket *socket = userdata;
    size_t left = socket->early.length - socket->early_taken, got = 0;
    (void)flags;
    if (left) {
        got = left < length ? left : length;
        memcpy(buffer, socket->early.data + socket->early_taken, got);
        socket->early_taken += got;
        return (ssize_t)got;
    }
    CURLcode code =
        socket->budget ? curl_easy_recv(socket->easy, buffer, length, &got) : CURLE_AGAIN;
    if (code == CURLE_AGAIN) {
        wslay_event_set_error(frames, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    if (code == CURLE_OK && got) {
        socket->budget -= got < socket->budget ? got : socket->budget;
        return (ssize_t)got;
    }
    socket->is_cut = true;
    wslay_event_set_error(frames, WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static ssize_t on_send(wslay_event_context_ptr frames, const uint8_t *data, size_t length,
                       int flags, void *userdata)
{
    struct remote_websocket *socket = userdata;
    size_t sent = 0;
    (void)flags;
    CURLcode code = curl_easy_send(socket->easy, data, length, &sent);
    if (code == CURLE_OK)
        return (ssize_t)sent;
    socket->is_cut = code != CURLE_AGAIN;
    wslay_event_set_error(frames,
                          code == CURLE_AGAIN ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static int on_mask(wslay_event_context_ptr frames, uint8_t *buffer, size_t length, void *userdata)
{
    (void)userdata;
    if (getrandom(buffer, length, 0) == (ssize_t)length)
        return 0;
    wslay_event_set_error(frames, WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static void on_frame(wslay_event_context_ptr frames,
                     const struct wslay_event_on_msg_recv_arg *message, void *userdata)
{
    struct remote_websocket *socket = userdata;
    bool is_text = message->opcode == WSLAY_TEXT_FRAME;
    if (!is_text && message->opcode != WSLAY_BINARY_FRAME)
        return; /* wslay answers pings, and a close */
    if (!socket->err.code &&
        socket->on_message(socket->userdata, is_text, (const char *)message->msg,
                           message->msg_length, &socket->err) < 0)
        wslay_event_set_error(frames, WSLAY_ERR_CALLBACK_FAILURE);
}

static int make_frames(struct remote_websocket *socket, struct hutch_error *err)
{
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = on_receive,
        .send_callback = on_send,
        .genmask_callback = on_mask,
        .on_msg_recv_callback = on_frame,
    };
    if (wslay_event_context_client_init(&socket->frames, &callbacks, socket) != 0)
        return hutch_fail_nomem(err);
    wslay_event_config_set_max_recv_msg_length(socket->frames, MESSAGE_CEILING);
    return 0;
}

int remote_websocket_open(char *path, remote_message_fn on_message, void *userdata,
                          struct remote_websocket **ret_socket, struct hutch_error *err)
{
    hutch_autofree char *own = path;
    struct remote_client *client = NULL;
    struct remote_websocket *socket = calloc(1, sizeof(*socket));
    if (!socket || !own) {
        free(socket);
        return hutch_fail_nomem(err);
    }
    socket->early.ceiling = (size_t)2 * HEAD_CEILING;
    socket->on_message = on_message;
    socket->userdata = userdata;
    if (remote_client(&client, err) < 0 || connect_to(socket, client, err) < 0 ||
        shake_hands(socket, client, own, err) < 0 || make_frames(socket, err) < 0) {
        remote_websocket_free(socket);
        return -(int)err->code;
    }
    *ret_socket = socket;
    return 0;
}

int remote_websocket_send(struct remote_websocket *socket, bool is_text, const void *data,
                          size_t length, struct hutch_error *err)
{
    struct wslay_event_msg message = {.opcode = is_text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME,
                                      .msg = data,
                                      .msg_length = length};
    int failed = wslay_event_queue_msg(socket->frames, &message);
    /* one that is being closed takes nothing any more: what it says at last is on its way */
    return failed == WSLAY_ERR_NOMEM ? hutch_fail_nomem(err) : 0;
}

int remote_websocket_turn(struct remote_websocket *socket, struct hutch_error *err)
{
    socket->budget = TURN_BYTES;
    int failed = wslay_event_recv(socket->frames);
    if (!failed && !socket->err.code)
        failed = wslay_event_send(socket->frames);
    if (socket->err.code) {
        *err = socket->err;
        return -(int)err->code;
    }
    bool is_closed = wslay_event_get_close_received(socket->frames);
    if (!socket->is_cut && !is_closed && !wslay_event_get_read_enabled(socket->frames))
        return remote_fail_strange(err, "a message that is too large, or none");
    bool is_over = failed || socket->is_cut || is_closed;
    *err = (struct hutch_error)HUTCH_ERROR_INIT;
    return is_over ? -1 : 0;
}
