/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever is taken for a name has one form, which is its own, and no C library reads an address in
 * it; whatever is taken for a rule allows its own name and nothing that only resembles it. */
#include "fuzz.h"

#include <arpa/inet.h>

#include "core/egress.h"

static void check_name(const char *name)
{
    char again[EGRESS_NAME_BYTES];
    struct in_addr four;
    unsigned char six[16];
    size_t length = strlen(name);
    REQUIRE(length && length < EGRESS_NAME_BYTES, "%zu", length);
    REQUIRE(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == length, "'%s'", name);
    REQUIRE(name[0] != '.' && name[length - 1] != '.' && !strstr(name, ".."), "'%s'", name);
    REQUIRE(egress_name(name, length, again) && !strcmp(name, again), "'%s'", name);
    REQUIRE(!inet_aton(name, &four) && inet_pton(AF_INET6, name, six) != 1, "'%s'", name);
}

static void check_rule(const char *text)
{
    struct egress_rule rule;
    struct hutch_error err = HUTCH_ERROR_INIT;
    char near[EGRESS_NAME_BYTES + 8];
    int r = egress_rule_parse(text, &rule, &err);
    if (r < 0) {
        fuzz_check_failure(r, &err);
        return;
    }
    check_name(rule.name);
    REQUIRE(rule.port_count && rule.port_count <= EGRESS_MAX_PORTS, "%zu", rule.port_count);
    for (size_t i = 0; i < rule.port_count; i++)
        REQUIRE(rule.ports[i], "'%s'", text);
    REQUIRE(egress_rule_allows(&rule, rule.name, rule.ports[0]) == !rule.is_wildcard, "'%s'", text);
    (void)snprintf(near, sizeof(near), "a.%s", rule.name);
    REQUIRE(egress_rule_names(&rule, near) == rule.is_wildcard, "'%s'", text);
    (void)snprintf(near, sizeof(near), "a%s", rule.name);
    REQUIRE(!egress_rule_names(&rule, near), "'%s'", text);
    (void)snprintf(near, sizeof(near), "%s.a", rule.name);
    REQUIRE(!egress_rule_names(&rule, near) || rule.is_wildcard, "'%s'", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[EGRESS_NAME_BYTES];
    hutch_autofree char *text = fuzz_text(data, size);
    if (egress_name(text, size, name)) {
        check_name(name);
        REQUIRE(!memchr(text, '\0', size), "a NUL");
    }
    check_rule(text);
    return 0;
}
