// SPDX-License-Identifier: Apache-2.0
/*
 * exec_loop: run one command many times in sandboxes that are there, or each time in a new one,
 * through the C API, and say how long each took.
 *
 * Theory of operation. -j threads share the runs; each has a handle of its own, opened before the
 * clock starts, on one of the sandboxes that are named, in turn. A run's time is the monotonic
 * clock around hutch_sandbox_exec() with its default options (so output is kept), and the release
 * of its result. With -r nothing is named: it is the clock around hutch_run() on that root. A run
 * that failed, or whose command did not exit with 0, is counted and has no time. The answer has the
 * form of measure's.
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
    struct hutch_spec *spec; /* of a run, where there is no sandbox */
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

static int carry_out(struct loop *loop, struct hutch_result **ret_result, struct hutch_error *err)
{
    struct hutch_exec_options in_sandbox = HUTCH_EXEC_OPTIONS_INIT;
    struct hutch_run_options in_new = HUTCH_RUN_OPTIONS_INIT;
    if (loop->spec)
        return hutch_run(loop->spec, &in_new, ret_result, err);
    return hutch_sandbox_exec(loop->sandbox, loop->argc, loop->argv, &in_sandbox, ret_result, err);
}

static void run_once(struct loop *loop)
{
    struct hutch_result *result = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    uint64_t begin = now_ns();
    int status = carry_out(loop, &result, &err);
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

static void open_spec(struct loop *loop, const char *root)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (hutch_spec_new(&loop->spec, &err) < 0 ||
        hutch_spec_set(loop->spec, "rootfs", root, &err) < 0 ||
        hutch_spec_set_command(loop->spec, loop->argc, loop->argv, &err) < 0)
        die(root, err.msg);
}

/* name: of a sandbox; NULL: a new one on `root` each time. */
static struct loop open_loop(const char *name, const char *root, long runs, size_t argc,
                             char **argv)
{
    struct loop loop = {.argc = argc, .argv = (const char *const *)argv, .runs = runs};
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (!name)
        open_spec(&loop, root);
    else if (hutch_sandbox_open(name, &loop.sandbox, &err) < 0)
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
    const char *root = NULL;
    for (int c; (c = getopt(argc, argv, "+n:j:r:")) != -1;) {
        if (c == 'n')
            runs = number(optarg, MAX_RUNS);
        else if (c == 'j')
            count = number(optarg, MAX_THREADS);
        else if (c == 'r')
            root = optarg;
        else
            return 125;
    }
    int names = optind, end = names;
    while (end < argc && !root && strcmp(argv[end], "--") != 0)
        end++;
    int command = root ? names : end + 1;
    if ((end == names) != (root != NULL) || command >= argc)
        die("usage", "exec_loop [-n RUNS] [-j THREADS] NAME...|-r ROOT -- CMD ARG...");
    for (long i = 0; i < count; i++)
        loops[i] = open_loop(root ? NULL : argv[names + i % (end - names)], root,
                             (runs + count - 1) / count, (size_t)(argc - command), argv + command);
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
        hutch_spec_free(loops[i].spec);
        free(loops[i].sample_ns);
    }
    return failed > 0;
}
