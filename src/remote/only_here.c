/* SPDX-License-Identifier: Apache-2.0 */
/* What is about this machine, and no daemon does for another: each says so. */
#include <stdlib.h>
#include <string.h>

#include "hutch/audit.h"
#include "hutch/hutch.h"
#include "hutch/image.h"
#include "remote/client.h"
#include "util/strlist.h"

static int refuse(const char *what, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "%s has no remote form; do it on the daemon's machine, or here without "
                      "'--host' and HUTCH_HOST",
                      what);
}

int hutch_doctor(hutch_check_fn on_check, void *userdata, struct hutch_error *err)
{
    (void)on_check, (void)userdata;
    return refuse("'hutch doctor'", err);
}

int hutch_gc(bool dry_run, hutch_gc_fn on_item, void *userdata, struct hutch_error *err)
{
    (void)dry_run, (void)on_item, (void)userdata;
    return refuse("'hutch gc'", err);
}

int hutch_secret_list(hutch_secret_fn on_secret, void *userdata, struct hutch_error *err)
{
    (void)on_secret, (void)userdata;
    return refuse("'hutch secret'", err);
}

int hutch_audit_prune(uint64_t older_than_ms, uint64_t *ret_removed, struct hutch_error *err)
{
    (void)older_than_ms, (void)ret_removed;
    return refuse("'hutch audit --prune'", err);
}

int hutch_image_login(const char *registry, const char *user, const char *password,
                      struct hutch_error *err)
{
    (void)registry, (void)user, (void)password;
    return refuse("'hutch image login'", err);
}

int hutch_image_logout(const char *registry, struct hutch_error *err)
{
    (void)registry;
    return refuse("'hutch image logout'", err);
}

int hutch_spec_decide(struct hutch_spec *spec, enum hutch_use use, hutch_policy_change_fn on_change,
                      void *userdata, struct hutch_error *err)
{
    (void)spec, (void)use, (void)on_change, (void)userdata;
    return refuse("'--dry-run'", err);
}

/* ---- the policy ------------------------------------------------------------------------------ */

int hutch_policy_open(const char *path, struct hutch_policy **ret_policy, struct hutch_error *err)
{
    (void)path, (void)ret_policy;
    return refuse("'hutch policy'", err);
}

int hutch_policy_check(const char *path, struct hutch_error *err)
{
    (void)path;
    return refuse("'hutch policy'", err);
}

int hutch_policy_show(struct hutch_policy *policy, const char *tenant, hutch_policy_rule_fn on_rule,
                      void *userdata, struct hutch_error *err)
{
    (void)policy, (void)tenant, (void)on_rule, (void)userdata;
    return refuse("'hutch policy'", err);
}

void hutch_policy_free(struct hutch_policy *policy)
{
    (void)policy; /* there never is one */
}

void hutch_policy_hash(struct hutch_policy *policy, char ret_hash[HUTCH_POLICY_HASH_BYTES])
{
    (void)policy;
    ret_hash[0] = '\0';
}

const char *hutch_policy_tenant(struct hutch_policy *policy)
{
    (void)policy;
    return NULL;
}

const char *hutch_policy_path(struct hutch_policy *policy, size_t index)
{
    (void)policy, (void)index;
    return NULL;
}

/* ---- words ----------------------------------------------------------------------------------- */

const char *hutch_version(void)
{
    return HUTCH_VERSION;
}

/* The same call again, to the same daemon; the token is still the environment's. */
int hutch_sandbox_command_prefix(const struct hutch_sandbox *sandbox, char ***ret_words,
                                 struct hutch_error *err)
{
    struct remote_client *client = NULL;
    struct hutch_strlist words = {0};
    if (remote_client(&client, err) < 0)
        return -(int)err->code;
    const char *const all[] = {
        "hutch", "--host", client->host.name, "exec", "-i", hutch_sandbox_name(sandbox), "--"};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (hutch_strlist_add(&words, all[i], err) < 0) {
            hutch_strlist_done(&words);
            return -(int)err->code;
        }
    *ret_words = words.items;
    return 0;
}

void hutch_words_free(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

/* Nobody keeps a sandbox here. */
int hutch_keeper_main(void)
{
    return 125;
}
