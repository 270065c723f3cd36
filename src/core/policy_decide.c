/* SPDX-License-Identifier: Apache-2.0 */
/* Request and policy together. What has no lesser value (a backend, a directory, a label) is
 * allowed or refused; clamping is for limits and for the list of hosts. */
#include <string.h>

#include "core/check.h"
#include "core/field.h"
#include "core/isolation.h"
#include "core/map.h"
#include "core/policy.h"
#include "core/promise.h"
#include "util/own.h"

static bool has_text(const struct policy_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i].text, text))
            return true;
    return false;
}

/* ---- backend and isolation ------------------------------------------------------------------- */

static bool asks_backend(const struct policy_request *request)
{
    static const char *const fields[] = {"backend", "isolation", "runtime"};
    for (size_t i = 0; i < HUTCH_COUNT(fields); i++)
        if (request->asked >> hutch_field_find(fields[i]) & 1)
            return true;
    return false;
}

/* The first of a list is what is meant where nothing was asked for. */
static int take_first(const struct policy_layer *layer, const struct policy_request *request,
                      struct hutch_error *err)
{
    const struct policy_list *backends = policy_list(layer, POLICY_BACKENDS);
    const struct policy_list *levels = policy_list(layer, POLICY_ISOLATION);
    const struct hutch_spec *spec = &request->over->spec;
    if (levels && levels->count && !has_text(levels, hutch_spec_level(spec)))
        return hutch_spec_over_text(request->over, "isolation", levels->items[0].text, err);
    if (backends && backends->count && !has_text(backends, hutch_spec_backend(spec)))
        return hutch_spec_over_text(request->over, "backend", backends->items[0].text, err);
    return 0;
}

int policy_decide_backend(const struct policy_view *view, const struct policy_request *request,
                          struct hutch_error *err)
{
    const struct hutch_spec *spec = &request->over->spec;
    for (size_t i = 0; i < view->count; i++) {
        const struct policy_layer *layer = &view->layers[i];
        const struct policy_list *backends = policy_list(layer, POLICY_BACKENDS);
        const struct policy_list *levels = policy_list(layer, POLICY_ISOLATION);
        if (!asks_backend(request) && take_first(layer, request, err) < 0)
            return -(int)err->code;
        if (backends && !has_text(backends, hutch_spec_backend(spec)))
            return policy_refuse(layer, backends->line, "backends", err,
                                 "backend '%.40s' is not among the allowed ones",
                                 hutch_spec_backend(spec));
        if (levels && !has_text(levels, hutch_spec_level(spec)))
            return policy_refuse(layer, levels->line, "isolation", err,
                                 "isolation '%.40s' is not among the allowed ones",
                                 hutch_spec_level(spec));
    }
    return 0;
}

/* ---- the root -------------------------------------------------------------------------------- */

int policy_decide_root(const struct policy_view *view, const struct policy_request *request,
                       struct hutch_error *err)
{
    size_t field = (size_t)hutch_field_find("read_only");
    for (size_t i = 0; i < view->count; i++) {
        const struct policy_text *text = POLICY_TEXT(&view->layers[i], read_only);
        if (!text || strcmp(text->text, "required") != 0 || request->over->spec.read_only)
            continue;
        if (request->asked >> field & 1)
            return policy_refuse(&view->layers[i], text->line, "read_only", err,
                                 "a root that can be written to is not allowed");
        *(bool *)hutch_spec_over_detach(request->over, field) = true;
    }
    return 0;
}

/* ---- the host's files ------------------------------------------------------------------------ */

static bool is_below(const struct policy_list *list, const char *path)
{
    for (size_t i = 0; list && i < list->count; i++)
        if (hutch_path_is_within(path, list->items[i].text))
            return true;
    return false;
}

/* Where nothing may be read, nothing may be written: a list for one of them speaks for both. */
static int check_place(const struct policy_layer *layer, const char *what, const char *path,
                       bool writes, struct hutch_error *err)
{
    const struct policy_list *read = policy_list(layer, POLICY_READ);
    const struct policy_list *write = policy_list(layer, POLICY_WRITE);
    const struct policy_list *ruling = writes && write ? write : read;
    if (!path || !ruling || is_below(write, path) || (!writes && is_below(read, path)))
        return 0;
    return policy_refuse(layer, ruling->line, ruling == write ? "mounts.write" : "mounts.read", err,
                         "%s '%.120s' may not be %s", what, path, writes ? "written to" : "read");
}

int policy_check_places(const struct policy_view *view, const struct hutch_spec *spec,
                        struct hutch_error *err)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct policy_layer *layer = &view->layers[i];
        if (check_place(layer, "rootfs", spec->rootfs, false, err) < 0 ||
            check_place(layer, "artifacts", spec->artifacts, true, err) < 0 ||
            check_place(layer, "workspace", spec->workspace.path,
                        spec->workspace.mode == HUTCH_WORKSPACE_RW, err) < 0)
            return -(int)err->code;
        for (size_t k = 0; k < spec->mounts.count; k++)
            if (check_place(layer, "mount", spec->mounts.items[k].source,
                            !spec->mounts.items[k].read_only, err) < 0)
                return -(int)err->code;
        for (size_t k = 0; k < spec->env_files.count; k++)
            if (check_place(layer, "env file", spec->env_files.items[k], false, err) < 0)
                return -(int)err->code;
    }
    return 0;
}

int policy_check_write(const struct policy_view *view, const char *what, const char *path,
                       struct hutch_error *err)
{
    for (size_t i = 0; i < view->count; i++)
        if (check_place(&view->layers[i], what, path, true, err) < 0)
            return -(int)err->code;
    return 0;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static bool has_label(const struct hutch_spec *spec, const char *wanted)
{
    size_t key = strcspn(wanted, "=");
    for (size_t i = 0; i < spec->labels.count; i++) {
        const struct hutch_map_entry *entry = &spec->labels.items[i];
        if (strlen(entry->key) == key && !strncmp(entry->key, wanted, key))
            return !wanted[key] || !strcmp(entry->value, wanted + key + 1);
    }
    return false;
}

int policy_check_labels(const struct policy_view *view, const struct hutch_spec *spec,
                        struct hutch_error *err)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct policy_list *list = policy_list(&view->layers[i], POLICY_LABELS);
        for (size_t k = 0; list && k < list->count; k++)
            if (!has_label(spec, list->items[k].text))
                return policy_refuse(&view->layers[i], list->items[k].line, "required_labels", err,
                                     "label '%.80s' is missing", list->items[k].text);
    }
    return 0;
}

/* ---- secrets --------------------------------------------------------------------------------- */

static bool may_have(const struct policy_entry *entry, const char *name, unsigned delivery)
{
    return policy_glob(entry->text, name, "") &&
           (!entry->deliveries || entry->deliveries & delivery);
}

/* The one that a proxy's login is in is the operator's own, and not looked at. */
int policy_check_secrets(const struct policy_view *view, const struct hutch_spec *spec,
                         struct hutch_error *err)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct policy_list *list = policy_list(&view->layers[i], POLICY_SECRETS);
        for (size_t k = 0; list && k < spec->secrets.count; k++) {
            const struct hutch_secret *secret = &spec->secrets.items[k];
            unsigned delivery = secret->env ? POLICY_ENV : secret->file ? POLICY_FILE : POLICY_EDGE;
            char how[POLICY_DELIVERY_BYTES];
            bool allowed = false;
            for (size_t e = 0; e < list->count && !allowed; e++)
                allowed = may_have(&list->items[e], secret->name, delivery);
            policy_delivery_names(delivery, how);
            if (!allowed)
                return policy_refuse(&view->layers[i], list->line, "secrets", err,
                                     "secret '%.80s' may not be used, or not by '%s'", secret->name,
                                     how);
        }
    }
    return 0;
}

/* ---- limits that would not be enforced ------------------------------------------------------- */

/* A ceiling that may be missing would be none. */
static int check_missing(const struct policy_layer *layer, hutch_promise_set missing,
                         struct hutch_error *err)
{
    const struct policy_list *allowed = policy_list(layer, POLICY_MISSING);
    hutch_promise_set open = 0;
    for (size_t i = 0; allowed && i < allowed->count; i++) {
        hutch_promise_set set = 0;
        if (hutch_promise_parse(allowed->items[i].text, &set, err) < 0)
            return -(int)err->code;
        open |= set;
    }
    for (int promise = 0; promise < HUTCH_PROMISE_COUNT; promise++) {
        const char *name = hutch_promise_name((enum hutch_promise)promise);
        char field[64] = "limits.", rule[80] = "ceilings.";
        if (!((missing & ~open) >> promise & 1))
            continue;
        (void)strncat(field, name, sizeof(field) - strlen(field) - 1);
        (void)strncat(rule, field, sizeof(rule) - strlen(rule) - 1);
        int index = hutch_field_find(field);
        const struct policy_limit *ceiling =
            index < 0 ? NULL : policy_ceiling(layer, (size_t)index);
        if (ceiling && ceiling->line && !ceiling->is_none)
            return policy_refuse(layer, ceiling->line, rule, err,
                                 "limit '%s' has a ceiling and so may not be missing", name);
    }
    return 0;
}

int policy_check_missing(const struct policy_view *view, const struct hutch_spec *spec,
                         struct hutch_error *err)
{
    hutch_promise_set missing = 0;
    for (size_t i = 0; i < spec->allow_missing.count; i++) {
        hutch_promise_set set = 0;
        if (hutch_promise_parse(spec->allow_missing.items[i], &set, err) < 0)
            return -(int)err->code;
        missing |= set;
    }
    for (size_t i = 0; i < view->count && missing; i++)
        if (check_missing(&view->layers[i], missing, err) < 0)
            return -(int)err->code;
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

int policy_decide(const struct policy_view *view, const struct policy_request *request,
                  struct hutch_error *err)
{
    const struct hutch_spec *spec = &request->over->spec;
    if (policy_decide_limits(view, request, err) < 0 ||
        policy_decide_network(view, request, err) < 0)
        return -(int)err->code;
    if (request->use == HUTCH_USE_UPDATE)
        return 0;
    if (policy_decide_backend(view, request, err) < 0 ||
        policy_decide_root(view, request, err) < 0 || policy_check_places(view, spec, err) < 0 ||
        policy_check_labels(view, spec, err) < 0 || policy_check_secrets(view, spec, err) < 0 ||
        policy_check_missing(view, spec, err) < 0)
        return -(int)err->code;
    return 0;
}
