/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "image/base64.h"
#include "image/registry_challenge.h"
#include "image/registry_url.h"
#include "util/own.h"

static void challenges_are_read_as_written(void **state)
{
    static const struct {
        const char *header;
        enum challenge_kind kind;
        const char *realm;
        const char *service;
    } cases[] = {
        {"Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\"",
         CHALLENGE_BEARER, "https://auth.docker.io/token", "registry.docker.io"},
        {"bearer Realm=\"https://a/t\" , scope=\"repository:x:pull,push\" ,service=plain",
         CHALLENGE_BEARER, "https://a/t", "plain"},
        {"Basic realm=\"two words\"", CHALLENGE_BASIC, "two words", ""},
        {"Basic", CHALLENGE_BASIC, "", ""},
        {"Basic realm=\"a\\\"b\\\\c\"", CHALLENGE_BASIC, "a\"b\\c", ""},
        {"Basic realm=x, Bearer realm=\"https://a\", service=s", CHALLENGE_BEARER, "https://a",
         "s"},
        {"Bearer realm=\"https://a\", Basic realm=x", CHALLENGE_BEARER, "https://a", ""},
        {"Digest realm=\"x\", nonce=\"y\", Basic realm=z", CHALLENGE_BASIC, "z", ""},
        {"Negotiate", CHALLENGE_NONE, "", ""},
        {"", CHALLENGE_NONE, "", ""},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct hutch_error err;
        struct challenge challenge = {0};
        assert_fine(challenge_parse(cases[i].header, &challenge, &err), &err);
        assert_int_equal(challenge.kind, cases[i].kind);
        assert_string_equal(challenge.realm, cases[i].realm);
        assert_string_equal(challenge.service, cases[i].service);
    }
}

static void torn_challenges_are_refused_and_change_nothing(void **state)
{
    static const char *const cases[] = {
        "Bearer",
        "Bearer service=x",
        "Bearer realm=",
        "Bearer realm=\"",
        "Bearer realm=\"x",
        "Bearer realm=\"x\\",
        "Bearer realm=\"x\" service=\"y\"",
        "Bearer realm=\"x\", realm=\"y\"",
        "Bearer realm=\"x\ty\"",
        "Bearer=x",
        "=x",
        "Bearer realm=\"x\"; y",
        "Negotiate dG9rZW4=, Basic",
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct hutch_error err;
        struct challenge challenge = {CHALLENGE_BASIC, "before", ""};
        assert_int_equal(challenge_parse(cases[i], &challenge, &err), -HUTCH_E_INVALID);
        assert_int_equal(challenge.kind, CHALLENGE_BASIC);
        assert_string_equal(challenge.realm, "before");
    }
}

static void only_the_same_scheme_host_and_port_is_the_same_server(void **state)
{
    static const struct {
        const char *url;
        bool is_same;
    } cases[] = {
        {"https://a.example/other?x", true}, {"https://A.EXAMPLE:443/", true},
        {"http://a.example/", false},        {"http://a.example:443/", false},
        {"https://a.example:444/", false},   {"https://b.example/", false},
        {"https://a.example.evil/", false},  {"https://a.example./", false},
        {"https://xa.example/", false},
    };
    struct hutch_error err;
    struct url_origin home;
    (void)state;
    assert_fine(url_check("https://a.example/v2/", false, &home, &err), &err);
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct url_origin other;
        assert_fine(url_check(cases[i].url, true, &other, &err), &err);
        assert_int_equal(url_same_origin(&home, &other), cases[i].is_same);
    }
}

static void addresses_that_lead_astray_are_refused(void **state)
{
    static const char *const cases[] = {
        "file:///etc/passwd",
        "ftp://a/x",
        "gopher://a/x",
        "a.example",
        "https://u@a.example/",
        "https://u:p@a/",
        "http://a.example/",
        "https://a.example:x/",
        "javascript:1",
        "https://a b/",
        "",
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct hutch_error err;
        struct url_origin origin;
        if (url_check(cases[i], false, &origin, &err) != -HUTCH_E_PERMISSION)
            fail_msg("%s was taken", cases[i]);
    }
}

static void base64_goes_both_ways(void **state)
{
    static const char *const texts[] = {"", "u:p", "us:er", "user:pass word", "ö:ü"};
    static const char *const wrong[] = {"a", "ab=c", "????", "AAAA", "dTpwAA=="};
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(texts); i++) {
        struct hutch_error err;
        hutch_autofree char *encoded = NULL;
        hutch_autofree char *text = NULL;
        assert_fine(base64_encode(texts[i], &encoded, &err), &err);
        assert_fine(base64_decode(encoded, &text, &err), &err);
        assert_string_equal(text, texts[i]);
    }
    for (size_t i = 0; i < HUTCH_COUNT(wrong); i++) {
        struct hutch_error err;
        char *text = NULL;
        if (base64_decode(wrong[i], &text, &err) != -HUTCH_E_INVALID)
            fail_msg("%s was taken", wrong[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(challenges_are_read_as_written),
        cmocka_unit_test(torn_challenges_are_refused_and_change_nothing),
        cmocka_unit_test(only_the_same_scheme_host_and_port_is_the_same_server),
        cmocka_unit_test(addresses_that_lead_astray_are_refused),
        cmocka_unit_test(base64_goes_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
