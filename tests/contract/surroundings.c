/* SPDX-License-Identifier: Apache-2.0 */
/* What the command finds around it: environment, user, directories, mounts, and what holds it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contract.h"

static void expect(struct hutch_spec *spec, const char *output)
{
    struct hutch_result *result = contract_run(spec, NULL);
    if (result->reason != HUTCH_REASON_EXITED)
        print_message("%s %s %s\n", hutch_reason_name(result->reason), result->error.msg,
                      result->err.data);
    assert_reason(result, HUTCH_REASON_EXITED, 0);
    assert_output(&result->out, output);
    hutch_result_free(result);
}

static void the_environment_is_built_from_nothing(void **state)
{
    struct hutch_spec *spec = contract_spec("env | grep -c CANARY; env | grep '^[A]_' | sort");
    const char *directory = contract_directory();
    char path[256];
    (void)state;
    (void)setenv("CANARY", "of the caller", 1);
    (void)setenv("A_PASSED", "passed", 1);
    contract_write(directory, "env", "A_FILE=from file\nA_BOTH=file\n");
    (void)snprintf(path, sizeof(path), "%s/env", directory);
    contract_set(spec, "env", "A_SET=set to this");
    contract_set(spec, "env", "A_BOTH=flag");
    contract_set(spec, "pass_env", "A_PASSED");
    contract_set(spec, "env_files", path);
    struct hutch_result *result = contract_run(spec, NULL);
    assert_string_equal(result->out.data, "0\nA_BOTH=flag\nA_FILE=from file\nA_PASSED=passed\n"
                                          "A_SET=set to this\n");
    hutch_result_free(result);
}

static void the_working_directory_and_host_name_are_as_asked(void **state)
{
    struct hutch_spec *spec = contract_spec("pwd; cat /proc/sys/kernel/hostname");
    (void)state;
    contract_set(spec, "workdir", "/tmp");
    contract_set(spec, "hostname", "contract-1");
    expect(spec, "/tmp\ncontract-1\n");
    expect(contract_spec("pwd"), "/workspace\n");
}

static void labels_and_a_name_are_accepted(void **state)
{
    struct hutch_spec *spec = contract_spec("echo ok");
    (void)state;
    contract_set(spec, "name", "contract");
    contract_set(spec, "labels", "team=core");
    contract_set(spec, "labels", "purpose=contract test");
    expect(spec, "ok\n");
}

static void places_for_files_are_private_and_empty(void **state)
{
    (void)state;
    expect(contract_spec("for d in /tmp /home/user /workspace /dev/shm; do ls -A $d; echo x >$d/x "
                         "|| exit 1; done; echo wrote"),
           "wrote\n");
    expect(contract_spec("ls /tmp /workspace | grep -c x; true"), "0\n");
}

static void a_workspace_is_written_through(void **state)
{
    struct hutch_spec *spec = contract_spec("cat in; echo out >out; rm in");
    const char *directory = contract_directory();
    struct stat info;
    char path[256];
    (void)state;
    contract_write(directory, "in", "in\n");
    contract_set(spec, "workspace", directory);
    expect(spec, "in\n");
    (void)snprintf(path, sizeof(path), "%s/out", directory);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_uid, geteuid()); /* the owner of the workspace, which is us */
    assert_false(contract_exists(directory, "in"));
}

static void a_workspace_is_left_alone(const char *mode, const char *output)
{
    struct hutch_spec *spec = contract_spec("(echo changed >in) 2>/dev/null; (echo x >new) "
                                            "2>/dev/null; cat in; ls | tr '\\n' ' '");
    const char *directory = contract_directory();
    contract_write(directory, "in", "in\n");
    contract_set(spec, "workspace", contract_join(directory, mode));
    expect(spec, output);
    char *text = contract_read(directory, "in");
    assert_string_equal(text, "in\n");
    free(text);
    assert_false(contract_exists(directory, "new"));
}

static void other_workspaces_never_touch_the_original(void **state)
{
    (void)state;
    a_workspace_is_left_alone("ro", "in\nin ");
    a_workspace_is_left_alone("copy", "changed\nin new ");
    a_workspace_is_left_alone("overlay", "changed\nin new ");
}

static struct hutch_spec *mounting(const char *directory)
{
    struct hutch_spec *spec =
        contract_spec("cat /data/in /file; echo x >/data/out; (echo x >/fixed/out) 2>/dev/null || "
                      "echo refused; echo x >/scratch/x && echo scratch");
    char text[300];
    contract_set(spec, "mounts", contract_join(directory, "/data"));
    contract_set(spec, "mounts", contract_join(directory, "/fixed:ro"));
    (void)snprintf(text, sizeof(text), "%s/in:/file:ro", directory);
    contract_set(spec, "mounts", text);
    contract_set(spec, "tmpfs", "/scratch:1m");
    return spec;
}

/* Is it refused, because the engine maps no owners or does not see the directory at all? */
static bool is_refused(struct hutch_spec *spec, const char *directory)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    int status = hutch_run(spec, NULL, &result, &err);
    hutch_spec_free(spec);
    hutch_result_free(result);
    if (status == 0)
        return false;
    assert_int_equal(status, -HUTCH_E_UNSUPPORTED);
    assert_non_null(strstr(err.msg, directory));
    return true;
}

static void mounts_appear_where_they_were_asked_for(void **state)
{
    const char *directory = contract_directory();
    (void)state;
    contract_write(directory, "in", "in\n");
    if (is_refused(mounting(directory), directory)) {
        assert_string_not_equal(contract_backend(), "native");
        assert_int_equal(chown(directory, 1000, 1000), 0);
        if (is_refused(mounting(directory), directory))
            return;
    }
    expect(mounting(directory), "in\nin\nrefused\nscratch\n");
    assert_true(contract_exists(directory, "out"));
}

static void artifacts_come_out_after_an_ordinary_end(void **state)
{
    struct hutch_spec *spec = contract_spec("mkdir /artifacts/d; echo made >/artifacts/d/f; "
                                            "ln -s /etc/passwd /artifacts/l; mkfifo /artifacts/p");
    const char *directory = contract_directory();
    char path[256];
    struct stat info;
    (void)state;
    contract_set(spec, "artifacts", directory);
    hutch_result_free(contract_run(spec, NULL));
    char *text = contract_read(directory, "d/f");
    assert_string_equal(text, "made\n");
    free(text);
    (void)snprintf(path, sizeof(path), "%s/l", directory);
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_false(contract_exists(directory, "p"));
}

static void artifacts_come_out_after_a_timeout(void **state)
{
    struct hutch_spec *spec = contract_spec("echo made >/artifacts/f; sleep 100");
    const char *directory = contract_directory();
    (void)state;
    contract_set(spec, "artifacts", directory);
    contract_set(spec, "limits.timeout", "2s");
    struct hutch_result *result = contract_run(spec, NULL);
    assert_reason(result, HUTCH_REASON_TIMEOUT, 124);
    hutch_result_free(result);
    char *text = contract_read(directory, "f");
    assert_string_equal(text, "made\n");
    free(text);
}

static void artifacts_that_cannot_come_out_do_not_lose_the_result(void **state)
{
    struct hutch_spec *spec =
        contract_spec("truncate -s 1099511627776 /artifacts/huge; echo output; exit 3");
    (void)state;
    contract_set(spec, "artifacts", contract_directory());
    struct hutch_result *result = contract_run(spec, NULL);
    assert_reason(result, HUTCH_REASON_EXITED, 3);
    assert_output(&result->out, "output\n");
    assert_int_not_equal(result->error.code, HUTCH_OK);
    hutch_result_free(result);
}

CONTRACT_TABLE(contract_surroundings, TEST(the_environment_is_built_from_nothing),
               TEST(the_working_directory_and_host_name_are_as_asked),
               TEST(labels_and_a_name_are_accepted), TEST(places_for_files_are_private_and_empty),
               TEST(a_workspace_is_written_through),
               TEST(other_workspaces_never_touch_the_original),
               TEST(mounts_appear_where_they_were_asked_for),
               TEST(artifacts_come_out_after_an_ordinary_end),
               TEST(artifacts_come_out_after_a_timeout),
               TEST(artifacts_that_cannot_come_out_do_not_lose_the_result));
