/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The backend is set once, before any test. */
static struct {
    const char *backend;
    bool keeps_everything;
    char home[64];
    unsigned directories;
    unsigned descriptors; /* before the test that runs */
} suite;

const char *contract_backend(void)
{
    return suite.backend;
}

bool contract_keeps_everything(void)
{
    return suite.keeps_everything;
}

int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    (void)closedir(directory);
    return count;
}

int contract_before(void **state)
{
    (void)state;
    suite.descriptors = open_descriptors();
    return 0;
}

int contract_after(void **state)
{
    (void)state;
    unsigned now = open_descriptors();
    bool alone = waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD;
    if (now != suite.descriptors || !alone)
        print_message("left: %u descriptors, %s\n", now - suite.descriptors,
                      alone ? "no child" : "a child");
    return now == suite.descriptors && alone ? 0 : -1;
}

/* --- specs ----------------------------------------------------------------------------------- */

void contract_set(struct hutch_spec *spec, const char *field, const char *text)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (hutch_spec_set(spec, field, text, &err) < 0)
        fail_msg("%s=%s: %s", field, text, err.msg);
}

struct hutch_spec *contract_spec(const char *script)
{
    const char *const command[] = {"sh", "-c", script};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = NULL;
    assert_int_equal(hutch_spec_new(&spec, &err), 0);
    assert_int_equal(hutch_spec_set_command(spec, COUNT(command), command, &err), 0);
    contract_set(spec, "backend", suite.backend);
    contract_set(spec, "limits.timeout", "60s");
    if (!suite.keeps_everything)
        contract_set(spec, "allow_missing", "all");
    return spec;
}

struct hutch_result *contract_run(struct hutch_spec *spec, const struct hutch_run_options *options)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    int status = hutch_run(spec, options, &result, &err);
    hutch_spec_free(spec);
    if (status < 0)
        fail_msg("hutch_run: %s (%s)", err.msg, hutch_code_name(err.code));
    assert_int_equal(status, 0);
    assert_non_null(result);
    return result;
}

/* Nothing that is returned may have been touched. */
void contract_refuse(struct hutch_spec *spec, enum hutch_code code)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    static struct hutch_result sentinel;
    struct hutch_result *const untouched = &sentinel;
    struct hutch_result *result = untouched;
    int status = hutch_run(spec, NULL, &result, &err);
    hutch_spec_free(spec);
    if (status == 0)
        hutch_result_free(result);
    assert_true(status < 0);
    assert_string_equal(hutch_code_name(err.code), hutch_code_name(code));
    assert_int_equal(status, -(int)err.code);
    assert_ptr_equal(result, untouched);
    assert_true(strlen(err.msg) > 10);
}

void assert_reason(const struct hutch_result *result, enum hutch_reason reason, int exit_code)
{
    assert_string_equal(hutch_reason_name(result->reason), hutch_reason_name(reason));
    assert_int_equal(result->exit_code, exit_code);
    assert_int_equal(result->ok, reason == HUTCH_REASON_EXITED && exit_code == 0);
}

void assert_output(const struct hutch_output *output, const char *text)
{
    assert_string_equal(output->data, text);
    assert_int_equal(output->length, strlen(text));
    assert_int_equal(output->total_bytes, strlen(text));
    assert_int_equal(output->dropped_bytes, 0);
}

/* --- files ----------------------------------------------------------------------------------- */

const char *contract_directory(void)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%u", suite.home, suite.directories++);
    assert_int_equal(mkdir(path, 0755), 0);
    return path;
}

const char *contract_join(const char *directory, const char *rest)
{
    static char text[256];
    (void)snprintf(text, sizeof(text), "%s:%s", directory, rest);
    return text;
}

void contract_write(const char *directory, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

bool contract_exists(const char *directory, const char *name)
{
    char path[256];
    struct stat info;
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    return lstat(path, &info) == 0;
}

char *contract_read(const char *directory, const char *name)
{
    char path[256];
    char *text = calloc(1, 4096);
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(text);
    (void)!fread(text, 1, 4095, file);
    (void)fclose(file);
    return text;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

/* --- the suite ------------------------------------------------------------------------------- */

/* Does a run with every default limit go? */
static bool probe_limits(void)
{
    static const char *const command[] = {"true"};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = NULL;
    struct hutch_result *result = NULL;
    if (hutch_spec_new(&spec, &err) < 0 ||
        hutch_spec_set_command(spec, COUNT(command), command, &err) < 0 ||
        hutch_spec_set(spec, "backend", suite.backend, &err) < 0)
        return false;
    bool goes = hutch_run(spec, NULL, &result, &err) == 0;
    if (!goes && err.code != HUTCH_E_UNENFORCEABLE)
        (void)fprintf(stderr, "contract: %s\n", err.msg);
    hutch_result_free(result);
    hutch_spec_free(spec);
    return goes;
}

struct group {
    const char *name;
    const struct CMUnitTest *tests;
    size_t count;
};

int main(int argc, char **argv)
{
    const struct group groups[] = {
        {"results", contract_results, contract_results_count},
        {"streams", contract_streams, contract_streams_count},
        {"surroundings", contract_surroundings, contract_surroundings_count},
        {"limits", contract_limits, contract_limits_count},
        {"errors", contract_errors, contract_errors_count},
        {"callers", contract_callers, contract_callers_count},
        {"sandboxes", contract_sandboxes, contract_sandboxes_count},
    };
    int failures = 0;
    if (argc != 2) {
        (void)fprintf(stderr, "usage: contract BACKEND\n");
        return 2;
    }
    suite.backend = argv[1];
    (void)snprintf(suite.home, sizeof(suite.home), "/tmp/contract-XXXXXX");
    if (!mkdtemp(suite.home) || setenv("HUTCH_HOME", suite.home, 1) < 0) {
        perror("contract: make a directory");
        return 2;
    }
    suite.keeps_everything = probe_limits();
    for (size_t i = 0; i < COUNT(groups); i++)
        failures +=
            _cmocka_run_group_tests(groups[i].name, groups[i].tests, groups[i].count, NULL, NULL);
    (void)nftw(suite.home, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return failures ? 1 : 0;
}
