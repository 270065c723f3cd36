/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/nameserver.h"

#include <string.h>

#include "egress/dns_wire.h"
#include "egress/gateway.h"

#define QUESTIONS_OF_A_TURN 32 /* then somebody else is next */
#define STREAM_PATIENCE_US 5000000

/* ---- datagrams ---- */

static bool serve_datagram(struct gateway *gateway, int fd)
{
    uint8_t message[DNS_MAX_QUESTION + 1], reply[DNS_MAX_REPLY];
    struct dns_client client = {.udp = fd, .address_bytes = sizeof(client.address)};
    ssize_t got = recvfrom(fd, message, sizeof(message), MSG_DONTWAIT,
                           (struct sockaddr *)&client.address, &client.address_bytes);
    if (got < 0)
        return false;
    size_t length = nameserver_answer(gateway, &client, message, (size_t)got, reply);
    if (length)
        (void)sendto(fd, reply, length, MSG_DONTWAIT | MSG_NOSIGNAL,
                     (struct sockaddr *)&client.address, client.address_bytes);
    return true;
}

static void serve_datagrams(struct gateway *gateway, int fd)
{
    for (int i = 0; i < QUESTIONS_OF_A_TURN; i++)
        if (!serve_datagram(gateway, fd))
            return;
}

static void on_datagram_4(struct watch *watch, uint32_t events)
{
    (void)events;
    serve_datagrams(LOOP_OWNER(watch, struct gateway, nameserver.udp[0]), watch->fd);
}

static void on_datagram_6(struct watch *watch, uint32_t events)
{
    (void)events;
    serve_datagrams(LOOP_OWNER(watch, struct gateway, nameserver.udp[1]), watch->fd);
}

/* ---- streams ---- */

static void close_stream(struct dns_stream *stream)
{
    loop_close(&stream->watch);
    loop_timer_unset(&stream->gateway->loop, &stream->deadline);
    stream->serial = 0;
}

static void stream_is_over(struct timer *timer)
{
    close_stream(LOOP_OWNER(timer, struct dns_stream, deadline));
}

/* A client that does not take its answer is given up. */
static void send_stream(struct dns_stream *stream, const uint8_t *reply, size_t length)
{
    uint8_t framed[2 + DNS_MAX_REPLY];
    dns_put16(framed, (unsigned)length);
    memcpy(framed + 2, reply, length);
    if (send(stream->watch.fd, framed, length + 2, MSG_DONTWAIT | MSG_NOSIGNAL) !=
        (ssize_t)length + 2)
        close_stream(stream);
}

static void serve_messages(struct dns_stream *stream)
{
    while (stream->watch.fd >= 0 && stream->received >= 2) {
        uint8_t reply[DNS_MAX_REPLY];
        struct dns_client client = {.udp = -1, .stream = stream, .serial = stream->serial};
        size_t length = dns_get16(stream->message);
        if (length > DNS_MAX_QUESTION) {
            close_stream(stream);
            return;
        }
        if (stream->received < 2 + length)
            return;
        size_t reply_length =
            nameserver_answer(stream->gateway, &client, stream->message + 2, length, reply);
        stream->received -= 2 + length;
        memmove(stream->message, stream->message + 2 + length, stream->received);
        if (reply_length)
            send_stream(stream, reply, reply_length);
    }
}

static void on_stream(struct watch *watch, uint32_t events)
{
    struct dns_stream *stream = LOOP_OWNER(watch, struct dns_stream, watch);
    (void)events;
    ssize_t got = recv(watch->fd, stream->message + stream->received,
                       sizeof(stream->message) - stream->received, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        close_stream(stream);
        return;
    }
    stream->received += (size_t)got;
    loop_timer_set(&stream->gateway->loop, &stream->deadline, STREAM_PATIENCE_US);
    serve_messages(stream);
}

/* The one that has been quiet for longest makes room. */
static struct dns_stream *find_stream(struct nameserver *server)
{
    struct dns_stream *oldest = &server->streams[0];
    for (size_t i = 0; i < NAMESERVER_STREAMS; i++) {
        struct dns_stream *stream = &server->streams[i];
        if (stream->watch.fd < 0)
            return stream;
        if (stream->deadline.due_us < oldest->deadline.due_us)
            oldest = stream;
    }
    close_stream(oldest);
    return oldest;
}

static void accept_streams(struct gateway *gateway, int fd)
{
    struct nameserver *server = &gateway->nameserver;
    for (int i = 0; i < QUESTIONS_OF_A_TURN; i++) {
        /* cppcheck-suppress nullPointer ; it has an attribute that says otherwise */
        int accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (accepted < 0)
            return;
        struct dns_stream *stream = find_stream(server);
        stream->watch.fd = accepted;
        stream->received = 0;
        stream->serial = ++server->last_serial ? server->last_serial : ++server->last_serial;
        if (loop_watch(&gateway->loop, &stream->watch, EPOLLIN) < 0)
            loop_close(&stream->watch);
        else
            loop_timer_set(&gateway->loop, &stream->deadline, STREAM_PATIENCE_US);
    }
}

static void on_stream_4(struct watch *watch, uint32_t events)
{
    (void)events;
    accept_streams(LOOP_OWNER(watch, struct gateway, nameserver.tcp[0]), watch->fd);
}

static void on_stream_6(struct watch *watch, uint32_t events)
{
    (void)events;
    accept_streams(LOOP_OWNER(watch, struct gateway, nameserver.tcp[1]), watch->fd);
}

/* ---- the whole ---- */

void nameserver_init(struct gateway *gateway)
{
    struct nameserver *server = &gateway->nameserver;
    server->udp[0] = (struct watch){.fd = -1, .on_event = on_datagram_4};
    server->udp[1] = (struct watch){.fd = -1, .on_event = on_datagram_6};
    server->tcp[0] = (struct watch){.fd = -1, .on_event = on_stream_4};
    server->tcp[1] = (struct watch){.fd = -1, .on_event = on_stream_6};
    for (size_t i = 0; i < NAMESERVER_STREAMS; i++)
        server->streams[i] = (struct dns_stream){.watch = {.fd = -1, .on_event = on_stream},
                                                 .gateway = gateway,
                                                 .deadline.on_due = stream_is_over};
}

void nameserver_take(struct gateway *gateway, bool is_udp, uint16_t family, int fd)
{
    struct nameserver *server = &gateway->nameserver;
    struct watch *watch = &(is_udp ? server->udp : server->tcp)[family == AF_INET6];
    loop_close(watch);
    watch->fd = fd;
    if (loop_watch(&gateway->loop, watch, EPOLLIN) < 0)
        loop_close(watch);
}

static void reply_to(const struct dns_client *client, const uint8_t *reply, size_t length)
{
    if (client->udp >= 0)
        (void)sendto(client->udp, reply, length, MSG_DONTWAIT | MSG_NOSIGNAL,
                     (const struct sockaddr *)&client->address, client->address_bytes);
    else if (client->stream->serial == client->serial)
        send_stream(client->stream, reply, length);
}

void nameserver_resume(struct gateway *gateway)
{
    struct nameserver *server = &gateway->nameserver;
    for (size_t i = 0; server->pending_count && i < NAMESERVER_PENDING; i++) {
        uint8_t reply[DNS_MAX_REPLY];
        if (!server->pending[i].is_used)
            continue;
        struct dns_pending pending = server->pending[i];
        server->pending[i].is_used = false;
        server->pending_count--;
        size_t length =
            nameserver_answer(gateway, &pending.client, pending.message, pending.length, reply);
        if (length)
            reply_to(&pending.client, reply, length);
    }
}

void nameserver_drain(struct gateway *gateway)
{
    for (size_t i = 0; i < HUTCH_COUNT(gateway->nameserver.udp); i++)
        if (gateway->nameserver.udp[i].fd >= 0)
            serve_datagrams(gateway, gateway->nameserver.udp[i].fd);
}
