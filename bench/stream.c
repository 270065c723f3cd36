/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of a stream, for bench/egress.py.
 *
 *     stream serve               listens until it is killed; says "ready"
 *     stream get ADDRESS BYTES   reads so many; says how many nanoseconds it took
 *     stream put ADDRESS BYTES   the same the other way, until the server has all of them
 *     stream connect ADDRESS N   N connections, one after the other, each until the server's first
 *                                byte is there; says what each took
 *     stream apart ADDRESS N     the same with a processor for each of client and server, as on two
 *                                machines: on one, the scheduler likes to have them on the same */
#include <arpa/inet.h>
#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT 9100
#define GREETING_PORT 9101 /* a byte, and that is all */
#define APART_PORT 9102    /* the same, on the first processor */
#define CHUNK 262144
#define GREETING 'x'

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void send_bytes(int fd, uint64_t count)
{
    static char data[CHUNK];
    while (count) {
        ssize_t put = write(fd, data, count < CHUNK ? (size_t)count : CHUNK);
        if (put <= 0)
            err(1, "write");
        count -= (uint64_t)put;
    }
}

static void receive_bytes(int fd, uint64_t count)
{
    static char data[CHUNK];
    while (count) {
        ssize_t got = read(fd, data, count < CHUNK ? (size_t)count : CHUNK);
        if (got <= 0)
            err(1, "read");
        count -= (uint64_t)got;
    }
}

/* The request is a letter and a number. */
static void serve_one(int fd)
{
    const char greeting = GREETING;
    char request[17] = "";
    if (write(fd, &greeting, 1) != 1 || read(fd, request, 16) != 16)
        return;
    uint64_t count = strtoull(request + 1, NULL, 16);
    if (request[0] == 'g') {
        send_bytes(fd, count);
    } else {
        receive_bytes(fd, count);
        (void)!write(fd, &greeting, 1);
    }
}

static int listen_at(uint16_t port)
{
    const int yes = 1;
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 128) < 0)
        err(1, "listen");
    return fd;
}

/* On the first processor that we may use, or the last. */
static void stay_on(bool last)
{
    cpu_set_t all, one;
    size_t chosen = 0;
    if (sched_getaffinity(0, sizeof(all), &all) < 0)
        err(1, "sched_getaffinity");
    for (size_t i = CPU_SETSIZE; i-- > 0;)
        if (CPU_ISSET(i, &all) && !(last && chosen))
            chosen = i;
    CPU_ZERO(&one);
    CPU_SET(chosen, &one);
    if (sched_setaffinity(0, sizeof(one), &one) < 0)
        err(1, "sched_setaffinity");
}

static void greet(int listener)
{
    const char greeting = GREETING;
    int fd = accept(listener, NULL, NULL);
    (void)!write(fd, &greeting, 1);
    (void)close(fd);
}

static void greet_apart(int listener)
{
    pid_t pid = fork();
    if (pid < 0)
        err(1, "fork");
    if (pid > 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    stay_on(false);
    for (;;)
        greet(listener);
}

static void serve(void)
{
    struct pollfd polls[] = {{listen_at(PORT), POLLIN, 0}, {listen_at(GREETING_PORT), POLLIN, 0}};
    (void)signal(SIGPIPE, SIG_IGN);
    greet_apart(listen_at(APART_PORT));
    (void)puts("ready");
    (void)fflush(stdout);
    while (poll(polls, 2, -1) > 0) {
        if (polls[1].revents)
            greet(polls[1].fd);
        int fd = polls[0].revents ? accept(polls[0].fd, NULL, NULL) : -1;
        if (fd < 0)
            continue;
        serve_one(fd);
        (void)close(fd);
    }
}

static int reach(const char *address, uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    char greeting;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
        errx(1, "%s is no address", address);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || read(fd, &greeting, 1) != 1)
        err(1, "%s", address);
    return fd;
}

static void transfer(const char *address, uint64_t count, char way)
{
    char request[32];
    int fd = reach(address, PORT);
    (void)snprintf(request, sizeof(request), "%c%015" PRIx64, way, count);
    uint64_t began = now_ns();
    if (write(fd, request, 16) != 16)
        err(1, "write");
    if (way == 'g') {
        receive_bytes(fd, count);
    } else {
        send_bytes(fd, count);
        receive_bytes(fd, 1);
    }
    (void)printf("%" PRIu64 "\n", now_ns() - began);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "serve"))
        serve();
    if (argc != 4)
        errx(2, "usage: stream serve | get|put ADDRESS BYTES | connect|apart ADDRESS N");
    uint64_t count = strtoull(argv[3], NULL, 10);
    bool is_apart = !strcmp(argv[1], "apart");
    if (!is_apart && strcmp(argv[1], "connect") != 0) {
        transfer(argv[2], count, argv[1][0]);
        return 0;
    }
    if (is_apart)
        stay_on(true);
    for (; count; count--) {
        uint64_t began = now_ns();
        int fd = reach(argv[2], is_apart ? APART_PORT : GREETING_PORT);
        (void)printf("%" PRIu64 "\n", now_ns() - began);
        (void)close(fd);
    }
    return 0;
}
