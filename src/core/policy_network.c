/* SPDX-License-Identifier: Apache-2.0 */
/* What may leave a sandbox. A rule of the request is allowed when each of its ports is, for all of
 * its names, by some rule of the policy: two rules for one host are together as much as one. */
#include <stdio.h>
#include <string.h>

#include "core/cidr.h"
#include "core/egress.h"
#include "core/field.h"
#include "core/policy.h"
#include "util/own.h"

/* "*.", a name, and a port with its comma for each. */
#define RULE_BYTES (2 + EGRESS_NAME_BYTES + EGRESS_MAX_PORTS * 6)

static void keep_ports(const struct egress_rule *rule, const struct egress_rule *asked,
                       struct egress_rule *kept)
{
    for (size_t i = 0; i < asked->port_count; i++)
        if (egress_rule_has_port(rule, asked->ports[i]) &&
            !egress_rule_has_port(kept, asked->ports[i]))
            kept->ports[kept->port_count++] = asked->ports[i];
}

/* The same rule with those of its ports that the list allows. */
static int narrow(const struct policy_list *list, const struct egress_rule *asked,
                  struct egress_rule *ret_kept, struct hutch_error *err)
{
    struct egress_rule rule, kept = *asked;
    kept.port_count = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (egress_rule_parse(list->items[i].text, &rule, err) < 0)
            return -(int)err->code;
        if (egress_rule_covers(&rule, asked))
            keep_ports(&rule, asked, &kept);
    }
    *ret_kept = kept;
    return 0;
}

static void write_rule(const struct egress_rule *rule, char text[RULE_BYTES])
{
    int used = snprintf(text, RULE_BYTES, "%s%s", rule->is_wildcard ? "*." : "", rule->name);
    for (size_t i = 0; i < rule->port_count; i++)
        used += snprintf(text + used, RULE_BYTES - (size_t)used, "%c%u", i ? ',' : ':',
                         (unsigned)rule->ports[i]);
}

/* kept: what is left of it, NULL for nothing. */
static int tell_dropped(const struct policy_layer *layer, const struct policy_request *request,
                        const char *text, const char *kept, unsigned line, struct hutch_error *err)
{
    char sentence[900];
    (void)snprintf(sentence, sizeof(sentence),
                   "egress: %s%.260s%s '%.260s', by rule 'egress.hosts' of %.200s:%u",
                   kept ? "'" : "", kept ? kept : "", kept ? "' instead of" : "without", text,
                   layer->file->path, line);
    return request->told ? hutch_strlist_add(request->told, sentence, err) : 0;
}

/* One rule of the request: what may stay of it is added to those that stay. */
static int decide_host(const struct policy_layer *layer, const struct policy_request *request,
                       const char *text, struct hutch_strlist *kept, bool *is_less,
                       struct hutch_error *err)
{
    const struct policy_list *list = policy_list(layer, POLICY_HOSTS);
    struct egress_rule asked, rest = {0};
    char written[RULE_BYTES];
    if (egress_rule_parse(text, &asked, err) < 0 || narrow(list, &asked, &rest, err) < 0)
        return -(int)err->code;
    if (rest.port_count == asked.port_count)
        return hutch_strlist_add(kept, text, err);
    if (!policy_clamps(layer))
        return policy_refuse(layer, list->line, "egress.hosts", err,
                             "host '%.120s' is not among the allowed ones", text);
    *is_less = true;
    write_rule(&rest, written);
    if (rest.port_count && hutch_strlist_add(kept, written, err) < 0)
        return -(int)err->code;
    return tell_dropped(layer, request, text, rest.port_count ? written : NULL, list->line, err);
}

static int decide_hosts(const struct policy_layer *layer, const struct policy_request *request,
                        struct hutch_error *err)
{
    const struct hutch_strlist *asked = &request->over->spec.egress;
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist kept = {0};
    bool is_less = false;
    if (!policy_list(layer, POLICY_HOSTS))
        return 0;
    for (size_t i = 0; i < asked->count; i++)
        if (decide_host(layer, request, asked->items[i], &kept, &is_less, err) < 0)
            return -(int)err->code;
    if (!is_less)
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
