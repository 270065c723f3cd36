// SPDX-License-Identifier: Apache-2.0
/*
 * http_load: one HTTP request many times on connections that stay open, and how long each took.
 *
 * Theory of operation. -j threads share the requests; each has a connection of its own, opened and
 * used once before the clock starts. A request's time is the monotonic clock from the first byte
 * that is sent to the last that is received. With -i each thread asks at a steady pace, its first
 * time shifted so that they do not ask together: a request that comes late because the one before
 * took longer is sent at once, and its time counts from when it was due. A request whose answer has
 * another status than -s, or that got none, is counted and has no time. The answer has the form of
 * measure's.
 *
 * ADDRESS is a path (a unix socket) or a port of 127.0.0.1. The request's text comes from a file,
 * whole, head and body. Answers must have a Content-Length, or come in chunks.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, MAX_RUNS = 10000000, REQUEST_BYTES = 16384, ANSWER_BYTES = 1 << 20 };
#define SECOND_NS UINT64_C(1000000000)

struct load {
    const char *address;
    const char *request;
    const char *expected; /* "200" */
    uint64_t interval_ns;
    uint64_t begin_ns;
    long number; /* of this thread */
    long runs;
    long ok;
    long failed;
    int fd;
    uint64_t *sample_ns;
    char *answer;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t when_ns)
{
    struct timespec t = {.tv_sec = (time_t)(when_ns / SECOND_NS),
                         .tv_nsec = (long)(when_ns % SECOND_NS)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "http_load: %s: %s\n", what, why);
    exit(125);
}

static int connect_to(const char *address)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in port = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool is_path = strchr(address, '/') != NULL;
    int fd = socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, status;
    if (fd < 0)
        die("socket", strerror(errno));
    if (is_path) {
        if (strlen(address) >= sizeof(path.sun_path))
            die(address, "too long for a socket");
        memcpy(path.sun_path, address, strlen(address) + 1);
        status = connect(fd, (struct sockaddr *)&path, sizeof(path));
    } else {
        port.sin_port = htons((uint16_t)strtoul(address, NULL, 10));
        status = connect(fd, (struct sockaddr *)&port, sizeof(port));
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    if (status < 0)
        die(address, strerror(errno));
    return fd;
}

/* The whole answer's length when its head is there, 0 until then, or -1 when only its last chunk
 * will tell. */
static long whole_length(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n"),
               *field = strcasestr(answer, "\r\ncontent-length:");
    if (!end)
        return 0;
    if (!field || field > end)
        return -1;
    return end + 4 - answer + strtol(field + strlen("\r\ncontent-length:"), NULL, 10);
}

static bool receive_answer(struct load *load)
{
    long have = 0;
    while (have < ANSWER_BYTES - 1) {
        ssize_t n = read(load->fd, load->answer + have, (size_t)(ANSWER_BYTES - 1 - have));
        if (n <= 0)
            return false;
        have += n;
        load->answer[have] = '\0';
        long whole = whole_length(load->answer);
        if (whole > 0 && have >= whole)
            return true;
        if (whole < 0 && have > 5 && memcmp(load->answer + have - 5, "0\r\n\r\n", 5) == 0)
            return true;
    }
    return false;
}

static bool ask(struct load *load)
{
    size_t length = strlen(load->request);
    bool well = send(load->fd, load->request, length, MSG_NOSIGNAL) == (ssize_t)length &&
                receive_answer(load);
    if (!well) {
        close(load->fd);
        load->fd = connect_to(load->address);
        return false;
    }
    return strncmp(load->answer + strlen("HTTP/1.1 "), load->expected, 3) == 0;
}

static void *ask_all(void *argument)
{
    struct load *load = argument;
    uint64_t due = load->begin_ns + load->interval_ns * (uint64_t)load->number / 16;
    for (long i = 0; i < load->runs; i++, due += load->interval_ns) {
        if (load->interval_ns)
            sleep_until(due);
        else
            due = now_ns();
        if (ask(load))
            load->sample_ns[load->ok++] = now_ns() - due;
        else if (load->failed++ == 0)
            fprintf(stderr, "http_load: %.300s\n", load->answer);
    }
    return NULL;
}

static void print_outcome(const struct load *loads, long threads, uint64_t elapsed_ns)
{
    long ok = 0, failed = 0;
    printf("{\"samples_ns\": [");
    for (long i = 0; i < threads; i++) {
        for (long k = 0; k < loads[i].ok; k++)
            printf("%s%" PRIu64, ok++ ? ", " : "", loads[i].sample_ns[k]);
        failed += loads[i].failed;
    }
    printf("],\n \"runs\": %ld, \"failures\": %ld, \"parallel\": %ld, \"per_second\": %.2f}\n", ok,
           failed, threads, (double)ok * 1e9 / (double)elapsed_ns);
}

static long number(const char *text, long high)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || v < 0 || v > high)
        die(text, "not a number, or too large");
    return v;
}

static char *read_request(const char *path)
{
    static char text[REQUEST_BYTES];
    FILE *file = fopen(path, "re");
    if (!file)
        die(path, strerror(errno));
    size_t length = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    if (length == 0)
        die(path, "empty");
    return text;
}

static struct load open_load(struct load load, long thread)
{
    load.number = thread;
    load.sample_ns = calloc((size_t)load.runs, sizeof(uint64_t));
    load.answer = calloc(1, ANSWER_BYTES);
    if (!load.sample_ns || !load.answer)
        die(load.address, "no memory");
    load.fd = connect_to(load.address);
    if (!ask(&load)) /* it warms up */
        die("the first request", load.answer[0] ? load.answer : "no answer");
    return load;
}

int main(int argc, char **argv)
{
    static struct load loads[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    struct load load = {.expected = "200", .runs = 1000};
    long count = 1, failed = 0;
    for (int c; (c = getopt(argc, argv, "n:j:i:s:")) != -1;) {
        switch (c) {
        case 'n':
            load.runs = number(optarg, MAX_RUNS);
            break;
        case 'j':
            count = number(optarg, MAX_THREADS);
            break;
        case 'i':
            load.interval_ns = (uint64_t)number(optarg, 1000000) * 1000;
            break;
        case 's':
            load.expected = optarg;
            break;
        default:
            return 125;
        }
    }
    if (argc - optind != 2 || count < 1)
        die("usage", "http_load [-n REQUESTS] [-j CLIENTS] [-i PAUSE_US] [-s STATUS] ADDRESS FILE");
    load.address = argv[optind];
    load.request = read_request(argv[optind + 1]);
    load.runs = (load.runs + count - 1) / count;
    for (long i = 0; i < count; i++)
        loads[i] = open_load(load, i);
    uint64_t begin = now_ns();
    for (long i = 0; i < count; i++) {
        loads[i].begin_ns = begin;
        if (pthread_create(&threads[i], NULL, ask_all, &loads[i]) != 0)
            die("pthread_create", strerror(errno));
    }
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    print_outcome(loads, count, now_ns() - begin);
    for (long i = 0; i < count; i++)
        failed += loads[i].failed;
    return failed > 0;
}
