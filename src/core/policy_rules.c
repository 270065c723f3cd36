/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that hold for somebody, and where they stand. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/policy.h"
#include "util/own.h"

static const char *const list_names[] = {
#define X(id, name, doc) name,
    POLICY_LISTS(X)
#undef X
};

static const char *const total_names[] = {
#define X(id, name, quantity) name,
    POLICY_TOTALS(X)
#undef X
};

const char *policy_list_name(enum policy_list_kind kind)
{
    return list_names[kind];
}

const char *policy_total_name(enum policy_total total)
{
    return total_names[total];
}

static void rules_done(struct policy_rules *rules)
{
    struct policy_text *const texts[] = {&rules->on_exceed,    &rules->proxy,
                                         &rules->proxy_secret, &rules->audit,
                                         &rules->audit_argv,   &rules->read_only};
    for (size_t i = 0; i < HUTCH_COUNT(texts); i++)
        free(texts[i]->text);
    for (size_t kind = 0; kind < POLICY_LIST_KINDS; kind++) {
        struct policy_list *list = &rules->lists[kind];
        for (size_t i = 0; i < list->count; i++)
            free(list->items[i].text);
        free(list->items);
    }
}

void policy_file_free(struct policy_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->tenant_count; i++) {
        free(file->tenants[i].name);
        free(file->tenants[i].uids);
        rules_done(&file->tenants[i].rules);
    }
    free(file->tenants);
    rules_done(&file->everybody);
    free(file->path);
    free(file);
}

/* ---- whose ----------------------------------------------------------------------------------- */

static bool is_tenant(const struct policy_tenant *tenant, const struct policy_subject *subject)
{
    if (subject->tenant)
        return !strcmp(tenant->name, subject->tenant);
    for (size_t i = 0; i < tenant->uid_count; i++)
        if (tenant->uids[i] == subject->uid)
            return true;
    return false;
}

static const struct policy_tenant *find_tenant(const struct policy_file *file,
                                               const struct policy_subject *subject)
{
    for (size_t i = 0; i < file->tenant_count; i++)
        if (is_tenant(&file->tenants[i], subject))
            return &file->tenants[i];
    return NULL;
}

int policy_view_init(struct policy_view *view, struct policy_file *const files[POLICY_FILES],
                     const struct policy_subject *subject, struct hutch_error *err)
{
    *view = (struct policy_view){.tenant = subject->tenant};
    bool is_known = !subject->tenant;
    for (size_t i = 0; i < POLICY_FILES; i++) {
        if (!files[i])
            continue;
        const struct policy_tenant *tenant = find_tenant(files[i], subject);
        view->layers[view->count++] = (struct policy_layer){files[i], tenant};
        is_known = is_known || tenant;
        /* a caller's own file cannot make its sandboxes somebody else's */
        if (tenant && !view->tenant && view->count == 1)
            view->tenant = tenant->name;
    }
    if (is_known)
        return 0;
    return hutch_fail(err, HUTCH_E_PERMISSION, 0, "no policy has a tenant '%.80s'",
                      subject->tenant);
}

/* ---- what ------------------------------------------------------------------------------------ */

/* The tenant's own where it has one. */
#define RULE(layer, member, is_given)                                                           \
    ((layer)->tenant && (layer)->tenant->rules.member.is_given ? &(layer)->tenant->rules.member \
                                                               : &(layer)->file->everybody.member)

const struct policy_limit *policy_default(const struct policy_layer *layer, size_t field)
{
    return RULE(layer, defaults[field], line);
}

const struct policy_limit *policy_ceiling(const struct policy_layer *layer, size_t field)
{
    return RULE(layer, ceilings[field], line);
}

const struct policy_limit *policy_total(const struct policy_layer *layer, enum policy_total total)
{
    return RULE(layer, totals[total], line);
}

const struct policy_list *policy_list(const struct policy_layer *layer, enum policy_list_kind kind)
{
    const struct policy_list *list = RULE(layer, lists[kind], line);
    return list->line ? list : NULL;
}

static const struct policy_text *text_at(const struct policy_rules *rules, size_t offset)
{
    const void *place = (const char *)rules + offset;
    return place;
}

const struct policy_text *policy_text(const struct policy_layer *layer, size_t offset)
{
    const struct policy_text *text = layer->tenant ? text_at(&layer->tenant->rules, offset) : NULL;
    if (!text || !text->line)
        text = text_at(&layer->file->everybody, offset);
    return text->line ? text : NULL;
}

const struct policy_limit *policy_retention(const struct policy_layer *layer)
{
    return RULE(layer, audit_retention, line);
}

bool policy_clamps(const struct policy_layer *layer)
{
    const struct policy_text *text = POLICY_TEXT(layer, on_exceed);
    return text && !strcmp(text->text, "clamp");
}

struct policy_audit policy_audit(const struct policy_view *view)
{
    struct policy_audit audit = {0};
    for (size_t i = 0; i < view->count; i++) {
        const struct policy_layer *layer = &view->layers[i];
        const struct policy_text *word = POLICY_TEXT(layer, audit);
        const struct policy_text *argv = POLICY_TEXT(layer, audit_argv);
        const struct policy_limit *retention = policy_retention(layer);
        if (i == 0)
            audit.is_off = word && !strcmp(word->text, "off");
        else if (word && !strcmp(word->text, "on"))
            audit.is_off = false;
        if (i == 0)
            audit.argv_is_digest = argv && !strcmp(argv->text, "digest");
        if (retention->line && !retention->is_none && retention->value > audit.retention_ms)
            audit.retention_ms = retention->value;
    }
    return audit;
}

int policy_refuse(const struct policy_layer *layer, unsigned line, const char *rule,
                  struct hutch_error *err, const char *fmt, ...)
{
    char sentence[200]; /* so that the rule and its line are never cut */
    va_list arguments;
    va_start(arguments, fmt);
    (void)vsnprintf(sentence, sizeof(sentence), fmt, arguments);
    va_end(arguments);
    return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                      "the policy refuses this: %s; rule '%s' of %s%s%s%.100s:%u", sentence, rule,
                      layer->tenant ? "tenant '" : "", layer->tenant ? layer->tenant->name : "",
                      layer->tenant ? "' in " : "", layer->file->path, line);
}
