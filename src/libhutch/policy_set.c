/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and reading the files of a policy. */
#include "libhutch/policy_set.h"

#include <stdlib.h>
#include <string.h>

#include "util/config_file.h"
#include "util/own.h"
#include "util/sha256.h"

#define NAME "policy"

static int parse(const struct config_file *file, struct sha256 *hash, struct policy_file **ret_file,
                 struct hutch_error *err)
{
    sha256_add(hash, file->text, file->length);
    sha256_add(hash, "", 1); /* so that two files are not one */
    return policy_file_parse(file->path, file->text, file->length,
                             file->is_json ? HUTCH_FORMAT_JSON : HUTCH_FORMAT_YAML, ret_file, err);
}

/* 1: there is one, 0: there is none. */
static int read_own(const char *path, struct config_file *file, struct hutch_error *err)
{
    const char *named = path ? path : getenv("HUTCH_POLICY");
    if (!named || !*named)
        return config_file_find(CONFIG_USER, NAME, file, err);
    int status = config_file_read(named, file, err);
    return status < 0 ? hutch_wrap(err, "policy: ") : 1;
}

static int load(const char *path, struct policy_set *set, struct hutch_error *err)
{
    struct sha256 hash;
    size_t count = 0;
    sha256_begin(&hash);
    for (size_t i = 0; i < POLICY_FILES; i++) {
        hutch_cleanup(config_file_done) struct config_file file = {.text = NULL};
        int found =
            i ? read_own(path, &file, err) : config_file_find(CONFIG_SYSTEM, NAME, &file, err);
        if (found > 0)
            found = parse(&file, &hash, &set->files[i], err);
        else if (found == 0)
            continue;
        if (found < 0)
            return found;
        count++;
    }
    if (count)
        sha256_end_hex(&hash, set->hash);
    return (int)count;
}

int policy_set_load(const char *path, struct policy_set **ret_set, struct hutch_error *err)
{
    struct policy_set set = {.holders = 1};
    int count = load(path, &set, err);
    struct policy_set *made = count > 0 ? malloc(sizeof(*made)) : NULL;
    if (made) {
        memcpy(made, &set, sizeof(*made));
        *ret_set = made;
        return 0;
    }
    for (size_t i = 0; i < POLICY_FILES; i++)
        policy_file_free(set.files[i]);
    if (count > 0)
        return hutch_fail_nomem(err);
    if (count == 0)
        *ret_set = NULL;
    return count;
}

int policy_set_empty(struct policy_set **ret_set, struct hutch_error *err)
{
    struct policy_set *made = calloc(1, sizeof(*made));
    if (!made)
        return hutch_fail_nomem(err);
    atomic_init(&made->holders, 1);
    *ret_set = made;
    return 0;
}

struct policy_set *policy_set_hold(struct policy_set *set)
{
    if (set)
        atomic_fetch_add(&set->holders, 1);
    return set;
}

void policy_set_release(struct policy_set *set)
{
    if (!set || atomic_fetch_sub(&set->holders, 1) != 1)
        return;
    for (size_t i = 0; i < POLICY_FILES; i++)
        policy_file_free(set->files[i]);
    free(set);
}
