/* SPDX-License-Identifier: Apache-2.0 */
/* The tenants of a policy's file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/policy_read.h"

#define MAX_TENANTS 1024
#define MAX_UIDS 1024

static int read_uid(struct policy_tenant *tenant, struct hutch_node node, struct hutch_error *err)
{
    bool is_uid = node.value->type == HUTCH_VALUE_INTEGER && node.value->integer >= 0 &&
                  node.value->integer < (int64_t)UINT32_MAX;
    if (!is_uid)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "a uid must be a number such as 1000");
    tenant->uids[tenant->uid_count++] = (uint32_t)node.value->integer;
    return 0;
}

static int read_uids(struct policy_tenant *tenant, struct hutch_node node, struct hutch_error *err)
{
    if (node.value->type != HUTCH_VALUE_ARRAY || node.value->list.count > MAX_UIDS)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "uids: a list of at most %d numbers such as [1000] must stand here",
                          MAX_UIDS);
    tenant->uids = calloc(node.value->list.count + 1, sizeof(*tenant->uids));
    if (!tenant->uids)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < node.value->list.count; i++)
        if (read_uid(tenant, hutch_node_item(node, i), err) < 0)
            return hutch_wrap(err, "uids: entry %zu: ", i + 1);
    return 0;
}

static int read_tenant(struct policy_tenant *tenant, struct hutch_node node,
                       struct hutch_error *err)
{
    if (node.value->type != HUTCH_VALUE_OBJECT)
        return policy_fail_kind(node, "an object with the tenant's rules", err);
    tenant->line = node.value->line;
    tenant->name = strdup(node.value->key);
    if (!tenant->name)
        return hutch_fail_nomem(err);
    if (hutch_check_name(tenant->name, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < node.value->list.count; i++) {
        struct hutch_node item = hutch_node_item(node, i);
        int r = strcmp(item.value->key, "uids") != 0
                    ? policy_read_key(&tenant->rules, "", item, err)
                    : read_uids(tenant, item, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Whose rules would hold for a uid of two? */
static int check_uids(const struct policy_file *file, const struct policy_tenant *tenant,
                      struct hutch_error *err)
{
    for (size_t i = 0; i < tenant->uid_count; i++)
        for (const struct policy_tenant *other = file->tenants; other < tenant; other++)
            for (size_t k = 0; k < other->uid_count; k++)
                if (other->uids[k] == tenant->uids[i])
                    return hutch_fail(err, HUTCH_E_INVALID, 0,
                                      "uid %" PRIu32 " is tenant '%s' already, leave one of them",
                                      tenant->uids[i], other->name);
    return 0;
}

int policy_read_tenants(struct policy_file *file, struct hutch_node node, struct hutch_error *err)
{
    if (node.value->type != HUTCH_VALUE_OBJECT || node.value->list.count > MAX_TENANTS)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "tenants: an object of at most %d tenants by their names must stand here",
                          MAX_TENANTS);
    file->tenants = calloc(node.value->list.count + 1, sizeof(*file->tenants));
    if (!file->tenants)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < node.value->list.count; i++) {
        struct policy_tenant *tenant = &file->tenants[file->tenant_count++];
        struct hutch_node item = hutch_node_item(node, i);
        if (read_tenant(tenant, item, err) < 0 || check_uids(file, tenant, err) < 0)
            return hutch_wrap(err, "tenant '%.60s': ", item.value->key);
    }
    return 0;
}
