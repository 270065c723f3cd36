/* SPDX-License-Identifier: Apache-2.0 */
/* The outside: a name server, and servers that write down what they get. A process for each
 * connection, so that none waits for another. */
#include "world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/dns.h"
#include "egress/dns_wire.h"
#include "util/own.h"

/* ---- names ---- */

static const struct {
    const char *name;
    const char *alias;
    const char *address;
} names[] = {
    {"web.example", NULL, PUBLIC_ADDRESS},
    {"other.example", NULL, PUBLIC_ADDRESS},
    {"a.wild.example", NULL, PUBLIC_ADDRESS},
    {"b.wild.example", NULL, PUBLIC_ADDRESS},
    {"alias.example", "web.example", PUBLIC_ADDRESS},
    {"cut.example", NULL, PUBLIC_ADDRESS}, /* by TCP alone */
    {"private.example", NULL, "10.9.8.7"},
    {"loopback.example", NULL, "127.0.0.1"},
    {"metadata.example", NULL, "169.254.169.254"},
    {"closed.example", NULL, "93.184.216.35"},
};

static size_t answer_question(struct seen *seen, const uint8_t *message, size_t length, bool is_tcp,
                              uint8_t reply[DNS_MAX_REPLY])
{
    struct dns_question question;
    struct address address;
    if (dns_question_parse(message, length, &question) != DNS_OK)
        return 0;
    __atomic_add_fetch(&seen->questions, 1, __ATOMIC_SEQ_CST);
    (void)snprintf(seen->last_question, sizeof(seen->last_question), "%s", question.name);
    for (size_t i = 0; i < HUTCH_COUNT(names); i++) {
        if (strcmp(names[i].name, question.name) != 0)
            continue;
        if (question.type != DNS_A)
            return dns_reply(message, &question, DNS_OK, NULL, 0, reply);
        (void)address_parse(names[i].address, &address);
        bool is_cut = !strcmp(question.name, "cut.example") && !is_tcp;
        size_t count = dns_reply(message, &question, DNS_OK, is_cut ? NULL : &address, 1, reply);
        if (is_cut)
            reply[2] |= 2;
        if (!names[i].alias)
            return count;
        /* An alias first, and the address is the other name's. */
        question.has_options = false;
        count = dns_reply_name(message, &question, names[i].alias, 1, reply);
        uint8_t *at = reply + question.question_bytes;
        dns_put16(at + 2, DNS_CNAME);
        at = dns_put_name(reply + count, names[i].alias);
        static const uint8_t fixed[] = {0, DNS_A, 0, 1, 0, 0, 0, 1, 0, 4};
        memcpy(at, fixed, sizeof(fixed));
        memcpy(at + sizeof(fixed), address.bytes, 4);
        dns_put16(reply + 6, 2);
        dns_put16(reply + 10, 0);
        return (size_t)(at + sizeof(fixed) + 4 - reply);
    }
    return dns_reply(message, &question, DNS_NO_NAME, NULL, 0, reply);
}

static void serve_names(struct seen *seen, int fd)
{
    uint8_t message[DNS_MAX_QUESTION], reply[DNS_MAX_REPLY];
    struct sockaddr_storage from;
    socklen_t from_length = sizeof(from);
    ssize_t got = recvfrom(fd, message, sizeof(message), 0, (struct sockaddr *)&from, &from_length);
    size_t length = got > 0 ? answer_question(seen, message, (size_t)got, false, reply) : 0;
    if (length)
        (void)sendto(fd, reply, length, 0, (struct sockaddr *)&from, from_length);
}

static void serve_names_tcp(struct seen *seen, int fd)
{
    uint8_t message[2 + DNS_MAX_QUESTION], reply[2 + DNS_MAX_REPLY];
    if (read_some(fd, message, 2) != 2)
        return;
    size_t length = dns_get16(message);
    if (length > DNS_MAX_QUESTION || read_some(fd, message + 2, length) != (ssize_t)length)
        return;
    length = answer_question(seen, message + 2, length, true, reply + 2);
    dns_put16(reply, (unsigned)length);
    (void)!write(fd, reply, length + 2);
}

/* ---- services ---- */

static void note(struct seen *seen, const char *data, size_t length)
{
    size_t at = __atomic_fetch_add(&seen->length, length, __ATOMIC_SEQ_CST);
    if (at + length < SEEN_BYTES)
        memcpy(seen->bytes + at, data, length);
}

static void echo(struct seen *seen, int fd)
{
    char data[65536];
    ssize_t got;
    (void)seen;
    while ((got = read(fd, data, sizeof(data))) > 0)
        if (write(fd, data, (size_t)got) != got)
            return;
}

static void greet(struct seen *seen, int fd)
{
    (void)!write(fd, "220 hello\n", 10);
    echo(seen, fd);
}

static void part(struct seen *seen, int fd)
{
    (void)seen;
    (void)!write(fd, "220 bye\n", 8);
}

static void source(struct seen *seen, int fd)
{
    static unsigned char data[65536];
    (void)seen;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 31 + i / 256);
    for (size_t sent = 0; sent < BULK_BYTES; sent += sizeof(data))
        if (write(fd, data, sizeof(data)) != sizeof(data))
            return;
}

static void sink(struct seen *seen, int fd)
{
    static char data[65536];
    uint64_t count = 0;
    ssize_t got;
    (void)seen;
    while ((got = read(fd, data, sizeof(data))) > 0)
        count += (uint64_t)got;
    (void)!write(fd, &count, sizeof(count));
}

static void silent(struct seen *seen, int fd)
{
    (void)seen;
    (void)fd;
    (void)pause();
}

/* An answer for each empty line; one with Upgrade is agreed to. */
static void web(struct seen *seen, int fd)
{
    static const char fine[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    static const char switched[] = "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n";
    static char all[SEEN_BYTES];
    size_t length = 0, answered = 0;
    ssize_t got;
    while ((got = read(fd, all + length, sizeof(all) - 1 - length)) > 0) {
        note(seen, all + length, (size_t)got);
        length += (size_t)got;
        all[length] = '\0';
        for (char *end; (end = strstr(all + answered, "\r\n\r\n"));) {
            bool upgrades = strcasestr(all + answered, "\r\nupgrade:") != NULL;
            answered = (size_t)(end + 4 - all);
            (void)!write(fd, upgrades ? switched : fine, strlen(upgrades ? switched : fine));
        }
    }
}

static void tls(struct seen *seen, int fd)
{
    char data[16384];
    ssize_t got;
    while ((got = read(fd, data, sizeof(data))) > 0) {
        note(seen, data, (size_t)got);
        (void)!write(fd, "seen", 4);
    }
}

static void relay(struct seen *seen, int fd)
{
    (void)!write(fd, "220 proxied\n", 12);
    echo(seen, fd);
}

static void socks(struct seen *seen, int fd)
{
    uint8_t data[600];
    static const uint8_t method[] = {5, 2}, welcome[] = {1, 0};
    static const uint8_t reply[] = {5, 0, 0, 1, 127, 0, 0, 1, 0, 80};
    if (read_some(fd, data, 2) != 2 || read_some(fd, data + 2, data[1]) != data[1])
        return;
    (void)!write(fd, method, sizeof(method));
    ssize_t got = read(fd, data, sizeof(data));
    note(seen, (char *)data, got > 0 ? (size_t)got : 0);
    (void)!write(fd, welcome, sizeof(welcome));
    got = read(fd, data, sizeof(data));
    note(seen, (char *)data, got > 0 ? (size_t)got : 0);
    (void)!write(fd, reply, sizeof(reply));
    relay(seen, fd);
}

static void proxy(struct seen *seen, int fd)
{
    static const char fine[] = "HTTP/1.1 200 Connection established\r\nX: y\r\n\r\n220 proxied\n";
    char data[4096];
    ssize_t got = read(fd, data, sizeof(data));
    note(seen, data, got > 0 ? (size_t)got : 0);
    (void)!write(fd, fine, sizeof(fine) - 1);
    echo(seen, fd);
}

static const struct {
    uint16_t port;
    void (*serve)(struct seen *seen, int fd);
} services[] = {
    {53, serve_names_tcp}, {PORT_WEB, web},     {PORT_TLS, tls},       {PORT_WEB_TOO, web},
    {PORT_ECHO, echo},     {PORT_GREET, greet}, {PORT_SOURCE, source}, {PORT_SINK, sink},
    {PORT_SOCKS, socks},   {PORT_PROXY, proxy}, {PORT_SILENT, silent}, {PORT_PART, part},
};

static void accept_one(struct seen *seen, int listener, size_t which)
{
    int fd = accept(listener, NULL, NULL);
    if (fd < 0)
        return;
    __atomic_add_fetch(&seen->connections, services[which].port != 53, __ATOMIC_SEQ_CST);
    if (fork() == 0) {
        services[which].serve(seen, fd);
        _exit(0);
    }
    (void)close(fd);
}

static int open_server(int type, uint16_t port)
{
    const int yes = 1;
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 ||
        (type == SOCK_STREAM && listen(fd, 4096) < 0))
        _exit(1);
    return fd;
}

void servers_run(struct seen *seen)
{
    struct pollfd polls[HUTCH_COUNT(services) + 1];
    (void)signal(SIGCHLD, SIG_IGN);
    polls[0] = (struct pollfd){open_server(SOCK_DGRAM, 53), POLLIN, 0};
    for (size_t i = 0; i < HUTCH_COUNT(services); i++)
        polls[i + 1] = (struct pollfd){open_server(SOCK_STREAM, services[i].port), POLLIN, 0};
    __atomic_store_n(&seen->is_ready, true, __ATOMIC_RELEASE);
    for (;;) {
        (void)poll(polls, HUTCH_COUNT(polls), -1);
        if (polls[0].revents)
            serve_names(seen, polls[0].fd);
        for (size_t i = 0; i < HUTCH_COUNT(services); i++)
            if (polls[i + 1].revents)
                accept_one(seen, polls[i + 1].fd, i);
    }
}
