/* SPDX-License-Identifier: Apache-2.0 */
/* Names that a sandbox may reach. One grammar, one canonical form: whatever is matched, resolved,
 * dialled, compared with SNI or Host, or written into a record went through egress_name(). */
#ifndef HUTCH_CORE_EGRESS_H
#define HUTCH_CORE_EGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define EGRESS_NAME_BYTES 254 /* a canonical name and its NUL */
#define EGRESS_MAX_RULES 256
#define EGRESS_MAX_PORTS 16 /* of one rule */
#define EGRESS_MAX_PORTS_OF_NAME 32

/* The canonical form of a host name: lower case, without the trailing dot; letters, digits, '-' and
 * '_' in labels of 1 to 63 that neither begin nor end with '-'. Anything else (an address in any
 * spelling, brackets, a NUL, a space, bytes beyond ASCII, an empty label, a number as last label)
 * is no name: false, and ret_name is as it was. */
bool egress_name(const char *text, size_t length, char ret_name[EGRESS_NAME_BYTES]);

/* "host", "host:port", "host:port,port", "*.host", "*.host:port". Without ports: 80 and 443. */
struct egress_rule {
    char name[EGRESS_NAME_BYTES]; /* of a wildcard: what follows "*." */
    bool is_wildcard;             /* any number of labels before it, but at least one */
    uint16_t ports[EGRESS_MAX_PORTS];
    size_t port_count;
};

int egress_rule_parse(const char *text, struct egress_rule *ret_rule, struct hutch_error *err);
/* name is canonical. */
bool egress_rule_names(const struct egress_rule *rule, const char *name);
bool egress_rule_has_port(const struct egress_rule *rule, uint16_t port);
/* Is every name of the second one of the first? A wildcard is covered by one for the same names or
 * for more. */
bool egress_rule_covers(const struct egress_rule *rule, const struct egress_rule *inner);
bool egress_rule_allows(const struct egress_rule *rule, const char *name, uint16_t port);

#endif
