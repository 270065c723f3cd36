/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets: a text of secret_spec.h, or {"name": NAME, "env": VAR}, {"name": NAME, "file": PATH} or
 * {"name": NAME, "hosts": [HOST, ...], "header": TEXT, "tls": "intercept"}. */
#include <stdlib.h>
#include <string.h>

#include "core/field_read.h"
#include "core/secret_spec.h"
#include "util/own.h"

static int read_text(void *slot, struct hutch_node node, struct hutch_error *err)
{
    return hutch_read_text(node, slot, err);
}

static int read_hosts(void *slot, struct hutch_node node, struct hutch_error *err)
{
    if (node.value->type != HUTCH_VALUE_ARRAY)
        return hutch_fail_kind(node, "a list such as [\"api.example.com\"]", err);
    for (size_t i = 0; i < node.value->list.count; i++) {
        char *text;
        if (hutch_read_text(hutch_node_item(node, i), &text, err) < 0 ||
            hutch_strlist_take(slot, text, err) < 0)
            return -(int)err->code;
    }
    return 0;
}

static int read_tls(void *slot, struct hutch_node node, struct hutch_error *err)
{
    const char *text = hutch_value_text(node.value);
    if (!text || strcmp(text, "intercept") != 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the one word that this takes is 'intercept', leave it out for plain "
                          "HTTP");
    *(bool *)slot = true;
    return 0;
}

static const struct hutch_member members[] = {
    {"name", offsetof(struct hutch_secret, name), read_text, true},
    {"env", offsetof(struct hutch_secret, env), read_text, false},
    {"file", offsetof(struct hutch_secret, file), read_text, false},
    {"hosts", offsetof(struct hutch_secret, hosts), read_hosts, false},
    {"header", offsetof(struct hutch_secret, header), read_text, false},
    {"tls", offsetof(struct hutch_secret, intercepts_tls), read_tls, false},
};

/* Moves the secret into the list; on failure it stays the caller's. */
static int take(const struct hutch_field_row *row, struct hutch_secrets *secrets,
                struct hutch_secret *secret, struct hutch_error *err)
{
    if (secrets->count >= row->max)
        return hutch_fail_crowded(row, err);
    struct hutch_secret *items = reallocarray(secrets->items, secrets->count + 1, sizeof(*items));
    if (!items)
        return hutch_fail_nomem(err);
    secrets->items = items;
    secrets->items[secrets->count++] = *secret;
    *secret = (struct hutch_secret){0};
    return 0;
}

int hutch_secrets_add_text(const struct hutch_field_row *row, void *slot, const char *text,
                           struct hutch_error *err)
{
    hutch_cleanup(hutch_secret_done) struct hutch_secret secret = {0};
    int r = hutch_secret_parse(text, &secret, err);
    return r < 0 ? r : take(row, slot, &secret, err);
}

static int read_one(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                    struct hutch_error *err)
{
    hutch_cleanup(hutch_secret_done) struct hutch_secret secret = {0};
    if (node.value->type == HUTCH_VALUE_STRING)
        return hutch_secrets_add_text(row, slot, node.value->string.bytes, err);
    int r = hutch_read_members(row, members, HUTCH_COUNT(members), &secret, node, err);
    if (r >= 0)
        r = hutch_secret_complete(&secret, err);
    return r < 0 ? r : take(row, slot, &secret, err);
}

int hutch_secrets_read(const struct hutch_field_row *row, void *slot, struct hutch_node node,
                       struct hutch_error *err)
{
    return hutch_read_each(row, slot, node, read_one, err);
}

static int write_one(const struct hutch_secret *secret, struct hutch_json_out *out,
                     struct hutch_error *err)
{
    hutch_json_open(out, NULL, '{');
    hutch_json_string(out, "name", secret->name);
    if ((secret->env && hutch_write_text(secret->env, "env", out, err) < 0) ||
        (secret->file && hutch_write_text(secret->file, "file", out, err) < 0))
        return -(int)err->code;
    if (secret->hosts.count) {
        hutch_json_open(out, "hosts", '[');
        for (size_t i = 0; i < secret->hosts.count; i++)
            hutch_json_string(out, NULL, secret->hosts.items[i]);
        hutch_json_close(out, ']');
        hutch_json_string(out, "header", secret->header);
    }
    if (secret->intercepts_tls)
        hutch_json_string(out, "tls", "intercept");
    hutch_json_close(out, '}');
    return 0;
}

int hutch_secrets_write(const struct hutch_field_row *row, const void *slot, const char *key,
                        struct hutch_json_out *out, struct hutch_error *err)
{
    const struct hutch_secrets *secrets = slot;
    (void)row;
    hutch_json_open(out, key, '[');
    for (size_t i = 0; i < secrets->count; i++)
        if (write_one(&secrets->items[i], out, err) < 0)
            return hutch_wrap(err, "entry %zu: ", i + 1);
    hutch_json_close(out, ']');
    return 0;
}

void hutch_secrets_done(void *slot)
{
    struct hutch_secrets *secrets = slot;
    for (size_t i = 0; i < secrets->count; i++)
        hutch_secret_done(&secrets->items[i]);
    free(secrets->items);
}
