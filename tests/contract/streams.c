/* SPDX-License-Identifier: Apache-2.0 */
/* Input and output: kept apart, byte for byte, bounded, live. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contract.h"

static void the_two_streams_are_kept_apart_and_in_order(void **state)
{
    struct hutch_result *result = contract_run(
        contract_spec("echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three"), NULL);
    (void)state;
    assert_output(&result->out, "one\nthree\n");
    assert_output(&result->err, "two\n");
    assert_output(&result->both, "one\ntwo\nthree\n");
    hutch_result_free(result);
}

static void every_byte_value_comes_through(void **state)
{
    unsigned char expected[256];
    struct hutch_result *result = contract_run(
        contract_spec("i=0; while [ $i -lt 256 ]; do printf \"\\\\$(printf %03o $i)\"; "
                      "i=$((i+1)); done"),
        NULL);
    (void)state;
    for (size_t i = 0; i < COUNT(expected); i++)
        expected[i] = (unsigned char)i;
    assert_int_equal(result->out.length, COUNT(expected));
    assert_memory_equal(result->out.data, expected, COUNT(expected));
    hutch_result_free(result);
}

static void without_capture_nothing_is_kept_but_counted(void **state)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    options.capture = false;
    struct hutch_result *result = contract_run(contract_spec("echo hello; echo err >&2"), &options);
    (void)state;
    assert_int_equal(result->out.length, 0);
    assert_int_equal(result->out.total_bytes, 6);
    assert_int_equal(result->err.total_bytes, 4);
    hutch_result_free(result);
}

static void what_does_not_fit_is_dropped_from_the_middle_and_counted(void **state)
{
    struct hutch_spec *spec = contract_spec("printf HEAD; head -c 100000 /dev/zero | tr '\\0' x; "
                                            "printf TAIL");
    contract_set(spec, "limits.output", "1k");
    struct hutch_result *result = contract_run(spec, NULL);
    (void)state;
    assert_int_equal(result->out.length, 1024);
    assert_int_equal(result->out.total_bytes, 100008);
    assert_int_equal(result->out.dropped_bytes, 100008 - 1024);
    assert_true(result->out.head_bytes > 0 && result->out.head_bytes < 1024);
    assert_memory_equal(result->out.data, "HEADxxxx", 8);
    assert_memory_equal(result->out.data + 1016, "xxxxTAIL", 8);
    hutch_result_free(result);
}

/* --- the callback ---------------------------------------------------------------------------- */

struct sum {
    uint64_t bytes[3];
    uint64_t hash[3];
    useconds_t pause_us;
};

static void add_up(void *userdata, enum hutch_stream stream, const char *data, size_t length)
{
    struct sum *sum = userdata;
    sum->bytes[stream] += length;
    for (size_t i = 0; i < length; i++)
        sum->hash[stream] = (sum->hash[stream] ^ (unsigned char)data[i]) * 1099511628211U;
    if (sum->pause_us)
        (void)usleep(sum->pause_us);
}

static uint64_t hash_of_pattern(uint64_t bytes)
{
    uint64_t hash = 0;
    for (uint64_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)"0123456789\n"[i % 11]) * 1099511628211U;
    return hash;
}

static void a_hundred_million_bytes_reach_the_callback_unchanged(void **state)
{
    enum { BYTES = 100000000 };
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    struct sum sum = {{0}, {0}, 0};
    options.capture = false;
    options.on_output = add_up;
    options.userdata = &sum;
    struct hutch_result *result =
        contract_run(contract_spec("yes 0123456789 | head -c 100000000; echo done >&2"), &options);
    (void)state;
    assert_reason(result, HUTCH_REASON_EXITED, 0);
    assert_int_equal(sum.bytes[HUTCH_STDOUT], BYTES);
    assert_int_equal(sum.bytes[HUTCH_STDERR], 5);
    assert_int_equal(sum.hash[HUTCH_STDOUT], hash_of_pattern(BYTES));
    assert_int_equal(result->out.total_bytes, BYTES);
    hutch_result_free(result);
}

/* A producer that is always faster than the callback must not keep the deadline from being seen. */
static void a_slow_callback_does_not_stretch_the_deadline(void **state)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    struct sum sum = {{0}, {0}, 2000};
    struct hutch_spec *spec = contract_spec("for i in 1 2 3 4; do yes & yes >&2 & done; yes");
    options.capture = false;
    options.on_output = add_up;
    options.userdata = &sum;
    contract_set(spec, "limits.timeout", "1s");
    int64_t began = now_ms();
    struct hutch_result *result = contract_run(spec, &options);
    (void)state;
    assert_reason(result, HUTCH_REASON_TIMEOUT, 124);
    assert_true(now_ms() - began < 5000);
    assert_true(sum.bytes[HUTCH_STDOUT] > 0);
    hutch_result_free(result);
}

/* --- descriptors ----------------------------------------------------------------------------- */

static void output_goes_to_the_callers_descriptors(void **state)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    const char *directory = contract_directory();
    char path[256];
    (void)state;
    (void)snprintf(path, sizeof(path), "%s/out", directory);
    options.stdout_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    (void)snprintf(path, sizeof(path), "%s/err", directory);
    options.stderr_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    hutch_result_free(contract_run(contract_spec("echo out; echo err >&2"), &options));
    assert_int_equal(close(options.stdout_fd), 0); /* still the caller's */
    assert_int_equal(close(options.stderr_fd), 0);
    char *out = contract_read(directory, "out");
    char *err = contract_read(directory, "err");
    assert_string_equal(out, "out\n");
    assert_string_equal(err, "err\n");
    free(out);
    free(err);
}

static void a_reader_that_has_gone_is_no_signal_for_the_caller(void **state)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    struct hutch_spec *spec = contract_spec("yes; exit 3");
    int ends[2];
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(close(ends[0]), 0);
    options.stdout_fd = ends[1];
    contract_set(spec, "limits.timeout", "20s");
    struct hutch_result *result = contract_run(spec, &options);
    assert_true(result->reason != HUTCH_REASON_TIMEOUT);
    assert_int_equal(close(ends[1]), 0);
    hutch_result_free(result);
}

static void without_input_the_command_reads_end_of_file(void **state)
{
    struct hutch_result *result = contract_run(contract_spec("wc -c"), NULL);
    (void)state;
    assert_string_equal(result->out.data, "0\n");
    hutch_result_free(result);
}

static void input_from_a_file_arrives_with_its_end(void **state)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    const char *directory = contract_directory();
    char path[256];
    (void)state;
    contract_write(directory, "input", "some\ninput\n");
    (void)snprintf(path, sizeof(path), "%s/input", directory);
    options.stdin_fd = open(path, O_RDONLY | O_CLOEXEC);
    struct hutch_result *result = contract_run(contract_spec("cat; echo end"), &options);
    assert_output(&result->out, "some\ninput\nend\n");
    assert_int_equal(close(options.stdin_fd), 0);
    hutch_result_free(result);
}

static void *feed_pipe(void *userdata)
{
    int fd = *(int *)userdata;
    char block[4096];
    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 2560; i++) /* 10 MiB: many times what a pipe holds */
        if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
            break;
    (void)close(fd);
    return NULL;
}

static void input_from_a_pipe_arrives_whole_and_with_its_end(void **state)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    pthread_t thread;
    int ends[2];
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    options.stdin_fd = ends[0];
    assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &ends[1]), 0);
    struct hutch_result *result = contract_run(contract_spec("wc -c"), &options);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(result->out.data, "10485760\n");
    assert_int_equal(close(ends[0]), 0);
    hutch_result_free(result);
}

static void input_that_nobody_reads_is_no_failure(void **state)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    (void)state;
    options.stdin_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    struct hutch_result *result = contract_run(contract_spec("exit 7"), &options);
    assert_reason(result, HUTCH_REASON_EXITED, 7);
    assert_int_equal(close(options.stdin_fd), 0);
    hutch_result_free(result);
}

CONTRACT_TABLE(contract_streams, TEST(the_two_streams_are_kept_apart_and_in_order),
               TEST(every_byte_value_comes_through),
               TEST(without_capture_nothing_is_kept_but_counted),
               TEST(what_does_not_fit_is_dropped_from_the_middle_and_counted),
               TEST(a_hundred_million_bytes_reach_the_callback_unchanged),
               TEST(a_slow_callback_does_not_stretch_the_deadline),
               TEST(output_goes_to_the_callers_descriptors),
               TEST(a_reader_that_has_gone_is_no_signal_for_the_caller),
               TEST(without_input_the_command_reads_end_of_file),
               TEST(input_from_a_file_arrives_with_its_end),
               TEST(input_from_a_pipe_arrives_whole_and_with_its_end),
               TEST(input_that_nobody_reads_is_no_failure));
