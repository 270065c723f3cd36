/* SPDX-License-Identifier: Apache-2.0 */
/* The suite as a program: see contract.h. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

/* Does a run go here, and which limits are missing? */
static bool probe_limits(struct contract_suite *suite)
{
    static const char *const command[] = {"true"};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = NULL;
    struct hutch_result *result = NULL;
    if (hutch_spec_new(&spec, &err) < 0 ||
        hutch_spec_set_command(spec, COUNT(command), command, &err) < 0)
        return false;
    contract_set_fields(spec);
    contract_set(spec, "allow_missing", "all");
    contract_set(spec, "limits.inodes", "10000"); /* one that is asked for by name counts */
    bool goes = hutch_run(spec, NULL, &result, &err) == 0;
    if (!goes)
        (void)fprintf(stderr, "contract: nothing runs on %s: %s\n", suite->backend, err.msg);
    for (const char *const *name = goes ? result->missing : NULL; name && *name; name++) {
        if (suite->missing_count == COUNT(suite->missing))
            break;
        (void)snprintf(suite->missing[suite->missing_count++], sizeof(suite->missing[0]), "%s",
                       *name);
        (void)fprintf(stderr, "contract: %s does not enforce %s here\n", suite->backend, *name);
    }
    hutch_result_free(result);
    hutch_spec_free(spec);
    return goes;
}

struct group {
    const char *name;
    const struct CMUnitTest *tests;
    size_t count;
};

static int run_groups(const char *only)
{
#define GROUP(name)                                     \
    {                                                   \
#name, contract_##name, contract_##name##_count \
    }
    const struct group groups[] = {
        GROUP(results), GROUP(streams),   GROUP(surroundings), GROUP(posture),
        GROUP(limits),  GROUP(errors),    GROUP(callers),      GROUP(terminals),
        GROUP(life),    GROUP(read_only), GROUP(exec),         GROUP(files),
        GROUP(logs),    GROUP(sessions),  GROUP(single_files), GROUP(sandboxes),
    };
#undef GROUP
    int failures = 0;
    size_t known = 0;
    for (size_t i = 0; i < COUNT(groups); i++) {
        if (only && strcmp(only, groups[i].name) != 0)
            continue;
        known++;
        (void)!hutch_gc(false, NULL, NULL, NULL); /* a pool that the group before has made */
        failures +=
            _cmocka_run_group_tests(groups[i].name, groups[i].tests, groups[i].count, NULL, NULL);
    }
    if (!known)
        (void)fprintf(stderr, "contract: there is no group '%s'\n", only);
    return known ? failures : -1;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

/* The suite's own files, and the state of hutch unless somebody has prepared it. */
static bool make_home(struct contract_suite *suite)
{
    const char *prepared = getenv("CONTRACT_HOME");
    (void)snprintf(suite->home, sizeof(suite->home), "/tmp/contract-XXXXXX");
    return mkdtemp(suite->home) && setenv("HUTCH_HOME", prepared ? prepared : suite->home, 1) == 0;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    struct contract_suite *suite = contract_suite();
    int next = 1, failures = -1;
    if (argc > 3 && !strcmp(argv[1], "--only")) {
        only = argv[2];
        next = 3;
    }
    if (next >= argc || argv[next][0] == '-') {
        (void)fprintf(stderr, "usage: contract [--only GROUP] BACKEND [FIELD=VALUE]...\n");
        return 2;
    }
    suite->backend = argv[next];
    suite->fields = argv + next + 1;
    if (!make_home(suite)) {
        perror("contract: make a directory");
        return 2;
    }
    if (probe_limits(suite))
        failures = run_groups(only);
    (void)!hutch_gc(false, NULL, NULL, NULL); /* the pool of a home that goes */
    (void)nftw(suite->home, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return failures ? 1 : 0;
}
