/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets without a host: their text form, the document of providers, and redaction. */
#include "unit.h"

#include <stdio.h>

#include "core/secret_spec.h"
#include "secrets/provider.h"
#include "secrets/redact.h"
#include "util/own.h"

static void good_texts_are_taken(void **state)
{
    static const struct {
        const char *text, *name, *env, *file, *host, *header;
        bool tls;
    } rows[] = {
        {"token", "token", "TOKEN", NULL, NULL, NULL, false},
        {"api-key.v2", "api-key.v2", "API_KEY_V2", NULL, NULL, NULL, false},
        {"2fa", "2fa", "_2FA", NULL, NULL, NULL, false},
        {"a:env=B", "a", "B", NULL, NULL, NULL, false},
        {"a:file", "a", NULL, "/run/secrets/a", NULL, NULL, false},
        {"a:file=/etc/a", "a", NULL, "/etc/a", NULL, NULL, false},
        {"a:edge=h.example:X-Key: {}", "a", NULL, NULL, "h.example", "X-Key: {}", false},
        {"a:edge-tls=h.example:8443:X: b {}:9", "a", NULL, NULL, "h.example:8443", "X: b {}:9",
         true},
        {"a:edge=h.example:81,i.example:X: {}", "a", NULL, NULL, "h.example:81", "X: {}", false},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++) {
        struct hutch_secret secret = {0};
        struct hutch_error err = HUTCH_ERROR_INIT;
        assert_fine(hutch_secret_parse(rows[i].text, &secret, &err), &err);
        assert_string_equal(secret.name, rows[i].name);
        assert_string_equal(secret.env ? secret.env : "", rows[i].env ? rows[i].env : "");
        assert_string_equal(secret.file ? secret.file : "", rows[i].file ? rows[i].file : "");
        assert_string_equal(secret.hosts.count ? secret.hosts.items[0] : "",
                            rows[i].host ? rows[i].host : "");
        assert_string_equal(secret.header ? secret.header : "",
                            rows[i].header ? rows[i].header : "");
        assert_int_equal(secret.intercepts_tls, rows[i].tls);
        hutch_secret_done(&secret);
    }
}

static void bad_texts_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        ":env=A",
        ".a",
        "-a",
        "a/b",
        "a b",
        "a=b",
        "a:",
        "a:envx",
        "a:env=",
        "a:env=A=B",
        "a:file=",
        "a:edge=",
        "a:edge=h.example",
        "a:edge=h.example:X: no place",
        "a:edge=h.example:X: {} {}",
        "a:edge=h.example:Host: {}",
        "a:edge=h.example:content-length: {}",
        "a:edge=h.example:Transfer-Encoding: {}",
        "a:edge=h.example:{}: x",
        "a:edge=h.example:X: {}\r\nY: z",
        "a:edge=*.example:X: {}",
        "a:edge=10.0.0.1:X: {}",
        "a:edge=[::1]:X: {}",
        "a:edge=h.example:0:X: {}",
        "a:edge=h.example:65536:X: {}",
        "a:edge=h example:X: {}",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(texts); i++) {
        struct hutch_secret secret = {0};
        struct hutch_error err = HUTCH_ERROR_INIT;
        if (hutch_secret_parse(texts[i], &secret, &err) != -HUTCH_E_INVALID)
            fail_msg("'%s' is taken", texts[i]);
        hutch_secret_done(&secret);
    }
}

static void a_host_without_a_port_means_one(void **state)
{
    struct hutch_secret plain = {0}, tls = {.intercepts_tls = true};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct egress_rule rule;
    (void)state;
    assert_fine(hutch_secret_host_parse(&plain, "A.Example", &rule, &err), &err);
    assert_string_equal(rule.name, "a.example");
    assert_int_equal(rule.port_count, 1);
    assert_int_equal(rule.ports[0], 80);
    assert_fine(hutch_secret_host_parse(&tls, "a.example", &rule, &err), &err);
    assert_int_equal(rule.port_count, 1);
    assert_int_equal(rule.ports[0], 443);
    assert_fine(hutch_secret_host_parse(&tls, "a.example:80", &rule, &err), &err);
    assert_int_equal(rule.ports[0], 80);
}

static int parse(const char *text, bool is_yaml, struct provider_config *config,
                 struct hutch_error *err)
{
    *config = (struct provider_config){0};
    return provider_config_parse(config, text, strlen(text), is_yaml, err);
}

static void documents_of_providers(void **state)
{
    static const char good[] = "secrets:\n"
                               "  a: {file: /a, keep_newline: true}\n"
                               "  b: {env: B}\n"
                               "  c: {command: [/bin/echo, x], timeout: 3s}\n"
                               "  d: {directory: /d}\n"
                               "directories: [/run/secrets]\n";
    static const char *const bad[] = {
        "{\"secrets\": []}",
        "{\"secret\": {}}",
        "{\"secrets\": {\"a\": {}}}",
        "{\"secrets\": {\"a\": \"/a\"}}",
        "{\"secrets\": {\"a\": {\"file\": \"a\"}}}",
        "{\"secrets\": {\"a\": {\"file\": 1}}}",
        "{\"secrets\": {\"a\": {\"file\": \"/a\", \"env\": \"A\"}}}",
        "{\"secrets\": {\"a\": {\"command\": \"/bin/x\"}}}",
        "{\"secrets\": {\"a\": {\"command\": []}}}",
        "{\"secrets\": {\"a\": {\"command\": [\"x\"]}}}",
        "{\"secrets\": {\"a\": {\"command\": [\"/x\"], \"timeout\": \"2m\"}}}",
        "{\"secrets\": {\"a\": {\"file\": \"/a\", \"timeout\": \"2s\"}}}",
        "{\"secrets\": {\"a\": {\"value\": \"x\"}}}",
        "{\"secrets\": {\"../a\": {\"file\": \"/a\"}}}",
        "{\"secrets\": {\"a\": {\"file\": \"/a\"}, \"a\": {\"file\": \"/b\"}}}",
        "{\"directories\": [\"x\"]}",
        "{\"directories\": \"/x\"}",
    };
    struct provider_config config;
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    assert_fine(parse(good, true, &config, &err), &err);
    assert_int_equal(config.count, 5);
    assert_true(config.items[0].keeps_newline);
    assert_int_equal(config.items[2].source.count, 2);
    assert_int_equal(config.items[2].timeout_ms, 3000);
    assert_null(config.items[4].name);
    provider_config_done(&config);
    for (size_t i = 0; i < HUTCH_COUNT(bad); i++) {
        if (parse(bad[i], false, &config, &err) != -HUTCH_E_INVALID)
            fail_msg("%s is taken", bad[i]);
        provider_config_done(&config);
    }
    assert_refused(parse("secrets:\n\n  a:\n    fil: /x\n", true, &config, &err), &err,
                   "line 4: 'fil' is none of file, env, command, directory, timeout and "
                   "keep_newline");
    provider_config_done(&config);
}

/* ---- redaction ------------------------------------------------------------------------------- */

static struct hutch_secret names[] = {{.name = "one"}, {.name = "two"}, {.name = "three"}};

static void fill_set(struct secret_set *set, struct secret_item *items, const char *const *values,
                     size_t count)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    *set = (struct secret_set){items, count};
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct secret_item){.spec = &names[i]};
        assert_fine(secret_value_new(&items[i].text, strlen(values[i]), &err), &err);
        memcpy(items[i].text.bytes, values[i], strlen(values[i]));
        items[i].text.length = strlen(values[i]);
    }
}

static void release_set(struct secret_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        secret_value_done(&set->items[i].text);
}

/* In pieces of every size the outcome is one. */
static void expect_redacted(const struct secret_set *set, const char *text, const char *expected)
{
    size_t length = strlen(text);
    for (size_t piece = 1; piece <= length; piece++) {
        struct redactor redactor;
        struct hutch_error err = HUTCH_ERROR_INIT;
        struct hutch_buf out = HUTCH_BUF(1u << 20);
        assert_fine(redactor_open(&redactor, set, &err), &err);
        for (size_t at = 0; at < length; at += piece)
            redactor_feed(&redactor, text + at, length - at < piece ? length - at : piece, false,
                          &out);
        redactor_feed(&redactor, "", 0, true, &out);
        assert_false(out.failed);
        assert_string_equal(out.data, expected);
        hutch_buf_done(&out);
        redactor_done(&redactor);
    }
}

static void values_are_replaced_however_they_come(void **state)
{
    static const char *const values[] = {"s3cret", "s3cretlonger", "aaaab"};
    struct secret_item items[3];
    struct secret_set set;
    (void)state;
    fill_set(&set, items, values, 3);
    expect_redacted(&set, "x", "x");
    expect_redacted(&set, "s3cret", "[secret one]");
    expect_redacted(&set, "a s3cret b", "a [secret one] b");
    expect_redacted(&set, "s3cretlonger", "[secret two]");
    expect_redacted(&set, "s3cretlonge", "[secret one]longe");
    expect_redacted(&set, "s3crets3cret", "[secret one][secret one]");
    expect_redacted(&set, "s3cres3cret", "s3cre[secret one]");
    expect_redacted(&set, "aaaaaaaab", "aaaa[secret three]");
    expect_redacted(&set, "s3cre", "s3cre");
    expect_redacted(&set, "aaas3cretlongeraaaa", "aaa[secret two]aaaa");
    release_set(&set);
}

static void what_cannot_be_a_value_is_not_held_back(void **state)
{
    static const char *const values[] = {"abcdef"};
    struct secret_item items[1];
    struct secret_set set;
    struct redactor redactor;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_buf out = HUTCH_BUF(1024);
    (void)state;
    fill_set(&set, items, values, 1);
    assert_fine(redactor_open(&redactor, &set, &err), &err);
    redactor_feed(&redactor, "$ ", 2, false, &out);
    assert_string_equal(out.data, "$ ");
    redactor_feed(&redactor, "abc", 3, false, &out);
    assert_string_equal(out.data, "$ ");
    redactor_feed(&redactor, "x", 1, false, &out);
    assert_string_equal(out.data, "$ abcx");
    hutch_buf_done(&out);
    redactor_done(&redactor);
    release_set(&set);
}

static void short_values_cannot_be_redacted(void **state)
{
    static const char *const values[] = {"abc"};
    struct secret_item items[1];
    struct secret_set set;
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    fill_set(&set, items, values, 1);
    assert_int_equal(redactor_check(&set, &err), -HUTCH_E_INVALID);
    assert_null(strstr(err.msg, "abc"));
    release_set(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts_are_taken),
        cmocka_unit_test(bad_texts_are_refused),
        cmocka_unit_test(a_host_without_a_port_means_one),
        cmocka_unit_test(documents_of_providers),
        cmocka_unit_test(values_are_replaced_however_they_come),
        cmocka_unit_test(what_cannot_be_a_value_is_not_held_back),
        cmocka_unit_test(short_values_cannot_be_redacted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
