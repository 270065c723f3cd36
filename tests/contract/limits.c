/* SPDX-License-Identifier: Apache-2.0 */
/* Each limit ends the command, in time, and under its own name. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "contract.h"

static struct hutch_result *run_limited(const char *script, const char *field, const char *value)
{
    struct hutch_spec *spec = contract_spec(script);
    contract_set(spec, field, value);
    return contract_run(spec, NULL);
}

static void a_timeout_ends_whatever_runs_and_keeps_what_was_written(void **state)
{
    int64_t began = now_ms();
    struct hutch_result *result = run_limited(
        "echo before; trap '' TERM INT HUP; (setsid sleep 100 &) ; kill -STOP $$; sleep 100",
        "limits.timeout", "700ms");
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
        "for i in 1 2 3 4 5; do echo $i; sleep 0.3; done; sleep 100", "limits.idle_timeout", "1s");
    (void)state;
    assert_reason(result, HUTCH_REASON_IDLE_TIMEOUT, 124);
    assert_output(&result->out, "1\n2\n3\n4\n5\n");
    assert_true(now_ms() - began >= 2000 && now_ms() - began < 10000);
    hutch_result_free(result);
}

static void *cancel_later(void *userdata)
{
    const uint64_t one = 1;
    (void)usleep(500000);
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
    struct hutch_result *result = run_limited("yes", "limits.output_max", "100k");
    (void)state;
    assert_string_equal(hutch_reason_name(result->reason), "output_limit");
    assert_false(result->ok);
    hutch_result_free(result);
}

static void memory_is_limited(void **state)
{
    (void)state;
    NEEDS_EVERY_LIMIT();
    struct hutch_result *result =
        run_limited("echo before; head -c 500m /dev/zero | tail -c 400m >/dev/null; exit $?",
                    "limits.memory", "32m");
    assert_string_equal(hutch_reason_name(result->reason), "oom");
    assert_output(&result->out, "before\n");
    assert_true(result->usage.oom_kills > 0);
    assert_true(result->usage.memory_peak_bytes <= 32U << 20);
    hutch_result_free(result);
}

static void processes_are_limited(void **state)
{
    (void)state;
    NEEDS_EVERY_LIMIT();
    struct hutch_result *result = run_limited(
        "i=0; while [ $i -lt 100 ]; do sleep 100 & i=$((i+1)); done; exit 9", "limits.pids", "20");
    assert_string_equal(hutch_reason_name(result->reason), "pids_limit");
    assert_true(!result->usage.has_pids_peak || result->usage.pids_peak <= 20);
    hutch_result_free(result);
}

static void a_run_that_counts_nothing_knows_all_the_same_why_it_ended(void **state)
{
    (void)state;
    NEEDS_EVERY_LIMIT();
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
    struct hutch_result *result =
        run_limited("head -c 20m /dev/zero >/tmp/big", "limits.disk", "4m");
    (void)state;
    assert_string_equal(hutch_reason_name(result->reason), "disk_limit");
    hutch_result_free(result);
    result = run_limited("i=0; while : >/tmp/f$i; do i=$((i+1)); done 2>/dev/null; exit 1",
                         "limits.inodes", "200");
    assert_string_equal(hutch_reason_name(result->reason), "disk_limit");
    hutch_result_free(result);
    result = run_limited("ulimit -n; ulimit -Hn", "limits.open_files", "77");
    assert_output(&result->out, "77\n77\n");
    hutch_result_free(result);
}

static void nothing_is_missing_where_everything_is_kept(void **state)
{
    (void)state;
    NEEDS_EVERY_LIMIT();
    struct hutch_result *result = contract_run(contract_spec("true"), NULL);
    assert_non_null(result->missing);
    assert_null(result->missing[0]);
    hutch_result_free(result);
}

CONTRACT_TABLE(contract_limits, TEST(a_timeout_ends_whatever_runs_and_keeps_what_was_written),
               TEST(an_idle_timeout_counts_from_the_last_output), TEST(a_descriptor_cancels),
               TEST(more_output_than_allowed_ends_the_command), TEST(memory_is_limited),
               TEST(processes_are_limited),
               TEST(a_run_that_counts_nothing_knows_all_the_same_why_it_ended),
               TEST(files_are_limited), TEST(nothing_is_missing_where_everything_is_kept));
