/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "core/egress.h"
#include "util/own.h"

#define LABEL_63 "abcdefghijklmnopqrstuvwxyz0123456789-abcdefghijklmnopqrstuvwxyz"
#define NAME_253                       \
    LABEL_63 "." LABEL_63 "." LABEL_63 \
             ".abcdefghijklmnopqrstuvwxyz-0123456789-abcdefghijklmnopqrstuvw"

static void names_have_one_canonical_form(void **state)
{
    static const struct {
        const char *text;
        const char *name;
    } cases[] = {
        {"example.com", "example.com"},
        {"EXAMPLE.Com", "example.com"},
        {"example.com.", "example.com"},
        {"localhost", "localhost"},
        {"a", "a"},
        {"_dmarc.Example.com", "_dmarc.example.com"},
        {"1.2.3.4.example", "1.2.3.4.example"},
        {"xn--bcher-kva.example", "xn--bcher-kva.example"},
        {"0x7f.1.a", "0x7f.1.a"},
        {"0xg", "0xg"},
        {"4chan.1x", "4chan.1x"},
        {LABEL_63 ".x", LABEL_63 ".x"},
        {NAME_253, NAME_253},
        {NAME_253 ".", NAME_253},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        char name[EGRESS_NAME_BYTES] = "";
        assert_true(egress_name(cases[i].text, strlen(cases[i].text), name));
        assert_string_equal(name, cases[i].name);
    }
}

static void what_is_no_name_is_refused(void **state)
{
    static const char long_label[] = LABEL_63 "x.com", long_name[] = "x" NAME_253;
    static const char *const texts[] = {
        "",
        ".",
        "..",
        ".example.com",
        "example..com",
        "example.com..",
        "*.example.com",
        "*",
        "example.com:80",
        "exam ple.com",
        " example.com",
        "example.com ",
        "example.com\n",
        "example.com\t",
        "b\303\274cher.example",
        "example\343\200\202com",
        "\357\274\245xample.com",
        "example.com/",
        "user@example.com",
        "example.com?",
        "example.com#",
        "example%2ecom",
        "[::1]",
        "::1",
        "fe80::1%eth0",
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0X7F.0x1",
        "0177.0.0.01",
        "0x",
        "example.0x1f",
        "example.com.1",
        "-example.com",
        "example-.com",
        "example.com-",
        "example,com",
        "example.com;",
        long_label,
        long_name,
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(texts); i++) {
        char name[EGRESS_NAME_BYTES] = "untouched";
        if (egress_name(texts[i], strlen(texts[i]), name))
            fail_msg("'%s' became '%s'", texts[i], name);
        assert_string_equal(name, "untouched");
    }
    char name[EGRESS_NAME_BYTES];
    assert_false(egress_name("allowed.example\0.evil.example", 29, name));
    assert_false(egress_name("a\0", 2, name));
    assert_false(egress_name("\0", 1, name));
}

static void a_rule_without_ports_is_for_the_web(void **state)
{
    struct egress_rule rule;
    struct hutch_error err;
    (void)state;
    assert_fine(egress_rule_parse("API.example.com.", &rule, &err), &err);
    assert_string_equal(rule.name, "api.example.com");
    assert_false(rule.is_wildcard);
    assert_true(egress_rule_allows(&rule, "api.example.com", 80));
    assert_true(egress_rule_allows(&rule, "api.example.com", 443));
    assert_false(egress_rule_allows(&rule, "api.example.com", 8443));
    assert_false(egress_rule_allows(&rule, "api.example.com", 0));
}

static void ports_of_a_rule_are_all_there_are(void **state)
{
    struct egress_rule rule;
    struct hutch_error err;
    (void)state;
    assert_fine(egress_rule_parse("db.example:5432,6543,5432,1,65535", &rule, &err), &err);
    assert_int_equal(rule.port_count, 4);
    assert_true(egress_rule_allows(&rule, "db.example", 5432));
    assert_true(egress_rule_allows(&rule, "db.example", 6543));
    assert_true(egress_rule_allows(&rule, "db.example", 65535));
    assert_false(egress_rule_allows(&rule, "db.example", 443));
    assert_false(egress_rule_allows(&rule, "b.example", 5432));
}

static void a_wildcard_is_for_what_is_below_it(void **state)
{
    struct egress_rule rule;
    struct hutch_error err;
    (void)state;
    assert_fine(egress_rule_parse("*.Example.com:443", &rule, &err), &err);
    assert_true(rule.is_wildcard);
    assert_true(egress_rule_allows(&rule, "a.example.com", 443));
    assert_true(egress_rule_allows(&rule, "a.b.example.com", 443));
    assert_false(egress_rule_allows(&rule, "a.example.com", 80));
    assert_false(egress_rule_names(&rule, "example.com"));
    assert_false(egress_rule_names(&rule, "notexample.com"));
    assert_false(egress_rule_names(&rule, ".example.com"));
    assert_false(egress_rule_names(&rule, "a.example.com.evil"));
    assert_false(egress_rule_names(&rule, "com"));
    assert_fine(egress_rule_parse("example.com", &rule, &err), &err);
    assert_false(egress_rule_names(&rule, "a.example.com"));
}

static void what_is_no_rule_is_refused(void **state)
{
    static const char *const texts[] = {
        "",           "*",
        "*.",         "**.a",
        "a.*.b",      "*a.b",
        "*:443",      "a:",
        "a:0",        "a:65536",
        "a:080",      "a:80,",
        "a:,80",      "a:80,,81",
        "a:80-90",    "a:http",
        "a: 80",      "a:80 ",
        "a:+80",      ":80",
        "[::1]:80",   "::1",
        "1.2.3.4:80", "https://a",
        "a/b",        "*.1.2.3.4",
        "a:80:90",    "a:184467440",
        "*.*.a",      "a:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
        "a:*",        "a,b",
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(texts); i++) {
        struct egress_rule rule = {.port_count = 77};
        struct hutch_error err = HUTCH_ERROR_INIT;
        if (egress_rule_parse(texts[i], &rule, &err) != -HUTCH_E_INVALID)
            fail_msg("'%s' is taken for a rule", texts[i]);
        assert_int_equal(rule.port_count, 77);
        assert_non_null(strstr(err.msg, texts[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_one_canonical_form),
        cmocka_unit_test(what_is_no_name_is_refused),
        cmocka_unit_test(a_rule_without_ports_is_for_the_web),
        cmocka_unit_test(ports_of_a_rule_are_all_there_are),
        cmocka_unit_test(a_wildcard_is_for_what_is_below_it),
        cmocka_unit_test(what_is_no_rule_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
