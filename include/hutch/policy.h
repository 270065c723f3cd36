/* SPDX-License-Identifier: Apache-2.0 */
/* What requests may not exceed: limits, images, mounts, hosts, secrets, for everybody or for
 * tenants. hutch_run() and the functions of hutch/sandbox.h hold every request against the policy
 * of the host by themselves: /etc/hutch/policy.yml (or .yaml, .json) and, narrowing it further, the
 * file that $HUTCH_POLICY names or the user's own, ~/.config/hutch/policy.yml. Where there is no
 * file there are no rules but hutch's own defaults. A file that cannot be read, is not understood
 * or can be changed by others is an error: nothing runs.
 *
 * A program that lives long keeps a policy open instead, reads it again when it wants to, and says
 * for which tenant it asks. hutch-policy(5) tells what a file may say. */
#ifndef HUTCH_POLICY_H
#define HUTCH_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "hutch/error.h"
#include "hutch/sandbox.h"
#include "hutch/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hutch_policy;

/* path NULL: what $HUTCH_POLICY names, or the user's own. The host's own file is always part of it.
 * A policy without any file is one that allows everything. */
HUTCH_API HUTCH_MUST_CHECK int hutch_policy_open(const char *path, struct hutch_policy **ret_policy,
                                                 struct hutch_error *err);
HUTCH_API void hutch_policy_free(struct hutch_policy *policy);
/* Reads the files again. All of them are in force at once or none: when one is broken, the policy
 * stays what it was and *err says why. Requests that are being decided meanwhile see one policy
 * whole. May be called from any thread. ret_changed may be NULL. */
HUTCH_API HUTCH_MUST_CHECK int hutch_policy_reload(struct hutch_policy *policy, bool *ret_changed,
                                                   struct hutch_error *err);
/* SHA-256 of the files, as 64 hexadecimal digits; empty when there are none. */
#define HUTCH_POLICY_HASH_BYTES 65
HUTCH_API void hutch_policy_hash(struct hutch_policy *policy,
                                 char ret_hash[HUTCH_POLICY_HASH_BYTES]);

/* Requests with this spec, or to this sandbox, are held against this policy, as one of the tenant
 * (NULL: by the caller's uid). Both are borrowed: they must live as long. A tenant that the files
 * do not know is refused; where there is no file at all, it is only whose the sandbox is. */
HUTCH_API void hutch_spec_use_policy(struct hutch_spec *spec, struct hutch_policy *policy,
                                     const char *tenant);
HUTCH_API void hutch_sandbox_use_policy(struct hutch_sandbox *sandbox, struct hutch_policy *policy,
                                        const char *tenant);

/* The spec becomes what hutch_run() (HUTCH_USE_RUN) or hutch_sandbox_create() (HUTCH_USE_CREATE)
 * would make of it: completed, checked and held against the policy. Nothing is made; totals are not
 * looked at. on_change, which may be NULL, hears of every value that the policy made smaller. */
typedef void (*hutch_policy_change_fn)(void *userdata, const char *sentence);
HUTCH_API HUTCH_MUST_CHECK int hutch_spec_decide(struct hutch_spec *spec, enum hutch_use use,
                                                 hutch_policy_change_fn on_change, void *userdata,
                                                 struct hutch_error *err);

/* May the tenant (NULL: the caller's uid) use the image of this name? digest: what the name leads
 * to, where that is known; NULL otherwise. Fails with the rule that says no. */
HUTCH_API HUTCH_MUST_CHECK int hutch_policy_image(struct hutch_policy *policy, const char *tenant,
                                                  const char *reference, const char *digest,
                                                  struct hutch_error *err);

/* Is the file a policy that would be in force? Fails with the line otherwise. */
HUTCH_API HUTCH_MUST_CHECK int hutch_policy_check(const char *path, struct hutch_error *err);

struct hutch_policy_rule {
    const char *name;  /* "ceilings.limits.memory" */
    const char *value; /* "4g"; of a list: one of its entries, or "nothing" when it is empty */
    const char *from;  /* "/etc/hutch/policy.yml:12", or "hutch" for its own defaults */
};
/* Anything but 0 ends the listing. */
typedef int (*hutch_policy_rule_fn)(void *userdata, const struct hutch_policy_rule *rule);
/* What holds for the tenant (NULL: for the caller's uid), and where each rule stands. */
HUTCH_API HUTCH_MUST_CHECK int hutch_policy_show(struct hutch_policy *policy, const char *tenant,
                                                 hutch_policy_rule_fn on_rule, void *userdata,
                                                 struct hutch_error *err);
/* The tenant that the caller's uid is; NULL when it is none. Borrowed until the next reload. */
HUTCH_API const char *hutch_policy_tenant(struct hutch_policy *policy);
/* The same of any uid; "" when it is none. */
HUTCH_API void hutch_policy_tenant_of(struct hutch_policy *policy, uid_t uid,
                                      char ret_tenant[HUTCH_TENANT_BYTES]);
/* Do the files know this tenant? Where there is none, every name is as good as another. */
HUTCH_API bool hutch_policy_knows(struct hutch_policy *policy, const char *tenant);
/* The files, the host's own first; NULL after the last. Borrowed until the next reload. */
HUTCH_API const char *hutch_policy_path(struct hutch_policy *policy, size_t index);

#ifdef __cplusplus
}
#endif
#endif
