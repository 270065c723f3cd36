// SPDX-License-Identifier: Apache-2.0
/*
 * exec_loop: run one command many times in sandboxes that are there, through the C API, and say how
 * long each took.
 *
 * Theory of operation. -j threads share the runs; each has a handle of its own, opened before the
 * clock starts, on one of the sandboxes that are named, in turn. A run's time is the monotonic
 * clock around hutch_sandbox_exec() with its default options (so output is kept), and the release
 * of its result. A run that failed, or whose command did not exit with 0, is counted and has no
 * time. The answer has the form of measure's.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hutch/hutch.h"

enum { MAX_THREADS = 64, MAX_RUNS = 1000000 };

struct loop {
    struct hutch_sandbox *sandbox;
    const char *const *argv;
    size_t argc;
    long runs;
    uint64_t *sample_ns;
    long ok;
    long failed;
    struct hutch_error first; /* why the first of them failed */
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "exec_loop: %s: %s\n", what, why);
    exit(125);
}

static void run_once(struct loop *loop)
{
    struct hutch_exec_options options = HUTCH_EXEC_OPTIONS_INIT;
    struct hutch_result *result = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    uint64_t begin = now_ns();
    int status = hutch_sandbox_exec(loop->sandbox, loop->argc, loop->argv, &options, &result, &err);
    bool well = status == 0 && result->ok;
    hutch_result_free(result);
    uint64_t took = now_ns() - begin;
    if (well)
        loop->sample_ns[loop->ok++] = took;
    else if (loop->failed++ == 0)
        loop->first = err;
}

static void *run_all(void *argument)
{
    struct loop *loop = argument;
    for (long i = 0; i < loop->runs; i++)
        run_once(loop);
    return NULL;
}

static void print_outcome(const struct loop *loops, long threads, uint64_t elapsed_ns)
{
    long ok = 0, failed = 0;
    printf("{\"samples_ns\": [");
    for (long i = 0; i < threads; i++) {
        for (long k = 0; k < loops[i].ok; k++)
            printf("%s%" PRIu64, ok++ ? ", " : "", loops[i].sample_ns[k]);
        if (loops[i].failed && !failed)
            fprintf(stderr, "exec_loop: %s\n", loops[i].first.msg);
        failed += loops[i].failed;
    }
    printf("],\n \"runs\": %ld, \"failures\": %ld, \"parallel\": %ld, \"per_second\": %.2f}\n", ok,
           failed, threads, (double)ok * 1e9 / (double)elapsed_ns);
}

static long number(const char *text, long high)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || v < 1 || v > high)
        die(text, "not a number, or too large");
    return v;
}

static struct loop open_loop(const char *name, long runs, size_t argc, char **argv)
{
    struct loop loop = {.argc = argc, .argv = (const char *const *)argv, .runs = runs};
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (hutch_sandbox_open(name, &loop.sandbox, &err) < 0)
        die(name, err.msg);
    loop.sample_ns = calloc((size_t)runs, sizeof(uint64_t));
    if (!loop.sample_ns)
        die(name, "no memory");
    run_once(&loop); /* it connects, and warms up */
    loop.ok = 0;
    return loop;
}

int main(int argc, char **argv)
{
    struct loop loops[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    long runs = 1000, count = 1, failed = 0;
    for (int c; (c = getopt(argc, argv, "+n:j:")) != -1;) {
        if (c == 'n')
            runs = number(optarg, MAX_RUNS);
        else if (c == 'j')
            count = number(optarg, MAX_THREADS);
        else
            return 125;
    }
    int names = optind, end = names;
    while (end < argc && strcmp(argv[end], "--") != 0)
        end++;
    if (end == names || end + 1 >= argc)
        die("usage", "exec_loop [-n RUNS] [-j THREADS] NAME... -- CMD ARG...");
    for (long i = 0; i < count; i++)
        loops[i] = open_loop(argv[names + i % (end - names)], (runs + count - 1) / count,
                             (size_t)(argc - end - 1), argv + end + 1);
    uint64_t begin = now_ns();
    for (long i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, run_all, &loops[i]) != 0)
            die("pthread_create", strerror(errno));
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    print_outcome(loops, count, now_ns() - begin);
    for (long i = 0; i < count; i++) {
        failed += loops[i].failed;
        hutch_sandbox_free(loops[i].sandbox);
        free(loops[i].sample_ns);
    }
    return failed > 0;
}
