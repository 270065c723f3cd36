/* SPDX-License-Identifier: Apache-2.0 */
/* A policy that is kept open by a program that lives long. */
#include "hutch/policy.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/native/sandbox.h"
#include "libhutch/policy_set.h"
#include "libhutch/scratch.h"
#include "util/config_file.h"
#include "util/own.h"

struct hutch_policy {
    pthread_mutex_t lock; /* for the pointer alone: the set itself never changes */
    struct policy_set *set;
    char *path; /* as given to hutch_policy_open() */
};

int hutch_policy_open(const char *path, struct hutch_policy **ret_policy, struct hutch_error *err)
{
    OR_SCRATCH(err);
    struct hutch_policy *policy = calloc(1, sizeof(*policy));
    if (!policy)
        return hutch_fail_nomem(err);
    (void)pthread_mutex_init(&policy->lock, NULL);
    policy->path = path ? strdup(path) : NULL;
    int status =
        path && !policy->path ? hutch_fail_nomem(err) : policy_set_load(path, &policy->set, err);
    if (status < 0) {
        hutch_policy_free(policy);
        return status;
    }
    *ret_policy = policy;
    return 0;
}

void hutch_policy_free(struct hutch_policy *policy)
{
    if (!policy)
        return;
    policy_set_release(policy->set);
    (void)pthread_mutex_destroy(&policy->lock);
    free(policy->path);
    free(policy);
}

struct policy_set *policy_now(struct hutch_policy *policy)
{
    (void)pthread_mutex_lock(&policy->lock);
    struct policy_set *set = policy_set_hold(policy->set);
    (void)pthread_mutex_unlock(&policy->lock);
    return set;
}

int hutch_policy_reload(struct hutch_policy *policy, bool *ret_changed, struct hutch_error *err)
{
    struct policy_set *fresh = NULL;
    OR_SCRATCH(err);
    if (policy_set_load(policy->path, &fresh, err) < 0)
        return hutch_wrap(err, "the policy stays as it was: ");
    (void)pthread_mutex_lock(&policy->lock);
    struct policy_set *old = policy->set;
    policy->set = fresh;
    (void)pthread_mutex_unlock(&policy->lock);
    if (ret_changed)
        *ret_changed = strcmp(old ? old->hash : "", fresh ? fresh->hash : "") != 0;
    policy_set_release(old);
    return 0;
}

void hutch_policy_hash(struct hutch_policy *policy, char ret_hash[HUTCH_POLICY_HASH_BYTES])
{
    struct policy_set *set = policy_now(policy);
    memset(ret_hash, 0, HUTCH_POLICY_HASH_BYTES);
    if (set)
        memcpy(ret_hash, set->hash, HUTCH_POLICY_HASH_BYTES);
    policy_set_release(set);
}

void hutch_spec_use_policy(struct hutch_spec *spec, struct hutch_policy *policy, const char *tenant)
{
    spec->asker = (struct hutch_asker){policy, tenant};
}

void hutch_sandbox_use_policy(struct hutch_sandbox *sandbox, struct hutch_policy *policy,
                              const char *tenant)
{
    sandbox->asker = (struct hutch_asker){policy, tenant};
}

int hutch_policy_check(const char *path, struct hutch_error *err)
{
    hutch_cleanup(config_file_done) struct config_file file = {.text = NULL};
    struct policy_file *parsed = NULL;
    OR_SCRATCH(err);
    if (config_file_read(path, &file, err) < 0 ||
        policy_file_parse(file.path, file.text, file.length,
                          file.is_json ? HUTCH_FORMAT_JSON : HUTCH_FORMAT_YAML, &parsed, err) < 0)
        return -(int)err->code;
    policy_file_free(parsed);
    return 0;
}

const char *hutch_policy_tenant(struct hutch_policy *policy)
{
    const struct policy_subject subject = {.uid = getuid()};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct policy_view view;
    if (!policy->set || policy_view_init(&view, policy->set->files, &subject, &ignored) < 0)
        return NULL;
    return view.tenant;
}

void hutch_policy_tenant_of(struct hutch_policy *policy, uid_t uid,
                            char ret_tenant[HUTCH_TENANT_BYTES])
{
    const struct policy_subject subject = {.uid = uid};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct policy_set *set = policy_now(policy);
    struct policy_view view;
    memset(ret_tenant, 0, HUTCH_TENANT_BYTES);
    if (set && policy_view_init(&view, set->files, &subject, &ignored) == 0 && view.tenant)
        (void)snprintf(ret_tenant, HUTCH_TENANT_BYTES, "%s", view.tenant);
    policy_set_release(set);
}

bool hutch_policy_knows(struct hutch_policy *policy, const char *tenant)
{
    const struct policy_subject subject = {.tenant = tenant};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct policy_set *set = policy_now(policy);
    struct policy_view view;
    bool is_known = !set || policy_view_init(&view, set->files, &subject, &ignored) == 0;
    policy_set_release(set);
    return is_known;
}

const char *hutch_policy_path(struct hutch_policy *policy, size_t index)
{
    for (size_t i = 0; policy->set && i < POLICY_FILES; i++)
        if (policy->set->files[i] && index-- == 0)
            return policy->set->files[i]->path;
    return NULL;
}
