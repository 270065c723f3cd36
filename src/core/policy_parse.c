/* SPDX-License-Identifier: Apache-2.0 */
/* A document becomes a file of a policy. A value that is missing after its key ("images:") is an
 * error everywhere: it might have been meant as "none" or as "all". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/policy_read.h"
#include "core/suggest.h"
#include "util/own.h"

/* One key of the document, by its dotted path. */
struct policy_key {
    const char *path;
    int (*read)(const struct policy_key *key, struct policy_rules *rules, struct hutch_node node,
                struct hutch_error *err);
    size_t what;              /* a list's kind, or the offset of a text or limit in the rules */
    const char *const *words; /* of a text: what it may be, NULL-terminated */
    hutch_text_check_fn check;
};

static int read_defaults(const struct policy_key *key, struct policy_rules *rules,
                         struct hutch_node node, struct hutch_error *err);
static int read_ceilings(const struct policy_key *key, struct policy_rules *rules,
                         struct hutch_node node, struct hutch_error *err);
static int read_totals(const struct policy_key *key, struct policy_rules *rules,
                       struct hutch_node node, struct hutch_error *err);
static int read_list(const struct policy_key *key, struct policy_rules *rules,
                     struct hutch_node node, struct hutch_error *err);
static int read_text(const struct policy_key *key, struct policy_rules *rules,
                     struct hutch_node node, struct hutch_error *err);
static int read_retention(const struct policy_key *key, struct policy_rules *rules,
                          struct hutch_node node, struct hutch_error *err);

static const char *const exceed_words[] = {"refuse", "clamp", NULL};
static const char *const root_words[] = {"required", "optional", NULL};
static const char *const audit_words[] = {"on", "off", NULL};
static const char *const argv_words[] = {"full", "digest", NULL};

#define AT(member) offsetof(struct policy_rules, member)

/* "audit" is a word or a group of its own keys: a word is looked for first. */
static const struct policy_key keys[] = {
    {"on_exceed", read_text, AT(on_exceed), exceed_words, NULL},
    {"defaults", read_defaults, 0, NULL, NULL},
    {"ceilings", read_ceilings, 0, NULL, NULL},
    {"totals", read_totals, 0, NULL, NULL},
    {"images", read_list, POLICY_IMAGES, NULL, policy_check_image_pattern},
    {"backends", read_list, POLICY_BACKENDS, NULL, policy_check_backend},
    {"isolation", read_list, POLICY_ISOLATION, NULL, hutch_check_isolation},
    {"read_only", read_text, AT(read_only), root_words, NULL},
    {"mounts.read", read_list, POLICY_READ, NULL, policy_check_place},
    {"mounts.write", read_list, POLICY_WRITE, NULL, policy_check_place},
    {"egress.hosts", read_list, POLICY_HOSTS, NULL, hutch_check_egress},
    {"egress.ranges", read_list, POLICY_RANGES, NULL, hutch_check_range},
    {"egress.proxy", read_text, AT(proxy), NULL, hutch_check_proxy},
    {"egress.proxy_secret", read_text, AT(proxy_secret), NULL, hutch_check_secret},
    {"secrets", read_list, POLICY_SECRETS, NULL, policy_check_secret},
    {"required_labels", read_list, POLICY_LABELS, NULL, policy_check_label},
    {"allow_missing", read_list, POLICY_MISSING, NULL, hutch_check_promise},
    {"audit", read_text, AT(audit), audit_words, NULL},
    {"audit.argv", read_text, AT(audit_argv), argv_words, NULL},
    {"audit.retention", read_retention, AT(audit_retention), NULL, NULL},
};

/* ---- values ---------------------------------------------------------------------------------- */

/* "off" and "on" are words here, whatever YAML of other times took them for. */
static int read_word(struct hutch_node node, char **ret_text, struct hutch_error *err)
{
    if (node.value->type != HUTCH_VALUE_BOOL)
        return hutch_read_text(node, ret_text, err);
    *ret_text = strdup(node.value->boolean ? "on" : "off");
    return *ret_text ? 0 : hutch_fail_nomem(err);
}

static int check_word(const char *const *words, const char *text, struct hutch_error *err)
{
    for (const char *const *word = words; *word; word++)
        if (!strcmp(*word, text))
            return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.60s' must be '%s' or '%s'", text, words[0],
                      words[1]);
}

static int read_text(const struct policy_key *key, struct policy_rules *rules,
                     struct hutch_node node, struct hutch_error *err)
{
    struct policy_text *place = (struct policy_text *)(void *)((char *)rules + key->what);
    hutch_autofree char *text = NULL;
    int r = read_word(node, &text, err);
    if (r >= 0)
        r = key->words ? check_word(key->words, text, err) : key->check(text, err);
    if (r < 0)
        return r;
    free(place->text);
    *place = (struct policy_text){HUTCH_TAKE_PTR(text), node.value->line};
    return 0;
}

static int read_retention(const struct policy_key *key, struct policy_rules *rules,
                          struct hutch_node node, struct hutch_error *err)
{
    static const struct hutch_range range = {HUTCH_QUANTITY_DURATION, 1000, UINT64_MAX / 1000000,
                                             false};
    (void)key;
    return policy_read_limit(node, &range, &rules->audit_retention, err);
}

static int read_defaults(const struct policy_key *key, struct policy_rules *rules,
                         struct hutch_node node, struct hutch_error *err)
{
    (void)key;
    return policy_read_limits(rules->defaults, true, node, err);
}

static int read_ceilings(const struct policy_key *key, struct policy_rules *rules,
                         struct hutch_node node, struct hutch_error *err)
{
    (void)key;
    return policy_read_limits(rules->ceilings, false, node, err);
}

static int read_totals(const struct policy_key *key, struct policy_rules *rules,
                       struct hutch_node node, struct hutch_error *err)
{
    (void)key;
    return policy_read_totals(rules->totals, node, err);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static int add_entry(struct policy_list *list, struct policy_entry *entry, struct hutch_error *err)
{
    struct policy_entry *items = reallocarray(list->items, list->count + 1, sizeof(*items));
    if (!items)
        return hutch_fail_nomem(err);
    list->items = items;
    list->items[list->count++] = *entry;
    entry->text = NULL;
    return 0;
}

static int read_entry(const struct policy_key *key, struct policy_list *list,
                      struct hutch_node node, struct hutch_error *err)
{
    struct policy_entry entry = {.line = node.value->line};
    int r = key->what == POLICY_SECRETS && node.value->type == HUTCH_VALUE_OBJECT
                ? policy_read_secret(&entry, node, err)
                : hutch_read_text(node, &entry.text, err);
    if (r >= 0)
        r = key->check(entry.text, err);
    if (r >= 0)
        r = add_entry(list, &entry, err);
    free(entry.text);
    return r;
}

static int read_list(const struct policy_key *key, struct policy_rules *rules,
                     struct hutch_node node, struct hutch_error *err)
{
    struct policy_list *list = &rules->lists[key->what];
    if (node.value->type != HUTCH_VALUE_ARRAY)
        return policy_fail_kind(node, "a list such as [\"a\", \"b\"]", err);
    if (node.value->list.count > POLICY_MAX_ENTRIES)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "more than %d entries, remove some",
                          POLICY_MAX_ENTRIES);
    list->line = node.value->line;
    for (size_t i = 0; i < node.value->list.count; i++)
        if (read_entry(key, list, hutch_node_item(node, i), err) < 0)
            return hutch_wrap(err, "entry %zu: ", i + 1);
    return 0;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static const struct policy_key *find_key(const char *path)
{
    for (size_t i = 0; i < HUTCH_COUNT(keys); i++)
        if (!strcmp(keys[i].path, path))
            return &keys[i];
    return NULL;
}

static bool is_group(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < HUTCH_COUNT(keys); i++)
        if (!strncmp(keys[i].path, path, length) && keys[i].path[length] == '.')
            return true;
    return false;
}

static int fail_unknown(const char *path, struct hutch_error *err)
{
    struct hutch_suggestion suggestion = HUTCH_SUGGESTION(path);
    if (find_key(path)) /* it was found as one key */
        return policy_fail_dotted(path, err);
    if (!strcmp(path, "tenants"))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'tenants' stands only at the top of the file");
    for (size_t i = 0; i < HUTCH_COUNT(keys); i++)
        hutch_suggestion_offer(&suggestion, keys[i].path, keys[i].path);
    hutch_suggestion_offer(&suggestion, "tenants", "tenants");
    if (suggestion.nearest)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "unknown key '%.80s', did you mean '%s'?", path,
                          suggestion.nearest);
    return hutch_fail(err, HUTCH_E_INVALID, 0, "unknown key '%.80s'", path);
}

int policy_read_key(struct policy_rules *rules, const char *group, struct hutch_node node,
                    struct hutch_error *err)
{
    char path[HUTCH_FIELD_PATH_BYTES];
    const char *name = node.value->key;
    (void)snprintf(path, sizeof(path), "%s%s%s", group, *group ? "." : "", name);
    const struct policy_key *key = strchr(name, '.') ? NULL : find_key(path);
    bool opens = !*group && is_group(path) && node.value->type == HUTCH_VALUE_OBJECT;
    if (node.value->type == HUTCH_VALUE_NULL && (key || is_group(path)))
        return hutch_fail(
            err, HUTCH_E_INVALID, 0,
            "'%s' has no value; write one, such as [] for a list that allows nothing, "
            "or leave the key out",
            path);
    if (opens) {
        for (size_t i = 0; i < node.value->list.count; i++)
            if (policy_read_key(rules, path, hutch_node_item(node, i), err) < 0)
                return -(int)err->code;
        return 0;
    }
    if (!key && is_group(path))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "%s: %s stands where an object must be", path,
                          hutch_value_kind(node.value));
    if (!key)
        return fail_unknown(path, err);
    return key->read(key, rules, node, err) < 0 ? hutch_wrap(err, "%s: ", path) : 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* JSON tells its lines here too: an operator writes it by hand. */
static int read_document(struct policy_file *file, struct hutch_document *document,
                         struct hutch_error *err)
{
    document->tells_lines = true;
    struct hutch_node root = hutch_document_root(document);
    for (size_t i = 0; i < root.value->list.count; i++) {
        struct hutch_node item = hutch_node_item(root, i);
        int r = strcmp(item.value->key, "tenants") != 0
                    ? policy_read_key(&file->everybody, "", item, err)
                    : policy_read_tenants(file, item, err);
        if (r < 0)
            return hutch_wrap(err, "line %u: ", document->line);
    }
    return 0;
}

int policy_file_parse(const char *path, const char *text, size_t length, enum hutch_format format,
                      struct policy_file **ret_file, struct hutch_error *err)
{
    hutch_cleanup(hutch_document_done) struct hutch_document document = {0};
    struct policy_file *file = calloc(1, sizeof(*file));
    if (!file)
        return hutch_fail_nomem(err);
    file->path = strdup(path);
    int r = file->path ? 0 : hutch_fail_nomem(err);
    if (r >= 0)
        r = hutch_document_parse(text, length, format, &document, err);
    if (r >= 0)
        r = read_document(file, &document, err);
    if (r < 0) {
        policy_file_free(file);
        return hutch_wrap(err, "policy '%.120s': ", path);
    }
    *ret_file = file;
    return 0;
}
