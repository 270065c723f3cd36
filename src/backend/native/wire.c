/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "util/fs.h"
#include "util/own.h"

/* A longer text goes as a memfd: the buffer for it would be on every keeper's stack, and a fresh
 * page of every client's. */
#define INLINE_BYTES (8u << 10)
#define TEXT_IS_MEMFD '\1' /* instead of the first letter of a verb */

void wire_begin(struct wire_message *message, const char *verb)
{
    message->text.length = 0;
    message->fd_count = 0;
    hutch_buf_append(&message->text, verb, strlen(verb) + 1);
}

void wire_add(struct wire_message *message, const char *key, const char *value)
{
    if (!value)
        return;
    hutch_buf_puts(&message->text, key);
    hutch_buf_append(&message->text, "=", 1);
    hutch_buf_append(&message->text, value, strlen(value) + 1);
}

void wire_add_number(struct wire_message *message, const char *key, uint64_t value)
{
    hutch_buf_puts(&message->text, key);
    hutch_buf_append(&message->text, "=", 1);
    hutch_buf_uint(&message->text, value);
    hutch_buf_append(&message->text, "", 1);
}

void wire_add_fd(struct wire_message *message, int fd)
{
    message->fds[message->fd_count++] = fd;
}

static ssize_t send_packet(int socket, const void *data, size_t length, const int *fds,
                           size_t fd_count)
{
    struct iovec part = {(void *)(uintptr_t)data, length};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * (WIRE_MAX_FDS + 1))];
    } control;
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd_count) {
        memset(&control, 0, sizeof(control));
        header.msg_control = control.space;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(rights), fds, sizeof(int) * fd_count);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &header, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}

static ssize_t send_as_memfd(int socket, const struct wire_message *message)
{
    int fds[WIRE_MAX_FDS + 1];
    const char mark = TEXT_IS_MEMFD;
    hutch_autofd int memfd = memfd_create("hutch-request", MFD_CLOEXEC);
    if (memfd < 0 || hutch_write_all(memfd, message->text.data, message->text.length) < 0)
        return -1;
    fds[0] = memfd;
    memcpy(fds + 1, message->fds, message->fd_count * sizeof(int));
    return send_packet(socket, &mark, 1, fds, message->fd_count + 1);
}

int wire_send(int socket, const struct wire_message *message, struct hutch_error *err)
{
    if (message->text.failed)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the command and its environment are too long (8 MiB are the most)");
    ssize_t sent = message->text.length > INLINE_BYTES
                       ? send_as_memfd(socket, message)
                       : send_packet(socket, message->text.data, message->text.length, message->fds,
                                     message->fd_count);
    if (sent >= 0)
        return 0;
    if (errno == EPIPE || errno == ECONNRESET)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, errno, "the sandbox's keeper is gone");
    return hutch_fail_errno(err, errno, "talk to the sandbox's keeper");
}

static void take_rights(struct msghdr *header, struct wire_message *message, int *ret_memfd,
                        bool memfd_first)
{
    struct cmsghdr *rights = CMSG_FIRSTHDR(header);
    if (!rights || rights->cmsg_type != SCM_RIGHTS)
        return;
    int fds[WIRE_MAX_FDS + 1];
    size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(fds, CMSG_DATA(rights), count * sizeof(int));
    size_t first = memfd_first && count ? 1 : 0;
    if (first)
        *ret_memfd = fds[0];
    for (size_t i = first; i < count; i++) {
        if (message->fd_count < WIRE_MAX_FDS)
            message->fds[message->fd_count++] = fds[i];
        else
            hutch_fd_close(&fds[i]);
    }
}

/* Read, not mapped: whoever sent it could still cut it short. */
static int read_memfd(int memfd, struct wire_message *message, struct hutch_error *err)
{
    char chunk[65536];
    off_t at = 0;
    ssize_t got;
    while ((got = pread(memfd, chunk, sizeof(chunk), at)) > 0) {
        hutch_buf_append(&message->text, chunk, (size_t)got);
        at += got;
    }
    if (got < 0)
        return hutch_fail_errno(err, errno, "read a long message");
    return 0;
}

int wire_receive(int socket, struct wire_message *ret_message, struct hutch_error *err)
{
    static const struct wire_message empty = WIRE_MESSAGE_INIT;
    char text[INLINE_BYTES];
    struct iovec part = {text, sizeof(text)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * (WIRE_MAX_FDS + 1))];
    } control;
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.space,
                            .msg_controllen = sizeof(control.space)};
    ssize_t got;
    *ret_message = empty;
    /* who closes with something unread resets the connection: told once, before what it has said */
    do
        got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    if (got < 0)
        return hutch_fail_errno(err, errno, "hear from the sandbox's keeper");
    if (got <= 0)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0, "the sandbox's keeper is gone");
    bool is_memfd = got == 1 && text[0] == TEXT_IS_MEMFD;
    hutch_autofd int memfd = HUTCH_NO_FD;
    take_rights(&header, ret_message, &memfd, is_memfd);
    int status = 0;
    if (is_memfd)
        status = read_memfd(memfd, ret_message, err);
    else
        hutch_buf_append(&ret_message->text, text, (size_t)got);
    const struct hutch_buf *whole = &ret_message->text;
    if (status == 0 && (whole->failed || !whole->length || whole->data[whole->length - 1]))
        status = hutch_fail(err, HUTCH_E_INVALID, EPROTO, "a message that is not one");
    if (status < 0)
        wire_done(ret_message);
    return status;
}

const char *wire_verb(const struct wire_message *message)
{
    return message->text.data;
}

const char *wire_next(const struct wire_message *message, const char *key, const char *after)
{
    const char *end = message->text.data + message->text.length;
    const char *line = after ? after : message->text.data;
    size_t length = strlen(key);
    for (line += strlen(line) + 1; line < end; line += strlen(line) + 1)
        if (!strncmp(line, key, length) && line[length] == '=')
            return line + length + 1;
    return NULL;
}

uint64_t wire_number(const struct wire_message *message, const char *key, uint64_t otherwise)
{
    const char *text = wire_get(message, key);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

int wire_take_fd(struct wire_message *message, size_t index)
{
    return index < message->fd_count ? HUTCH_TAKE_FD(message->fds[index]) : HUTCH_NO_FD;
}

void wire_done(struct wire_message *message)
{
    for (size_t i = 0; i < message->fd_count; i++)
        hutch_fd_close(&message->fds[i]);
    message->fd_count = 0;
    hutch_buf_done(&message->text);
}

void wire_fail(struct wire_message *message, const struct hutch_error *failure)
{
    wire_begin(message, "error");
    wire_add_number(message, "code", (uint64_t)failure->code);
    wire_add_number(message, "errno", (uint64_t)failure->os_errno);
    wire_add(message, "message", failure->msg);
}

int wire_check(const struct wire_message *answer, struct hutch_error *err)
{
    if (strcmp(wire_verb(answer), "error") != 0)
        return 0;
    const char *text = wire_get(answer, "message");
    return hutch_fail(err, (enum hutch_code)wire_number(answer, "code", HUTCH_E_INTERNAL),
                      (int)wire_number(answer, "errno", 0), "%s", text ? text : "an error");
}

int wire_ask(int socket, const struct wire_message *request, struct wire_message *ret_answer,
             struct hutch_error *err)
{
    if (wire_send(socket, request, err) < 0 || wire_receive(socket, ret_answer, err) < 0)
        return -(int)err->code;
    if (wire_check(ret_answer, err) == 0)
        return 0;
    wire_done(ret_answer);
    return -(int)err->code;
}
