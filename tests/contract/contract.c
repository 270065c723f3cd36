/* SPDX-License-Identifier: Apache-2.0 */
#include "suite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct contract_suite suite;

struct contract_suite *contract_suite(void)
{
    return &suite;
}

const char *contract_backend(void)
{
    return suite.backend;
}

const char *contract_field(const char *field)
{
    size_t length = strlen(field);
    for (char **pair = suite.fields; *pair; pair++)
        if (!strncmp(*pair, field, length) && (*pair)[length] == '=')
            return *pair + length + 1;
    return NULL;
}

bool contract_has_keys(void)
{
    const char *runtime = contract_field("runtime");
    return !runtime || strcmp(runtime, "runsc") != 0;
}

bool contract_keeps_everything(void)
{
    return suite.missing_count == 0;
}

bool contract_enforces(const char *limit)
{
    for (size_t i = 0; i < suite.missing_count; i++)
        if (!strcmp(suite.missing[i], limit))
            return false;
    return true;
}

int contract_times(int count)
{
    return strcmp(suite.backend, "native") != 0 && count > 5 ? count / 5 : count;
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
    suite.mask = umask(0);
    (void)umask(suite.mask);
    return 0;
}

static int remove_box(void *userdata, struct hutch_sandbox *box)
{
    (void)userdata;
    return hutch_sandbox_remove(box, true, NULL);
}

int contract_after(void **state)
{
    (void)state;
    /* a test that failed had no time for these, nor for its sandboxes */
    (void)umask(suite.mask);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)!hutch_sandbox_list(remove_box, NULL, NULL);
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

void contract_set_fields(struct hutch_spec *spec)
{
    contract_set(spec, "backend", suite.backend);
    for (char **pair = suite.fields; *pair; pair++) {
        char field[64];
        size_t length = strcspn(*pair, "=");
        assert_true(length < sizeof(field) && (*pair)[length] == '=');
        (void)snprintf(field, sizeof(field), "%.*s", (int)length, *pair);
        contract_set(spec, field, *pair + length + 1);
    }
}

void contract_prepare(struct hutch_spec *spec)
{
    contract_set_fields(spec);
    if (!contract_keeps_everything())
        contract_set(spec, "allow_missing", "all");
}

struct hutch_spec *contract_spec(const char *script)
{
    const char *const command[] = {"sh", "-c", script};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = NULL;
    assert_int_equal(hutch_spec_new(&spec, &err), 0);
    assert_int_equal(hutch_spec_set_command(spec, COUNT(command), command, &err), 0);
    contract_prepare(spec);
    contract_set(spec, "limits.timeout", "60s");
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

void contract_refuses_limit(const char *limit, const char *value)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *strict = NULL;
    struct hutch_result *result = NULL;
    const char *const command[] = {"true"};
    char text[64];
    assert_int_equal(hutch_spec_new(&strict, &err), 0);
    assert_int_equal(hutch_spec_set_command(strict, COUNT(command), command, &err), 0);
    contract_set_fields(strict);
    (void)snprintf(text, sizeof(text), "limits.%s", limit);
    contract_set(strict, text, value);
    for (size_t i = 0; i < suite.missing_count; i++)
        if (strcmp(suite.missing[i], limit) != 0)
            contract_set(strict, "allow_missing", suite.missing[i]);
    int status = hutch_run(strict, NULL, &result, &err);
    hutch_spec_free(strict);
    assert_int_equal(status, -HUTCH_E_UNENFORCEABLE);
    assert_null(result);
    (void)snprintf(text, sizeof(text), "limit %s cannot be enforced", limit);
    assert_non_null(strstr(err.msg, text));
    (void)snprintf(text, sizeof(text), "--allow-missing %s", limit);
    assert_non_null(strstr(err.msg, text));
}

void assert_reason(const struct hutch_result *result, enum hutch_reason reason, int exit_code)
{
    if (result->reason != reason || result->exit_code != exit_code)
        print_message("%s %d %s\n", hutch_reason_name(result->reason), result->exit_code,
                      result->error.msg);
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

/* --- what is left ---------------------------------------------------------------------------- */

static void count_item(void *userdata, const char *kind, const char *what)
{
    print_message("left: %s %s\n", kind, what);
    (*(unsigned *)userdata)++;
}

/* An engine says that a container is gone before its list does. */
static bool engine_is_empty(const char *program, bool tell)
{
    char line[512];
    char *const argv[] = {(char *)(uintptr_t)program, NULL};
    posix_spawn_file_actions_t actions;
    bool empty = true;
    int ends[2], status;
    pid_t pid;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    assert_int_equal(posix_spawn(&pid, program, &actions, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    FILE *said = fdopen(ends[0], "r");
    assert_non_null(said);
    while (fgets(line, sizeof(line), said)) {
        empty = false;
        if (tell)
            print_message("left in the engine: %s", line);
    }
    (void)fclose(said);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return empty;
}

void assert_nothing_is_left(void)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    const char *command = getenv("CONTRACT_LEFT");
    unsigned items = 0;
    if (hutch_gc(true, count_item, &items, &err) < 0)
        fail_msg("sweep: %s", err.msg);
    assert_int_equal(items, 0);
    for (int try = 0; command && try < 30; try++) {
        if (engine_is_empty(command, false))
            return;
        (void)usleep(100000);
    }
    assert_true(!command || engine_is_empty(command, true));
}
