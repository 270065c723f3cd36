/* SPDX-License-Identifier: Apache-2.0 */
/* What concerns the sandbox's way out. */
#include <stdlib.h>
#include <string.h>

#include "core/check.h"
#include "core/cidr.h"
#include "core/egress.h"

int hutch_check_egress(char *text, struct hutch_error *err)
{
    struct egress_rule rule;
    return egress_rule_parse(text, &rule, err);
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
