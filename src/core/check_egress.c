/* SPDX-License-Identifier: Apache-2.0 */
/* What concerns the sandbox's way out. */
#include <stdlib.h>
#include <string.h>

#include "core/check.h"
#include "core/cidr.h"
#include "core/egress.h"
#include "util/own.h"

int hutch_check_egress(char *text, struct hutch_error *err)
{
    struct egress_rule rule;
    return egress_rule_parse(text, &rule, err);
}

/* Up to one more than the limit. */
static size_t add_ports(const struct egress_rule *rule, uint16_t *ports, size_t count)
{
    for (size_t i = 0; i < rule->port_count; i++) {
        size_t known = 0;
        while (known < count && ports[known] != rule->ports[i])
            known++;
        if (known == count && count <= EGRESS_MAX_PORTS_OF_NAME)
            ports[count++] = rule->ports[i];
    }
    return count;
}

static size_t count_ports(const struct egress_rule *rules, size_t rule_count,
                          const struct egress_rule *inner)
{
    uint16_t ports[EGRESS_MAX_PORTS_OF_NAME + 1];
    size_t count = 0;
    for (size_t i = 0; i < rule_count; i++)
        if (egress_rule_covers(&rules[i], inner))
            count = add_ports(&rules[i], ports, count);
    return count;
}

int hutch_check_egress_rules(const struct hutch_strlist *rules, struct hutch_error *err)
{
    /* fewer rules cannot have too many */
    if (rules->count <= EGRESS_MAX_PORTS_OF_NAME / EGRESS_MAX_PORTS)
        return 0;
    hutch_autofree struct egress_rule *parsed = calloc(rules->count, sizeof(*parsed));
    if (!parsed)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < rules->count; i++)
        if (egress_rule_parse(rules->items[i], &parsed[i], err) < 0)
            return -(int)err->code;
    for (size_t i = 0; i < rules->count; i++)
        if (count_ports(parsed, rules->count, &parsed[i]) > EGRESS_MAX_PORTS_OF_NAME)
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "egress '%.260s': all rules together allow more than %d ports of it, "
                              "name fewer",
                              rules->items[i], EGRESS_MAX_PORTS_OF_NAME);
    return 0;
}

int hutch_check_range(char *text, struct hutch_error *err)
{
    struct hutch_cidr cidr;
    if (hutch_cidr_parse(text, &cidr))
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.80s' is not a range of addresses, write it like '10.1.0.0/16'", text);
}

static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    unsigned long port = digits && digits <= 5 && !text[digits] ? strtoul(text, NULL, 10) : 0;
    return port > 0 && port <= 65535;
}

/* The host is a name or an address; where it is one, in brackets for IPv6. */
static bool is_host(const char *text, size_t length)
{
    char name[EGRESS_NAME_BYTES];
    struct hutch_cidr cidr;
    if (egress_name(text, length, name))
        return true;
    if (length > 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    if (length >= sizeof(name) || memchr(text, '/', length))
        return false;
    memcpy(name, text, length);
    name[length] = '\0';
    return hutch_cidr_parse(name, &cidr);
}

int hutch_check_proxy(char *text, struct hutch_error *err)
{
    static const char *const schemes[] = {"socks5://", "http://"};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t length = strlen(schemes[i]);
        const char *port = strrchr(text, ':');
        if (!strncmp(text, schemes[i], length) && port > text + length && is_port(port + 1) &&
            is_host(text + length, (size_t)(port - text) - length))
            return 0;
    }
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.80s' is not a proxy, write it like 'socks5://proxy.example.com:1080' or "
                      "'http://10.0.0.1:3128'",
                      text);
}
