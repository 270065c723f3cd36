/* SPDX-License-Identifier: Apache-2.0 */
/* How a command ends, and what is told about it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract.h"

static void exit_codes_are_the_commands_own(void **state)
{
    static const struct {
        const char *script;
        int code;
    } rows[] = {{"true", 0},       {"exit 1", 1},     {"exit 42", 42},  {"exit 124", 124},
                {"exit 125", 125}, {"exit 127", 127}, {"exit 255", 255}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hutch_result *result = contract_run(contract_spec(rows[i].script), NULL);
        assert_reason(result, HUTCH_REASON_EXITED, rows[i].code);
        assert_int_equal(result->signal, 0);
        hutch_result_free(result);
    }
}

static void signals_are_told_apart_from_codes(void **state)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGKILL, SIGSEGV, SIGTERM, SIGUSR1};
    (void)state;
    for (size_t i = 0; i < COUNT(signals); i++) {
        char script[32];
        (void)snprintf(script, sizeof(script), "kill -%d $$", signals[i]);
        struct hutch_result *result = contract_run(contract_spec(script), NULL);
        assert_reason(result, HUTCH_REASON_SIGNALED, 128 + signals[i]);
        assert_int_equal(result->signal, signals[i]);
        hutch_result_free(result);
    }
}

static void run_argv(const char *const *argv, size_t argc, enum hutch_code code, int exit_code)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = contract_spec("true");
    assert_int_equal(hutch_spec_set_command(spec, argc, argv, &err), 0);
    struct hutch_result *result = contract_run(spec, NULL);
    assert_reason(result, HUTCH_REASON_SETUP_FAILED, exit_code);
    assert_string_equal(hutch_code_name(result->error.code), hutch_code_name(code));
    assert_non_null(strstr(result->error.msg, argv[0]));
    hutch_result_free(result);
}

static void a_command_that_is_not_there_is_127_and_one_that_cannot_run_126(void **state)
{
    static const char *const missing[] = {"no-such-program-anywhere"};
    static const char *const missing_path[] = {"/no/such/program"};
    static const char *const directory[] = {"/tmp"};
    static const char *const plain[] = {"/etc/passwd"};
    (void)state;
    run_argv(missing, 1, HUTCH_E_NO_COMMAND, 127);
    run_argv(missing_path, 1, HUTCH_E_NO_COMMAND, 127);
    run_argv(directory, 1, HUTCH_E_NOT_EXECUTABLE, 126);
    run_argv(plain, 1, HUTCH_E_NOT_EXECUTABLE, 126);
}

static void arguments_arrive_as_they_are(void **state)
{
    static const char *const argv[] = {"printf", "[%s]", "", "a b", "$HOME", "\xff\xfe", "*", "-n"};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = contract_spec("true");
    (void)state;
    assert_int_equal(hutch_spec_set_command(spec, COUNT(argv), argv, &err), 0);
    struct hutch_result *result = contract_run(spec, NULL);
    assert_reason(result, HUTCH_REASON_EXITED, 0);
    assert_output(&result->out, "[][a b][$HOME][\xff\xfe][*][-n]");
    hutch_result_free(result);
}

static void every_run_has_an_id_a_duration_and_its_backend(void **state)
{
    struct hutch_result *first = contract_run(contract_spec("sleep 0.2"), NULL);
    struct hutch_result *second = contract_run(contract_spec("true"), NULL);
    (void)state;
    assert_true(strlen(first->id) >= 16);
    assert_string_not_equal(first->id, second->id);
    assert_true(first->duration_us >= 190000 && first->duration_us < 30000000);
    assert_string_equal(first->backend, contract_backend());
    assert_true(first->isolation_level[0] != '\0');
    const char *runtime = contract_field("runtime");
    assert_int_equal(!strcmp(first->isolation_level, "gvisor"),
                     runtime && !strcmp(runtime, "runsc"));
    hutch_result_free(first);
    hutch_result_free(second);
}

static void processor_time_is_counted(void **state)
{
    struct hutch_result *result =
        contract_run(contract_spec("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"), NULL);
    (void)state;
    assert_reason(result, HUTCH_REASON_EXITED, 0);
    assert_true(result->usage.cpu_us > 20000);
    assert_true(!contract_enforces("memory") || result->usage.has_memory_peak);
    assert_true(!result->usage.has_memory_peak || result->usage.memory_peak_bytes > 100000);
    hutch_result_free(result);
}

static void a_result_becomes_json(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = contract_run(contract_spec("echo '\"quoted\"'; exit 3"), NULL);
    char *json = NULL;
    size_t length = 0;
    (void)state;
    assert_int_equal(hutch_result_to_json(result, &json, &length, &err), 0);
    assert_int_equal(length, strlen(json));
    assert_non_null(strstr(json, "\"reason\":\"exited\""));
    assert_non_null(strstr(json, "\"exit_code\":3"));
    assert_non_null(strstr(json, "\\\"quoted\\\"\\n"));
    assert_non_null(strstr(json, result->id));
    free(json);
    hutch_result_free(result);
}

static void what_is_left_behind_ends_with_the_command(void **state)
{
    int64_t began = now_ms();
    struct hutch_result *result =
        contract_run(contract_spec("(trap '' TERM HUP; setsid sleep 1000) & "
                                   "(sleep 1000 >/dev/null 2>&1) & echo started"),
                     NULL);
    (void)state;
    assert_reason(result, HUTCH_REASON_EXITED, 0);
    assert_output(&result->out, "started\n");
    assert_true(result->held_pipes);
    assert_true(now_ms() - began < 10000);
    hutch_result_free(result);
}

CONTRACT_TABLE(contract_results, TEST(exit_codes_are_the_commands_own),
               TEST(signals_are_told_apart_from_codes),
               TEST(a_command_that_is_not_there_is_127_and_one_that_cannot_run_126),
               TEST(arguments_arrive_as_they_are),
               TEST(every_run_has_an_id_a_duration_and_its_backend),
               TEST(processor_time_is_counted), TEST(a_result_becomes_json),
               TEST(what_is_left_behind_ends_with_the_command));
