/* SPDX-License-Identifier: Apache-2.0 */
/* What may leave a sandbox. A rule of the request is allowed when one rule of the policy covers all
 * of it: its names and each of its ports. */
#include <stdio.h>
#include <string.h>

#include "core/cidr.h"
#include "core/egress.h"
#include "core/field.h"
#include "core/policy.h"
#include "util/own.h"

/* A wildcard is covered by a wildcard for the same names or for more. */
static bool covers(const struct egress_rule *rule, const struct egress_rule *asked)
{
    bool is_same = rule->is_wildcard && !strcmp(rule->name, asked->name);
    if (asked->is_wildcard
            ? !is_same && !(rule->is_wildcard && egress_rule_names(rule, asked->name))
            : !egress_rule_names(rule, asked->name))
        return false;
    for (size_t i = 0; i < asked->port_count; i++) {
        size_t k = 0;
        while (k < rule->port_count && rule->ports[k] != asked->ports[i])
            k++;
        if (k == rule->port_count)
            return false;
    }
    return true;
}

static int is_covered(const struct policy_list *list, const char *text, bool *ret_covered,
                      struct hutch_error *err)
{
    struct egress_rule asked, rule;
    if (egress_rule_parse(text, &asked, err) < 0)
        return -(int)err->code;
    *ret_covered = false;
    for (size_t i = 0; i < list->count && !*ret_covered; i++) {
        if (egress_rule_parse(list->items[i].text, &rule, err) < 0)
            return -(int)err->code;
        *ret_covered = covers(&rule, &asked);
    }
    return 0;
}

static int tell_dropped(const struct policy_layer *layer, const struct policy_request *request,
                        const char *text, unsigned line, struct hutch_error *err)
{
    char sentence[600];
    (void)snprintf(sentence, sizeof(sentence),
                   "egress: without '%.260s', by rule 'egress.hosts' of %.200s:%u", text,
                   layer->file->path, line);
    return request->told ? hutch_strlist_add(request->told, sentence, err) : 0;
}

/* Sorts the request's rules into those that stay and those that do not. */
static int decide_hosts(const struct policy_layer *layer, const struct policy_request *request,
                        struct hutch_error *err)
{
    const struct policy_list *list = policy_list(layer, POLICY_HOSTS);
    const struct hutch_strlist *asked = &request->over->spec.egress;
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist kept = {0};
    for (size_t i = 0; list && i < asked->count; i++) {
        bool covered = false;
        if (is_covered(list, asked->items[i], &covered, err) < 0)
            return -(int)err->code;
        if (!covered && !policy_clamps(layer))
            return policy_refuse(layer, list->line, "egress.hosts", err,
                                 "host '%.120s' is not among the allowed ones", asked->items[i]);
        int r = covered ? hutch_strlist_add(&kept, asked->items[i], err)
                        : tell_dropped(layer, request, asked->items[i], list->line, err);
        if (r < 0)
            return r;
    }
    if (!list || kept.count == asked->count)
        return 0;
    struct hutch_strlist *slot =
        hutch_spec_over_detach(request->over, (size_t)hutch_field_find("egress"));
    *slot = kept;
    kept = (struct hutch_strlist){0};
    return 0;
}

/* ---- what the operator adds ------------------------------------------------------------------ */

static bool contains(const char *wide, const char *narrow)
{
    struct hutch_cidr outer, inner;
    if (!hutch_cidr_parse(wide, &outer) || !hutch_cidr_parse(narrow, &inner) ||
        outer.family != inner.family || outer.prefix_bits > inner.prefix_bits)
        return false;
    for (unsigned i = 0; i < outer.prefix_bits; i++)
        if ((outer.address[i / 8] ^ inner.address[i / 8]) >> (7 - i % 8) & 1)
            return false;
    return true;
}

static bool is_open(const struct policy_layer *layer, const char *range)
{
    const struct policy_list *list = policy_list(layer, POLICY_RANGES);
    for (size_t i = 0; list && i < list->count; i++)
        if (contains(list->items[i].text, range))
            return true;
    return false;
}

/* Open is what every file opens; a caller's file that says nothing of it narrows nothing. */
int policy_ranges(const struct policy_view *view, struct hutch_strlist *ranges,
                  struct hutch_error *err)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct policy_list *list = policy_list(&view->layers[i], POLICY_RANGES);
        for (size_t k = 0; list && k < list->count; k++) {
            bool opened = true;
            for (size_t other = 0; other < view->count && opened; other++)
                opened = (other > 0 && !policy_list(&view->layers[other], POLICY_RANGES)) ||
                         is_open(&view->layers[other], list->items[k].text);
            if (opened && !hutch_strlist_has(ranges, list->items[k].text) &&
                hutch_strlist_add(ranges, list->items[k].text, err) < 0)
                return -(int)err->code;
        }
    }
    return 0;
}

/* That of the first file: where it is the host's, a caller's file gives no other. */
const char *policy_proxy(const struct policy_view *view, const char **ret_secret)
{
    const struct policy_text *proxy = view->count ? POLICY_TEXT(&view->layers[0], proxy) : NULL;
    const struct policy_text *secret = proxy ? POLICY_TEXT(&view->layers[0], proxy_secret) : NULL;
    *ret_secret = secret ? secret->text : NULL;
    return proxy ? proxy->text : NULL;
}

/* Through a proxy of its own a caller would reach what it likes, private addresses too. */
static int check_proxy(const struct policy_view *view, struct hutch_error *err)
{
    for (size_t i = 1; i < view->count; i++) {
        const struct policy_text *host = POLICY_TEXT(&view->layers[0], proxy);
        const struct policy_text *own = POLICY_TEXT(&view->layers[i], proxy);
        if (own && (!host || strcmp(host->text, own->text) != 0))
            return policy_refuse(&view->layers[i], own->line, "egress.proxy", err,
                                 "the proxy '%.80s' is not that of the host's policy, which alone "
                                 "can give one",
                                 own->text);
    }
    return 0;
}

static int add_way_out(const struct policy_view *view, const struct policy_request *request,
                       struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist ranges = {0};
    const char *login = NULL, *proxy = policy_proxy(view, &login);
    if (policy_ranges(view, &ranges, err) < 0)
        return -(int)err->code;
    if (ranges.count) {
        struct hutch_strlist *slot =
            hutch_spec_over_detach(request->over, (size_t)hutch_field_find("egress_policy.opened"));
        *slot = ranges;
        ranges = (struct hutch_strlist){0};
    }
    if (proxy && hutch_spec_over_text(request->over, "egress_policy.proxy", proxy, err) < 0)
        return -(int)err->code;
    return login ? hutch_spec_over_text(request->over, "egress_policy.login", login, err) : 0;
}

int policy_decide_network(const struct policy_view *view, const struct policy_request *request,
                          struct hutch_error *err)
{
    if (!hutch_spec_has_egress(&request->over->spec))
        return 0;
    if (request->use != HUTCH_USE_UPDATE && check_proxy(view, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < view->count; i++)
        if (decide_hosts(&view->layers[i], request, err) < 0)
            return -(int)err->code;
    return request->use == HUTCH_USE_UPDATE ? 0 : add_way_out(view, request, err);
}
