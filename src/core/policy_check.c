/* SPDX-License-Identifier: Apache-2.0 */
/* What an entry of each list of a policy must look like. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/isolation.h"
#include "core/policy_read.h"
#include "core/secret_spec.h"
#include "util/own.h"

int policy_check_backend(char *text, struct hutch_error *err)
{
    if (!strcmp(hutch_backend_name(text), text))
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.60s' is not a backend, write 'native', 'docker' or 'oci'", text);
}

int policy_check_place(char *text, struct hutch_error *err)
{
    if (hutch_check_host_path(text, err) < 0)
        return -(int)err->code;
    hutch_path_trim(text);
    if (hutch_path_is_normal(text))
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.120s' is not an absolute path without '.', '..' and '//', write it like "
                      "'/srv/data'",
                      text);
}

/* A pattern is one where a letter in the place of each star makes it a name. */
int policy_check_secret(char *text, struct hutch_error *err)
{
    char name[HUTCH_SECRET_NAME_BYTES + 1]; /* one more, so that what is too long stays it */
    (void)snprintf(name, sizeof(name), "%s", text);
    for (char *star = strchr(name, '*'); star; star = strchr(star, '*'))
        *star = 'a';
    if (hutch_secret_name_is_valid(name))
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.80s' is not the name of a secret, write it like 'api-key' or 'team-*'",
                      text);
}

int policy_check_label(char *text, struct hutch_error *err)
{
    char *equals = strchr(text, '=');
    if (equals)
        *equals = '\0';
    int r = hutch_check_label_key(text, err);
    if (equals)
        *equals = '=';
    return r < 0 || !equals ? r : hutch_check_label(equals + 1, err);
}

static const struct {
    const char *name;
    unsigned bit;
} deliveries[] = {{"env", POLICY_ENV}, {"file", POLICY_FILE}, {"edge", POLICY_EDGE}};

static int read_delivery(unsigned *bits, struct hutch_node node, struct hutch_error *err)
{
    const char *text = hutch_value_text(node.value);
    for (size_t i = 0; text && i < HUTCH_COUNT(deliveries); i++)
        if (!strcmp(deliveries[i].name, text)) {
            *bits |= deliveries[i].bit;
            return 0;
        }
    return hutch_fail(err, HUTCH_E_INVALID, 0, "a delivery must be 'env', 'file' or 'edge'");
}

int policy_read_secret(struct policy_entry *entry, struct hutch_node node, struct hutch_error *err)
{
    for (size_t i = 0; i < node.value->list.count; i++) {
        struct hutch_node item = hutch_node_item(node, i);
        int r = 0;
        if (!strcmp(item.value->key, "name"))
            r = hutch_read_text(item, &entry->text, err);
        else if (strcmp(item.value->key, "delivery") != 0)
            r = hutch_fail(err, HUTCH_E_INVALID, 0,
                           "unknown key '%.60s', a secret has 'name' and 'delivery'",
                           item.value->key);
        else if (item.value->type != HUTCH_VALUE_ARRAY || !item.value->list.count)
            r = hutch_fail(err, HUTCH_E_INVALID, 0,
                           "delivery: a list such as [\"edge\"] must stand here");
        else
            for (size_t k = 0; k < item.value->list.count && r >= 0; k++)
                r = read_delivery(&entry->deliveries, hutch_node_item(item, k), err);
        if (r < 0)
            return r;
    }
    return entry->text ? 0 : hutch_fail(err, HUTCH_E_INVALID, 0, "'name' is missing");
}

void policy_delivery_names(unsigned bits, char text[POLICY_DELIVERY_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < HUTCH_COUNT(deliveries) && used < POLICY_DELIVERY_BYTES; i++)
        if (bits & deliveries[i].bit)
            used += (size_t)snprintf(text + used, POLICY_DELIVERY_BYTES - used, "%s%s",
                                     used ? ", " : "", deliveries[i].name);
}
