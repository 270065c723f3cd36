/* SPDX-License-Identifier: Apache-2.0 */
/* Each limit ends the command, in time, and under its own name. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "contract.h"

/* NULL: the backend does not enforce it, and says so. */
static struct hutch_result *run_limited(const char *script, const char *limit, const char *value)
{
    char field[64];
    if (!contract_enforces(limit)) {
        contract_refuses_limit(limit, value);
        return NULL;
    }
    struct hutch_spec *spec = contract_spec(script);
    (void)snprintf(field, sizeof(field), "limits.%s", limit);
    contract_set(spec, field, value);
    return contract_run(spec, NULL);
}

static void ends_with(const char *reason, const char *script, const char *limit, const char *value)
{
    struct hutch_result *result = run_limited(script, limit, value);
    if (!result)
        return;
    assert_string_equal(hutch_reason_name(result->reason), reason);
    assert_false(result->ok);
    hutch_result_free(result);
}

static void a_timeout_ends_whatever_runs_and_keeps_what_was_written(void **state)
{
    int64_t began = now_ms();
    struct hutch_result *result = run_limited(
        "echo before; trap '' TERM INT HUP; (setsid sleep 100 &) ; kill -STOP $$; sleep 100",
        "timeout", "700ms");
    (void)state;
    assert_reason(result, HUTCH_REASON_TIMEOUT, 124);
    assert_int_equal(result->signal, SIGKILL);
    assert_output(&result->out, "before\n");
    assert_true(now_ms() - began >= 650 && now_ms() - began < 5000);
    assert_true(result->duration_us >= 650000 && result->duration_us < 4000000);
    hutch_result_free(result);
}

static void an_idle_timeout_counts_from_the_last_output(void **state)
{
    int64_t began = now_ms();
    struct hutch_result *result = run_limited(
        "for i in 1 2 3 4 5; do echo $i; sleep 0.3; done; sleep 100", "idle_timeout", "1s");
    (void)state;
    assert_reason(result, HUTCH_REASON_IDLE_TIMEOUT, 124);
    assert_output(&result->out, "1\n2\n3\n4\n5\n");
    assert_true(now_ms() - began >= 2000 && now_ms() - began < 10000);
    hutch_result_free(result);
}

static void *cancel_later(void *userdata)
{
    const uint64_t one = 1;
    const struct timespec later = {.tv_sec = 1, .tv_nsec = 500000000};
    (void)nanosleep(&later, NULL);
    (void)!write(*(int *)userdata, &one, sizeof(one));
    return NULL;
}

static void a_descriptor_cancels(void **state)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    pthread_t thread;
    (void)state;
    options.cancel_fd = eventfd(0, EFD_CLOEXEC);
    assert_true(options.cancel_fd >= 0);
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, &options.cancel_fd), 0);
    int64_t began = now_ms();
    struct hutch_result *result =
        contract_run(contract_spec("trap '' TERM; echo before; sleep 100; sleep 100"), &options);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(hutch_reason_name(result->reason), "cancelled");
    assert_false(result->ok);
    assert_output(&result->out, "before\n");
    assert_true(now_ms() - began < 5000);
    hutch_result_free(result);
    /* it is readable still: the next run ends before it has begun */
    result = contract_run(contract_spec("sleep 100"), &options);
    assert_string_equal(hutch_reason_name(result->reason), "cancelled");
    hutch_result_free(result);
    assert_int_equal(close(options.cancel_fd), 0);
}

static void more_output_than_allowed_ends_the_command(void **state)
{
    (void)state;
    ends_with("output_limit", "yes", "output_max", "100k");
}

static void memory_is_limited(void **state)
{
    (void)state;
    struct hutch_result *result = run_limited(
        "echo before; head -c 500m /dev/zero | tail -c 400m >/dev/null; exit $?", "memory", "32m");
    if (!result)
        return;
    assert_string_equal(hutch_reason_name(result->reason), "oom");
    assert_output(&result->out, "before\n");
    assert_true(result->usage.oom_kills > 0);
    assert_true(!result->usage.has_memory_peak || result->usage.memory_peak_bytes <= 32U << 20);
    hutch_result_free(result);
}

static void processes_are_limited(void **state)
{
    (void)state;
    struct hutch_result *result = run_limited(
        "i=0; while [ $i -lt 100 ]; do sleep 100 & i=$((i+1)); done; exit 9", "pids", "20");
    if (!result)
        return;
    /* where nobody counts what was refused, the shell's own failure is all there is to tell */
    if (result->usage.has_pids_peak)
        assert_string_equal(hutch_reason_name(result->reason), "pids_limit");
    assert_false(result->ok);
    assert_int_not_equal(result->exit_code, 9);
    assert_true(!result->usage.has_pids_peak || result->usage.pids_peak <= 20);
    hutch_result_free(result);
}

/* Half a processor for a second of wall time is half a second of processor time. */
static void processors_are_limited(void **state)
{
    (void)state;
    if (!contract_enforces("cpus")) {
        contract_refuses_limit("cpus", "0.5");
        return;
    }
    struct hutch_spec *spec = contract_spec("while :; do :; done & while :; do :; done");
    contract_set(spec, "limits.cpus", "0.5");
    contract_set(spec, "limits.timeout", "2s");
    struct hutch_result *result = contract_run(spec, NULL);
    assert_reason(result, HUTCH_REASON_TIMEOUT, 124);
    assert_true(result->usage.cpu_us < result->duration_us * 3 / 4);
    hutch_result_free(result);
}

static void bytes_in_files_are_limited(void **state)
{
    (void)state;
    ends_with("disk_limit", "head -c 20m /dev/zero >/tmp/big", "disk", "4m");
}

static void a_run_that_counts_nothing_knows_all_the_same_why_it_ended(void **state)
{
    (void)state;
    if (!contract_enforces("memory"))
        return;
    static const struct hutch_usage none;
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    options.usage = false;
    struct hutch_result *result = contract_run(contract_spec("true"), &options);
    assert_reason(result, HUTCH_REASON_EXITED, 0);
    assert_memory_equal(&result->usage, &none, sizeof(none));
    hutch_result_free(result);
    struct hutch_spec *spec =
        contract_spec("head -c 500m /dev/zero | tail -c 400m >/dev/null; exit $?");
    contract_set(spec, "limits.memory", "32m");
    result = contract_run(spec, &options);
    assert_string_equal(hutch_reason_name(result->reason), "oom");
    assert_memory_equal(&result->usage, &none, sizeof(none));
    hutch_result_free(result);
}

static void files_are_limited(void **state)
{
    (void)state;
    ends_with("disk_limit", "i=0; while : >/tmp/f$i; do i=$((i+1)); done 2>/dev/null; exit 1",
              "inodes", "200");
}

static void open_files_are_limited(void **state)
{
    (void)state;
    struct hutch_result *result = run_limited("ulimit -n; ulimit -Hn", "open_files", "77");
    if (!result)
        return;
    assert_output(&result->out, "77\n77\n");
    hutch_result_free(result);
}

/* Whatever else is not enforced, what a tmpfs may hold is. */
static void an_empty_directory_in_memory_has_its_size(void **state)
{
    struct hutch_spec *spec =
        contract_spec("head -c 900k /dev/zero >/scratch/a && head -c 900k /dev/zero >/scratch/b");
    (void)state;
    contract_set(spec, "tmpfs", "/scratch:1m");
    struct hutch_result *result = contract_run(spec, NULL);
    assert_reason(result, HUTCH_REASON_EXITED, 1);
    hutch_result_free(result);
}

static void nothing_is_missing_but_what_is_told(void **state)
{
    struct hutch_result *result = contract_run(contract_spec("true"), NULL);
    (void)state;
    assert_non_null(result->missing);
    for (size_t i = 0; result->missing[i]; i++)
        assert_false(contract_enforces(result->missing[i]));
    assert_true(!contract_keeps_everything() || !result->missing[0]);
    hutch_result_free(result);
}

CONTRACT_TABLE(contract_limits, TEST(a_timeout_ends_whatever_runs_and_keeps_what_was_written),
               TEST(an_idle_timeout_counts_from_the_last_output), TEST(a_descriptor_cancels),
               TEST(more_output_than_allowed_ends_the_command), TEST(memory_is_limited),
               TEST(processes_are_limited), TEST(processors_are_limited),
               TEST(a_run_that_counts_nothing_knows_all_the_same_why_it_ended),
               TEST(bytes_in_files_are_limited), TEST(files_are_limited),
               TEST(open_files_are_limited), TEST(an_empty_directory_in_memory_has_its_size),
               TEST(nothing_is_missing_but_what_is_told));
