/* SPDX-License-Identifier: Apache-2.0 */
/* What every backend must do, through the public interface and nothing else.
 *
 *     contract [--only GROUP] BACKEND [FIELD=VALUE]...
 *
 * runs the suite, or one group of it, on a backend by its name; every spec has the fields that are
 * given ("runtime=runsc", "image=busybox"). What the backend does not enforce must be refused
 * instead. The environment may say more: CONTRACT_HOME is a directory of state to use, with images
 * in it; CONTRACT_LEFT is a program that prints what is left in the engine, which must be nothing.
 */
#ifndef HUTCH_TESTS_CONTRACT_H
#define HUTCH_TESTS_CONTRACT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hutch/hutch.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The backend under test, and the value that every spec has in a field; NULL: none. */
const char *contract_backend(void);
const char *contract_field(const char *field);
/* Are Control-C and Control-D more than characters? To gVisor of 2022 they are not. */
bool contract_has_keys(void);
/* Does it enforce every limit here, or the one of this name ("memory")? */
bool contract_keeps_everything(void);
bool contract_enforces(const char *limit);
/* One that is not enforced must be refused by name, and with the remedy. */
void contract_refuses_limit(const char *limit, const char *value);
/* How often something is done many times: less often where each time starts a container. */
int contract_times(int count);

/* A spec for "sh -c script" on the backend under test. Freed by contract_run and contract_refuse.
 */
struct hutch_spec *contract_spec(const char *script);
/* The backend, its fields, and that limits may be missing where it cannot keep all of them. */
void contract_prepare(struct hutch_spec *spec);
void contract_set(struct hutch_spec *spec, const char *field, const char *text);
/* Runs it and frees it; the run must succeed. options may be NULL. */
struct hutch_result *contract_run(struct hutch_spec *spec, const struct hutch_run_options *options);
/* Must not run, and for this reason. Frees it. */
void contract_refuse(struct hutch_spec *spec, enum hutch_code code);

void assert_reason(const struct hutch_result *result, enum hutch_reason reason, int exit_code);
void assert_output(const struct hutch_output *output, const char *text);

/* A new empty directory, below the suite's own; it lives until the suite ends. */
const char *contract_directory(void);
void contract_write(const char *directory, const char *name, const char *text);
/* Free it. */
char *contract_read(const char *directory, const char *name);
bool contract_exists(const char *directory, const char *name);
/* "DIRECTORY:rest", for mounts and workspaces. Valid until the next call. */
const char *contract_join(const char *directory, const char *rest);

int64_t now_ms(void);
/* How many descriptors this process has. */
unsigned open_descriptors(void);

/* What a sweep would take away, and what CONTRACT_LEFT finds: nothing. */
void assert_nothing_is_left(void);

/* One table per topic. */
extern const struct CMUnitTest contract_results[];
extern const size_t contract_results_count;
extern const struct CMUnitTest contract_streams[];
extern const size_t contract_streams_count;
extern const struct CMUnitTest contract_surroundings[];
extern const size_t contract_surroundings_count;
extern const struct CMUnitTest contract_limits[];
extern const size_t contract_limits_count;
extern const struct CMUnitTest contract_errors[];
extern const size_t contract_errors_count;
extern const struct CMUnitTest contract_sandboxes[];
extern const size_t contract_sandboxes_count;
extern const struct CMUnitTest contract_posture[];
extern const size_t contract_posture_count;
extern const struct CMUnitTest contract_terminals[];
extern const size_t contract_terminals_count;
extern const struct CMUnitTest contract_life[];
extern const size_t contract_life_count;
extern const struct CMUnitTest contract_exec[];
extern const size_t contract_exec_count;
extern const struct CMUnitTest contract_files[];
extern const size_t contract_files_count;
extern const struct CMUnitTest contract_logs[];
extern const size_t contract_logs_count;
extern const struct CMUnitTest contract_sessions[];
extern const size_t contract_sessions_count;
extern const struct CMUnitTest contract_single_files[];
extern const size_t contract_single_files_count;
extern const struct CMUnitTest contract_read_only[];
extern const size_t contract_read_only_count;
extern const struct CMUnitTest contract_callers[];
extern const size_t contract_callers_count;

/* No descriptor and no child is left of any test. */
int contract_before(void **state);
int contract_after(void **state);

#define TEST(function) cmocka_unit_test_setup_teardown(function, contract_before, contract_after)

#define CONTRACT_TABLE(name, ...)                   \
    const struct CMUnitTest name[] = {__VA_ARGS__}; \
    const size_t name##_count = sizeof(name) / sizeof((name)[0])

#endif
