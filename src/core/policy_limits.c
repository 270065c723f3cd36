/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults and ceilings. What nobody asked for is never refused: it gets the policy's default, or
 * hutch's own, and no more than the ceiling. */
#include <stdio.h>
#include <string.h>

#include "core/policy_read.h"

static uint64_t *slot_of(struct hutch_spec *spec, size_t field)
{
    return (uint64_t *)(void *)((char *)spec + hutch_field_row(field)->offset);
}

static const struct hutch_field_type *type_of(size_t field)
{
    return &hutch_field_types[hutch_field_row(field)->type];
}

static bool exceeds(size_t field, uint64_t value, const struct policy_limit *ceiling)
{
    if (!ceiling->line || ceiling->is_none)
        return false;
    return value > ceiling->value || (!value && type_of(field)->may_be_none);
}

static void show(size_t field, uint64_t value, char text[HUTCH_QUANTITY_TEXT_SIZE])
{
    if (!value && type_of(field)->may_be_none)
        (void)snprintf(text, HUTCH_QUANTITY_TEXT_SIZE, "none");
    else
        hutch_quantity_format(type_of(field)->quantity, value, text);
}

static void put(const struct policy_request *request, size_t field, uint64_t value)
{
    *(uint64_t *)hutch_spec_over_detach(request->over, field) = value;
}

/* The last file that has a default is the one nearest to the caller. */
static void take_default(const struct policy_view *view, const struct policy_request *request,
                         size_t field)
{
    for (size_t i = view->count; i-- > 0;) {
        const struct policy_limit *given = policy_default(&view->layers[i], field);
        if (!given->line)
            continue;
        put(request, field, given->value);
        return;
    }
}

static int tell(const struct policy_request *request, const struct policy_layer *layer,
                size_t field, uint64_t asked, const struct policy_limit *ceiling,
                struct hutch_error *err)
{
    char line[400], wanted[HUTCH_QUANTITY_TEXT_SIZE], most[HUTCH_QUANTITY_TEXT_SIZE];
    if (!request->told)
        return 0;
    show(field, asked, wanted);
    show(field, ceiling->value, most);
    (void)snprintf(line, sizeof(line), "%s: %s instead of %s, by rule 'ceilings.%s' of %.200s:%u",
                   hutch_field_row(field)->name, most, wanted, hutch_field_row(field)->name,
                   layer->file->path, ceiling->line);
    return hutch_strlist_add(request->told, line, err);
}

static int refuse(const struct policy_layer *layer, size_t field, uint64_t asked,
                  const struct policy_limit *ceiling, struct hutch_error *err)
{
    char rule[HUTCH_FIELD_PATH_BYTES + 16];
    char wanted[HUTCH_QUANTITY_TEXT_SIZE], most[HUTCH_QUANTITY_TEXT_SIZE];
    const char *name = hutch_field_row(field)->name;
    show(field, asked, wanted);
    show(field, ceiling->value, most);
    (void)snprintf(rule, sizeof(rule), "ceilings.%s", name);
    return policy_refuse(layer, ceiling->line, rule, err, "%s %s is more than %s", name, wanted,
                         most);
}

static int hold(const struct policy_layer *layer, const struct policy_request *request,
                size_t field, struct hutch_error *err)
{
    uint64_t value = *slot_of(&request->over->spec, field);
    const struct policy_limit *ceiling = policy_ceiling(layer, field);
    bool is_asked = request->asked >> field & 1;
    if (!exceeds(field, value, ceiling))
        return 0;
    if (is_asked && !policy_clamps(layer))
        return refuse(layer, field, value, ceiling, err);
    put(request, field, ceiling->value);
    return is_asked ? tell(request, layer, field, value, ceiling, err) : 0;
}

/* A limit of what is not there would be refused as one that is ignored. */
static bool is_idle(const struct hutch_spec *spec, size_t field)
{
    return !strncmp(hutch_field_row(field)->name, "egress_limits.", 14) &&
           !hutch_spec_has_egress(spec);
}

int policy_decide_limits(const struct policy_view *view, const struct policy_request *request,
                         struct hutch_error *err)
{
    for (size_t field = 0; field < hutch_field_count(); field++) {
        bool is_asked = request->asked >> field & 1;
        if (!policy_field_is_limit(field) ||
            !hutch_field_is_for(hutch_field_row(field)->name, request->use))
            continue;
        if (!is_asked && (request->use == HUTCH_USE_UPDATE || is_idle(&request->over->spec, field)))
            continue;
        if (!is_asked)
            take_default(view, request, field);
        for (size_t i = 0; i < view->count; i++)
            if (hold(&view->layers[i], request, field, err) < 0)
                return -(int)err->code;
    }
    return 0;
}

int policy_decide_timeout(const struct policy_view *view, uint64_t *timeout_ms,
                          struct hutch_error *err)
{
    size_t field = (size_t)hutch_field_find("limits.timeout");
    for (size_t i = 0; i < view->count; i++) {
        const struct policy_limit *ceiling = policy_ceiling(&view->layers[i], field);
        if (!ceiling->line || ceiling->is_none || (*timeout_ms && *timeout_ms <= ceiling->value))
            continue;
        if (*timeout_ms && !policy_clamps(&view->layers[i]))
            return refuse(&view->layers[i], field, *timeout_ms, ceiling, err);
        *timeout_ms = ceiling->value;
    }
    return 0;
}
