/* SPDX-License-Identifier: Apache-2.0 */
/* What every backend must do, through the public interface and nothing else. `contract BACKEND`
 * runs the whole suite on a backend by its name. */
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

/* The backend under test, and whether this host lets it keep every promise. */
const char *contract_backend(void);
bool contract_keeps_everything(void);
/* Passes the test over, with a word why, where the host cannot keep a promise. */
#define NEEDS_EVERY_LIMIT()                                                          \
    do {                                                                             \
        if (!contract_keeps_everything()) {                                          \
            print_message("          skipped: this host cannot keep every limit\n"); \
            skip();                                                                  \
        }                                                                            \
    } while (0)

/* A spec for "sh -c script" on the backend under test. Freed by contract_run and contract_refuse.
 */
struct hutch_spec *contract_spec(const char *script);
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
