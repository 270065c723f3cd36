/* SPDX-License-Identifier: Apache-2.0 */
/* A policy that a long-lived program keeps open, and reads again while others decide by it. */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/spec.h"
#include "hutch/policy.h"

static char place[] = "/tmp/hutch-test-policy-XXXXXX";
static char path[64];

static void put(const char *text)
{
    char fresh[80];
    (void)snprintf(fresh, sizeof(fresh), "%s.new", path);
    FILE *file = fopen(fresh, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(fresh, 0644), 0);
    assert_int_equal(rename(fresh, path), 0);
}

static uint64_t decided_pids(struct hutch_policy *policy, const char *tenant)
{
    struct hutch_spec *spec = NULL;
    struct hutch_error err;
    assert_fine(hutch_spec_new(&spec, &err), &err);
    assert_fine(hutch_spec_set_command(spec, 1, (const char *const[]){"true"}, &err), &err);
    hutch_spec_use_policy(spec, policy, tenant);
    assert_fine(hutch_spec_decide(spec, HUTCH_USE_RUN, NULL, NULL, &err), &err);
    uint64_t pids = spec->limits.pids;
    hutch_spec_free(spec);
    return pids;
}

static void a_broken_file_keeps_the_old_policy_and_says_so(void **state)
{
    struct hutch_policy *policy = NULL;
    struct hutch_error err;
    char first[HUTCH_POLICY_HASH_BYTES], second[HUTCH_POLICY_HASH_BYTES];
    bool changed = true;
    (void)state;
    put("ceilings: {limits: {pids: 10}}");
    assert_fine(hutch_policy_open(path, &policy, &err), &err);
    assert_int_equal(decided_pids(policy, NULL), 10);
    hutch_policy_hash(policy, first);
    assert_int_equal(strlen(first), 64);
    assert_fine(hutch_policy_reload(policy, &changed, &err), &err);
    assert_false(changed);
    put("ceilings: {limits: {pids: 20}}");
    assert_int_equal(decided_pids(policy, NULL), 10); /* not before it is read again */
    assert_fine(hutch_policy_reload(policy, &changed, &err), &err);
    assert_true(changed);
    assert_int_equal(decided_pids(policy, NULL), 20);
    static const char *const broken[] = {"", "ceilings: {limits: {pids: 30}", "celings: {}"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        put(broken[i]);
        err = (struct hutch_error){0};
        assert_int_equal(hutch_policy_reload(policy, &changed, &err), -HUTCH_E_INVALID);
        assert_non_null(strstr(err.msg, "the policy stays as it was: policy '"));
        assert_int_equal(decided_pids(policy, NULL), 20);
    }
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(hutch_policy_reload(policy, NULL, &err), -HUTCH_E_PERMISSION);
    assert_int_equal(unlink(path), 0);
    assert_true(hutch_policy_reload(policy, NULL, &err) < 0);
    assert_int_equal(decided_pids(policy, NULL), 20);
    hutch_policy_hash(policy, second);
    assert_string_not_equal(first, second);
    hutch_policy_free(policy);
}

static void a_tenant_by_name_must_be_known(void **state)
{
    struct hutch_policy *policy = NULL;
    struct hutch_spec *spec = NULL;
    struct hutch_error err;
    (void)state;
    put("ceilings: {limits: {pids: 10}}\ntenants: {a: {ceilings: {limits: {pids: 30}}}}");
    assert_fine(hutch_policy_open(path, &policy, &err), &err);
    assert_int_equal(decided_pids(policy, NULL), 10);
    assert_int_equal(decided_pids(policy, "a"), 30);
    assert_fine(hutch_spec_new(&spec, &err), &err);
    assert_fine(hutch_spec_set_command(spec, 1, (const char *const[]){"true"}, &err), &err);
    hutch_spec_use_policy(spec, policy, "b");
    assert_int_equal(hutch_spec_decide(spec, HUTCH_USE_RUN, NULL, NULL, &err), -HUTCH_E_PERMISSION);
    hutch_spec_free(spec);
    hutch_policy_free(policy);
}

struct race {
    struct hutch_policy *policy;
    atomic_bool is_over;
    atomic_uint decided;
};

/* Both values of a file belong together: half of one policy and half of another never hold. */
static void *decide_often(void *argument)
{
    struct race *race = argument;
    while (!race->is_over) {
        struct hutch_spec *spec = NULL;
        struct hutch_error err;
        if (hutch_spec_new(&spec, &err) < 0 ||
            hutch_spec_set_command(spec, 1, (const char *const[]){"true"}, &err) < 0)
            abort();
        hutch_spec_use_policy(spec, race->policy, NULL);
        if (hutch_spec_decide(spec, HUTCH_USE_RUN, NULL, NULL, &err) < 0 ||
            spec->limits.pids != spec->limits.open_files)
            abort();
        hutch_spec_free(spec);
        race->decided++;
    }
    return NULL;
}

static void reading_again_is_atomic(void **state)
{
    struct race race = {0};
    pthread_t threads[3];
    struct hutch_error err;
    (void)state;
    put("ceilings: {limits: {pids: 10, open_files: 10}}");
    assert_fine(hutch_policy_open(path, &race.policy, &err), &err);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, decide_often, &race), 0);
    for (int i = 0; i < 200 || race.decided < 200; i++) {
        char text[80];
        (void)snprintf(text, sizeof(text), "ceilings: {limits: {pids: %d, open_files: %d}}",
                       10 + i % 90, 10 + i % 90);
        put(text);
        assert_fine(hutch_policy_reload(race.policy, NULL, &err), &err);
    }
    race.is_over = true;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    hutch_policy_free(race.policy);
}

static int make_place(void **state)
{
    (void)state;
    if (!mkdtemp(place))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/policy.yml", place);
    return 0;
}

static int remove_place(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_file_keeps_the_old_policy_and_says_so),
        cmocka_unit_test(a_tenant_by_name_must_be_known),
        cmocka_unit_test(reading_again_is_atomic),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
