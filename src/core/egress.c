/* SPDX-License-Identifier: Apache-2.0 */
#include "core/egress.h"

#include <string.h>

#define MAX_LABEL 63

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* The canonical form of one character of a label, or NUL. The C library's functions would ask the
 * locale. */
static char canonical(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    bool is_good = (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
    return (char)(is_good ? c : '\0');
}

/* What C libraries and browsers read as an address, in whole or at its end: a last label of digits,
 * or of hexadecimal digits after 0x. */
static bool is_number(const char *label, size_t length)
{
    bool is_hex = length >= 2 && label[0] == '0' && label[1] == 'x';
    for (size_t i = is_hex ? 2 : 0; i < length; i++)
        if (is_hex ? !is_hex_digit(label[i]) : !is_digit(label[i]))
            return false;
    return true;
}

static bool label_is_good(const char *label, size_t length)
{
    return length > 0 && length <= MAX_LABEL && label[0] != '-' && label[length - 1] != '-';
}

bool egress_name(const char *text, size_t length, char ret_name[EGRESS_NAME_BYTES])
{
    char name[EGRESS_NAME_BYTES];
    size_t label = 0;
    if (length && text[length - 1] == '.')
        length--;
    if (!length || length >= EGRESS_NAME_BYTES)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.') {
            if (!label_is_good(name + label, i - label))
                return false;
            label = i + 1;
            name[i] = '.';
            continue;
        }
        name[i] = canonical(text[i]);
        if (!name[i])
            return false;
    }
    if (!label_is_good(name + label, length - label) || is_number(name + label, length - label))
        return false;
    name[length] = '\0';
    memcpy(ret_name, name, length + 1);
    return true;
}

/* ---- rules ---- */

/* Takes one port off the text; what follows it is a comma or the end. Returns false when it is
 * none: no digits, a zero at its front, beyond 65535. */
static bool take_port(const char **text, uint16_t *ret_port)
{
    const char *at = *text;
    unsigned long port = 0;
    if (*at == '0')
        return false;
    for (; is_digit(*at) && port <= UINT16_MAX; at++)
        port = port * 10 + (unsigned long)(*at - '0');
    if (at == *text || port > UINT16_MAX || (*at && *at != ','))
        return false;
    *ret_port = (uint16_t)port;
    *text = at;
    return true;
}

bool egress_rule_has_port(const struct egress_rule *rule, uint16_t port)
{
    for (size_t i = 0; i < rule->port_count; i++)
        if (rule->ports[i] == port)
            return true;
    return false;
}

static int parse_ports(const char *text, const char *ports, struct egress_rule *rule,
                       struct hutch_error *err)
{
    for (bool more = true; more; ports += more) {
        uint16_t port;
        if (!take_port(&ports, &port))
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "'%.300s' has a port that is not a number from 1 to 65535, write it "
                              "like 'example.com:443' or 'example.com:80,443'",
                              text);
        if (!egress_rule_has_port(rule, port)) {
            if (rule->port_count == EGRESS_MAX_PORTS)
                return hutch_fail(err, HUTCH_E_INVALID, 0,
                                  "'%.300s' has more than %d ports, write a second rule for the "
                                  "others",
                                  text, EGRESS_MAX_PORTS);
            rule->ports[rule->port_count++] = port;
        }
        more = *ports == ',';
    }
    return 0;
}

int egress_rule_parse(const char *text, struct egress_rule *ret_rule, struct hutch_error *err)
{
    struct egress_rule rule = {0};
    const char *colon = strchr(text, ':');
    rule.is_wildcard = text[0] == '*' && text[1] == '.';
    const char *name = rule.is_wildcard ? text + 2 : text;
    size_t length = colon ? (size_t)(colon - text) - (size_t)(name - text) : strlen(name);
    if ((colon && colon < name) || !egress_name(name, length, rule.name))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.300s' names no host: write 'example.com', '*.example.com' or "
                          "'example.com:443'; addresses, URLs and letters beyond ASCII are none",
                          text);
    if (colon) {
        if (parse_ports(text, colon + 1, &rule, err) < 0)
            return -HUTCH_E_INVALID;
    } else {
        rule.ports[0] = 80;
        rule.ports[1] = 443;
        rule.port_count = 2;
    }
    *ret_rule = rule;
    return 0;
}

bool egress_rule_names(const struct egress_rule *rule, const char *name)
{
    if (!rule->is_wildcard)
        return !strcmp(rule->name, name);
    size_t length = strlen(name), suffix = strlen(rule->name);
    return length > suffix + 1 && name[length - suffix - 1] == '.' &&
           !strcmp(name + length - suffix, rule->name);
}

bool egress_rule_covers(const struct egress_rule *rule, const struct egress_rule *inner)
{
    if (!inner->is_wildcard)
        return egress_rule_names(rule, inner->name);
    return rule->is_wildcard &&
           (!strcmp(rule->name, inner->name) || egress_rule_names(rule, inner->name));
}

bool egress_rule_allows(const struct egress_rule *rule, const char *name, uint16_t port)
{
    return egress_rule_names(rule, name) && egress_rule_has_port(rule, port);
}
