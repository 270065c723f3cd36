/* SPDX-License-Identifier: Apache-2.0 */
/* What cannot be done is refused with a typed error, before anything runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contract.h"

static struct hutch_spec *with(const char *field, const char *value)
{
    struct hutch_spec *spec = contract_spec("true");
    contract_set(spec, field, value);
    return spec;
}

static void a_spec_without_a_command_is_invalid(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = NULL;
    (void)state;
    assert_int_equal(hutch_spec_new(&spec, &err), 0);
    contract_refuse(spec, HUTCH_E_INVALID);
}

static void what_is_not_there_is_not_found(void **state)
{
    (void)state;
    contract_refuse(with("mounts", "/no/such/directory:/data"), HUTCH_E_NOT_FOUND);
    contract_refuse(with("workspace", "/no/such/directory"), HUTCH_E_NOT_FOUND);
    if (!contract_field("image"))
        contract_refuse(with("rootfs", "/no/such/directory"), HUTCH_E_NOT_FOUND);
    contract_refuse(with("user", "nosuchuser"), HUTCH_E_NOT_FOUND);
    contract_refuse(with("env_files", "/no/such/file"), HUTCH_E_NOT_FOUND);
}

static void what_makes_no_sense_is_invalid(void **state)
{
    struct hutch_spec *spec = with("tmpfs", "/data");
    const char *directory = contract_directory();
    char path[256];
    (void)state;
    contract_set(spec, "tmpfs", "/data");
    contract_refuse(spec, HUTCH_E_INVALID);
    contract_refuse(with("tmpfs", "/proc/x"), HUTCH_E_INVALID);
    contract_write(directory, "file", "");
    (void)snprintf(path, sizeof(path), "%s/file", directory);
    contract_refuse(with("workspace", path), HUTCH_E_INVALID);
    contract_refuse(with("mounts", "/dev/null:/data"), HUTCH_E_INVALID);
}

static void the_hosts_kernel_is_not_handed_over(void **state)
{
    (void)state;
    contract_refuse(with("mounts", "/proc:/data"), HUTCH_E_PERMISSION);
    contract_refuse(with("mounts", "/sys:/data"), HUTCH_E_PERMISSION);
}

static void values_out_of_range_are_refused_when_they_are_set(void **state)
{
    static const struct {
        const char *field;
        const char *text;
    } rows[] = {{"limits.memory", "0"},
                {"limits.memory", "-1"},
                {"limits.memory", "99999999999999999999g"},
                {"limits.pids", "0"},
                {"limits.timeout", "0"},
                {"limits.cpus", "0"},
                {"user", "4294967296"},
                {"user", "-1"},
                {"user", "70000"},
                {"workdir", "/proc/self/fd/9"},
                {"workdir", "relative"},
                {"hostname", "a b"},
                {"workspace", ""},
                {"mounts", "nonsense"},
                {"env", "=x"},
                {"allow_missing", "nothing-like-it"},
                {"no_such_field", "x"}};
    struct hutch_spec *spec = contract_spec("true");
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        if (hutch_spec_set(spec, rows[i].field, rows[i].text, &err) == 0)
            fail_msg("%s=%s was taken", rows[i].field, rows[i].text);
        assert_int_equal(err.code, HUTCH_E_INVALID);
    }
    hutch_spec_free(spec);
}

static void an_unknown_backend_is_refused(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = with("backend", "no-such-backend");
    struct hutch_result *result = NULL;
    (void)state;
    assert_true(hutch_run(spec, NULL, &result, &err) < 0);
    assert_true(err.code == HUTCH_E_NOT_FOUND || err.code == HUTCH_E_INVALID ||
                err.code == HUTCH_E_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "no-such-backend"));
    hutch_spec_free(spec);
}

static void options_of_an_unknown_size_are_refused(void **state)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = contract_spec("true");
    struct hutch_result *result = NULL;
    (void)state;
    options.size = 3;
    assert_true(hutch_run(spec, &options, &result, &err) < 0);
    assert_int_equal(err.code, HUTCH_E_INVALID);
    hutch_spec_free(spec);
}

static void nobody_has_to_ask_for_the_error(void **state)
{
    struct hutch_spec *spec = with("mounts", "/no/such/directory:/data");
    struct hutch_result *result = NULL;
    (void)state;
    assert_true(hutch_run(spec, NULL, &result, NULL) < 0);
    assert_null(result);
    hutch_spec_free(spec);
}

CONTRACT_TABLE(contract_errors, TEST(a_spec_without_a_command_is_invalid),
               TEST(what_is_not_there_is_not_found), TEST(what_makes_no_sense_is_invalid),
               TEST(the_hosts_kernel_is_not_handed_over),
               TEST(values_out_of_range_are_refused_when_they_are_set),
               TEST(an_unknown_backend_is_refused), TEST(options_of_an_unknown_size_are_refused),
               TEST(nobody_has_to_ask_for_the_error));
