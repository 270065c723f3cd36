/* SPDX-License-Identifier: Apache-2.0 */
/* What the gateway reads: addresses, DNS messages, ClientHellos, requests, orders. */
#include "unit.h"

#include <sys/socket.h>

#include "../gateway/hello_bytes.h"
#include "egress/address.h"
#include "egress/dns.h"
#include "egress/dns_wire.h"
#include "egress/hello.h"
#include "egress/http.h"
#include "egress/order.h"
#include "util/own.h"

/* ---- addresses ---- */

static bool is_refused(const char *text)
{
    struct address address;
    assert_true(address_parse(text, &address));
    return address_is_refused(&address, NULL, 0);
}

static void addresses_of_nobody_elses_are_refused(void **state)
{
    static const char *const refused[] = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "168.63.129.16",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::10.0.0.1",
        "::8.8.8.8",
        "64:ff9b::a00:1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::808:808",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::",
        "2002:a00:1::",
        "2001::1",
        "2001:db8::1",
        "2001:10::1",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "100::1",
        "4000::1",
        "fd68:7574:6368::1",
        "5f00::1",
    };
    static const char *const public[] = {
        "8.8.8.8",          "1.1.1.1",        "93.184.216.34",   "100.63.255.255", "100.128.0.0",
        "172.15.255.255",   "172.32.0.0",     "192.167.255.255", "198.17.255.255", "198.20.0.0",
        "223.255.255.255",  "168.63.129.17",  "169.253.1.1",     "2606:4700::1",   "2a00:1450::1",
        "64:ff9b::808:808", "2002:808:808::", "2001:4860::1",
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(refused); i++)
        if (!is_refused(refused[i]))
            fail_msg("%s may be dialled", refused[i]);
    for (size_t i = 0; i < HUTCH_COUNT(public); i++)
        if (is_refused(public[i]))
            fail_msg("%s may not be dialled", public[i]);
}

static void a_range_is_opened_as_far_as_it_goes(void **state)
{
    const struct egress_range opened[] = {{AF_INET, 12, {10, 16}}, {AF_INET6, 7, {0xfc}}};
    static const struct {
        const char *text;
        bool is_refused;
    } cases[] = {
        {"10.16.0.1", false},       {"10.31.255.255", false}, {"10.32.0.0", true},
        {"10.15.255.255", true},    {"fd00::1", false},       {"fe80::1", true},
        {"::ffff:10.16.0.1", true}, {"64:ff9b::a10:1", true}, {"127.0.0.1", true},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct address address;
        assert_true(address_parse(cases[i].text, &address));
        assert_int_equal(address_is_refused(&address, opened, 2), cases[i].is_refused);
    }
}

static void addresses_have_one_spelling(void **state)
{
    static const char *const texts[] = {"127.1", "0x7f.0.0.1", "0177.0.0.1", "1.2.3.4 ", "1.2.3",
                                        "[::1]", "::1%lo",     "",           "1.2.3.4.5"};
    struct address address;
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(texts); i++)
        assert_false(address_parse(texts[i], &address));
}

/* ---- DNS ---- */

static void questions_are_read_and_answered(void **state)
{
    uint8_t message[DNS_MAX_QUESTION], reply[DNS_MAX_REPLY];
    struct dns_question question;
    struct dns_answer answer;
    struct address address = {.family = AF_INET, .bytes = {198, 18, 3, 4}};
    (void)state;
    size_t length = dns_ask(77, "web.example", DNS_A, message);
    message[13] = 'W'; /* spelled otherwise, as clients do */
    assert_int_equal(dns_question_parse(message, length, &question), DNS_OK);
    assert_true(question.has_name && question.has_options);
    assert_string_equal(question.name, "web.example");
    length = dns_reply(message, &question, DNS_OK, &address, 60, reply);
    assert_int_equal(reply[13], 'W'); /* and want to have it back */
    assert_true(dns_answer_parse(reply, length, 77, "web.example", DNS_A, &answer));
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.ttl_s, 60);
    assert_memory_equal(&answer.addresses[0], &address, sizeof(address));
    assert_false(dns_answer_parse(reply, length, 78, "web.example", DNS_A, &answer));
    assert_false(dns_answer_parse(reply, length, 77, "evil.example", DNS_A, &answer));
    assert_false(dns_answer_parse(reply, length, 77, "web.example", DNS_AAAA, &answer));
    for (size_t cut = 0; cut < length; cut++)
        if (dns_answer_parse(reply, cut, 77, "web.example", DNS_A, &answer))
            assert_true(answer.count <= 1);
}

static void what_is_no_question_is_not_taken_for_one(void **state)
{
    uint8_t message[DNS_MAX_QUESTION];
    struct dns_question question;
    (void)state;
    size_t length = dns_ask(77, "web.example", DNS_A, message);
    assert_int_equal(dns_question_parse(message, 11, &question), -1);
    assert_int_equal(dns_question_parse(message, 20, &question), DNS_FORMAT);
    message[2] |= 0x80;
    assert_int_equal(dns_question_parse(message, length, &question), -1);
    message[2] = 0x28;
    assert_int_equal(dns_question_parse(message, length, &question), DNS_UNKNOWN);
    message[2] = 1;
    message[5] = 2;
    assert_int_equal(dns_question_parse(message, length, &question), DNS_FORMAT);
    message[5] = 1;
    message[12] = 0xc0; /* leads to itself */
    message[13] = 12;
    assert_int_equal(dns_question_parse(message, length, &question), DNS_FORMAT);
    length = dns_ask(77, "a.b.c.example", DNS_A, message);
    message[13] = '.'; /* a dot in a label is not one between labels */
    assert_int_equal(dns_question_parse(message, length, &question), DNS_OK);
    assert_false(question.has_name);
}

static void addresses_are_found_backwards(void **state)
{
    struct address address;
    char text[ADDRESS_TEXT_BYTES];
    (void)state;
    assert_true(dns_reverse_address("4.3.18.198.in-addr.arpa", &address));
    address_format(&address, text);
    assert_string_equal(text, "198.18.3.4");
    assert_true(
        dns_reverse_address("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.6.3.6.4.7.5.7.8.6.d.f."
                            "ip6.arpa",
                            &address));
    address_format(&address, text);
    assert_string_equal(text, "fd68:7574:6368::1");
    assert_false(dns_reverse_address("4.3.18.in-addr.arpa", &address));
    assert_false(dns_reverse_address("4.3.18.256.in-addr.arpa", &address));
    assert_false(dns_reverse_address("4.3.18.198.in-addr.arpa.example", &address));
}

/* ---- TLS ---- */

static void a_hello_is_read_however_it_comes(void **state)
{
    uint8_t bytes[4096];
    char name[EGRESS_NAME_BYTES];
    (void)state;
    for (size_t record = 1; record < 200; record++) {
        const struct hello_wish wish = {.name = "Web.example", .record_bytes = record};
        size_t length = hello_write(&wish, bytes);
        for (size_t cut = 0; cut < length; cut++)
            assert_int_equal(hello_read(bytes, cut, name), HELLO_MORE);
        assert_int_equal(hello_read(bytes, length, name), HELLO_NAMED);
        assert_string_equal(name, "web.example");
    }
}

static void a_hello_that_hides_or_doubles_is_refused(void **state)
{
    const struct hello_wish wishes[] = {
        {.record_bytes = 4096},
        {.name = "web.example", .hides = true, .record_bytes = 4096},
        {.name = "web.example", .second_name = "web.example", .record_bytes = 4096},
        {.name = "127.0.0.1", .record_bytes = 4096},
        {.name = "", .record_bytes = 4096},
        {.name = "web..example", .record_bytes = 4096},
    };
    uint8_t bytes[4096];
    char name[EGRESS_NAME_BYTES];
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(wishes); i++)
        assert_int_equal(hello_read(bytes, hello_write(&wishes[i], bytes), name), HELLO_REFUSED);
    const struct hello_wish good = {.name = "web.example", .record_bytes = 4096};
    size_t length = hello_write(&good, bytes);
    bytes[5] = 2; /* a ServerHello */
    assert_int_equal(hello_read(bytes, length, name), HELLO_REFUSED);
    bytes[5] = 1;
    bytes[6] = 1; /* of 65 KiB */
    assert_int_equal(hello_read(bytes, length, name), HELLO_REFUSED);
}

/* ---- HTTP ---- */

#define LONG_METHOD "XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX"

static void what_looks_like_a_request_is_read_as_one(void **state)
{
    static const struct {
        const char *text;
        enum http_look look;
    } cases[] = {
        {"GET / HTTP/1.1\r\n", HTTP_LOOKS_LIKE},
        {"get / http/1.1\n", HTTP_LOOKS_LIKE},
        {"\r\n \tGET / HTTP/1.1\n", HTTP_LOOKS_LIKE},
        {"PRI * HTTP/2.0\r\n", HTTP_LOOKS_LIKE},
        {"GET\t/ HTTP/1.1\r\n", HTTP_LOOKS_LIKE},
        {"X y HTTP/9 z\r\n", HTTP_LOOKS_LIKE},
        {"GET / HTTP/1.1", HTTP_LOOKS_LIKE},
        {"GET / HTTP/1.1\r", HTTP_LOOKS_LIKE},
        {"GET http://other.example/", HTTP_LOOKS_LIKE},
        {LONG_METHOD " / HTTP/1.1\r\n", HTTP_LOOKS_LIKE},
        {LONG_METHOD " /", HTTP_MAY_BE},
        {"GET\x1f/\x1fHTTP/1.1\r\n", HTTP_LOOKS_LIKE},
        {"GET\x85/\x85HTTP/1.1\r\n", HTTP_LOOKS_LIKE},
        {"BREW\xe3\x80\x80/\xe3\x80\x80HTTP/1.1\r\n", HTTP_LOOKS_LIKE},
        {"\x1cGET / HTTP/1.1\r\n", HTTP_LOOKS_LIKE},
        {"\xa0GET / HTTP/1.1\r\n", HTTP_LOOKS_LIKE},
        {"\xa0\r\n\x85\nGET / HTTP/1.1\r\n", HTTP_LOOKS_LIKE},
        {"\x01GET / HTTP/1.1\r\n", HTTP_LOOKS_LIKE},
        {"A\x80 / HTTP/1.1\r\n", HTTP_LOOKS_LIKE},
        {"GET /\r\n", HTTP_LOOKS_LIKE},
        {"GET /", HTTP_LOOKS_LIKE},
        {"GET x://other.example/\n", HTTP_LOOKS_LIKE},
        {"POST / FOO/1.1\r\n", HTTP_LOOKS_LIKE},
        {"GET x\r\nHost: other.example\r\n", HTTP_LOOKS_LIKE},
        {"GET x\r\n folded\r\n", HTTP_LOOKS_LIKE},
        {"GET x\r\nFrom y\r\n", HTTP_LOOKS_LIKE},
        {"GET x\r\n\r\n", HTTP_LOOKS_LIKE},
        {"GET x\r\nHost", HTTP_MAY_BE},
        {"GET x\r\n", HTTP_MAY_BE},
        {"G", HTTP_MAY_BE},
        {"\r\n", HTTP_MAY_BE},
        {"ping", HTTP_MAY_BE},
        {"\x01GET /", HTTP_HARDLY_IS},
        {"\x80\x01\x02", HTTP_HARDLY_IS},
        {"PING\r\n", HTTP_LOOKS_UNLIKE},
        {"SSH-2.0-OpenSSH_9\r\n", HTTP_LOOKS_UNLIKE},
        {"*1\r\n$4\r\nPING\r\n", HTTP_LOOKS_UNLIKE},
        {"EHLO inside\r\n", HTTP_LOOKS_UNLIKE},
        {"GET user:1\r\nGET user:2\r\n", HTTP_LOOKS_UNLIKE},
        {"SET /key value\r\n", HTTP_LOOKS_UNLIKE},
        {"get /key\r\n", HTTP_LOOKS_UNLIKE},
        {"OPTIONS rtsp://web.example/ RTSP/1.0\r\nCSeq: 1\r\n", HTTP_LOOKS_UNLIKE},
        {"CONNECT\nhost:web.example\n", HTTP_LOOKS_UNLIKE},
        {"\x01\x08HTTP/1.1\n", HTTP_LOOKS_UNLIKE},
        {"\x01SERVER_PROTOCOLHTTP/1.1\n", HTTP_LOOKS_UNLIKE},
    };
    size_t leading;
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++)
        if (http_look_at(cases[i].text, strlen(cases[i].text), &leading) != cases[i].look)
            fail_msg("%s", cases[i].text);
}

static void a_long_first_line_is_read_to_its_end(void **state)
{
    static const struct {
        const char *text;
        enum http_look look;
    } cases[] = {
        {"aaaa HTTP/1.1", HTTP_LOOKS_LIKE},
        {" HTTP/", HTTP_LOOKS_LIKE},
        {"\x85http/", HTTP_LOOKS_LIKE},
        {"aHTTP/1.1", HTTP_MAY_BE},
        {"HTTP/1.1", HTTP_MAY_BE}, /* what is before it is not known, but was */
        {"aaaaa", HTTP_MAY_BE},
        {"aaaaa\n HTTP/1.1", HTTP_LOOKS_UNLIKE},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++)
        if (http_look_on(cases[i].text, strlen(cases[i].text)) != cases[i].look)
            fail_msg("%s", cases[i].text);
}

static void answers_to_an_upgrade_are_told_apart(void **state)
{
    static const struct {
        const char *text;
        enum http_answer answer;
    } cases[] = {
        {"HTTP/1.1 101 Yes\r\nA: b\r\n\r\n", HTTP_ANSWER_SWITCHED},
        {"HTTP/1.1 103 Hint\r\n\r\nHTTP/1.1 101 Yes\r\n\r\n", HTTP_ANSWER_SWITCHED},
        {"HTTP/1.1 103 Hint\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", HTTP_ANSWER_OTHER},
        {"HTTP/1.1 200 OK\r\n", HTTP_ANSWER_OTHER},
        {"HTTP/1.0 101 No\r\n\r\n", HTTP_ANSWER_OTHER},
        {"HTTP/1.1 101 Yes\r\nA: b\r\n", HTTP_ANSWER_MORE},
        {"HTTP/1.1 1", HTTP_ANSWER_MORE},
        {"", HTTP_ANSWER_MORE},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++)
        assert_int_equal(http_answer_read(cases[i].text, strlen(cases[i].text)), cases[i].answer);
}

/* ---- orders ---- */

static int parse_order(const struct egress_order *head)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct order *order = NULL;
    char *blob = calloc(1, 256);
    assert_non_null(blob);
    memcpy(blob + 128, "web.example", 12);
    memset(blob + 192, 'x', 64); /* a text without an end */
    memcpy(blob, head, sizeof(*head));
    int r = order_parse(blob, 256, &order, &err);
    if (r == 0)
        assert_true(order_allows(order, "web.example", 443));
    order_free(order);
    return r;
}

static void an_order_with_something_outside_is_refused(void **state)
{
    const struct egress_order good = {.size = 256, .rules = 128, .rule_count = 1};
    const struct egress_order bad[] = {
        {.size = 255, .rules = 128, .rule_count = 1},
        {.size = 256, .rules = 0, .rule_count = 1},
        {.size = 256, .rules = 8, .rule_count = 1},
        {.size = 256, .rules = 192, .rule_count = 1},
        {.size = 256, .rules = 256, .rule_count = 1},
        {.size = 256, .rules = 128, .rule_count = UINT32_MAX},
        {.size = 256, .rules = 128, .rule_count = 1, .proxy = 192},
        {.size = 256, .rules = 128, .rule_count = 1, .proxy = 128},
        {.size = 256, .rules = 128, .rule_count = 1, .proxy_login = 4000},
        {.size = 256, .rules = 128, .rule_count = 1, .opened = 248, .opened_count = 1},
        {.size = 256, .rules = 128, .rule_count = 1, .opened = 129, .opened_count = 1},
        {.size = 256, .rules = 128, .rule_count = 1, .opened = 160, .opened_count = UINT32_MAX},
        {.size = 256, .rules = 128, .rule_count = 1, .opened = 192, .opened_count = 1},
        {.size = 256, .rules = 128, .rule_count = 1, .secrets = 240, .secret_count = 1},
        {.size = 256, .rules = 128, .rule_count = 1, .secrets = 144, .secret_count = 1},
    };
    (void)state;
    assert_int_equal(parse_order(&good), 0);
    for (size_t i = 0; i < HUTCH_COUNT(bad); i++)
        assert_int_equal(parse_order(&bad[i]), -HUTCH_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_nobody_elses_are_refused),
        cmocka_unit_test(a_range_is_opened_as_far_as_it_goes),
        cmocka_unit_test(addresses_have_one_spelling),
        cmocka_unit_test(questions_are_read_and_answered),
        cmocka_unit_test(what_is_no_question_is_not_taken_for_one),
        cmocka_unit_test(addresses_are_found_backwards),
        cmocka_unit_test(a_hello_is_read_however_it_comes),
        cmocka_unit_test(a_hello_that_hides_or_doubles_is_refused),
        cmocka_unit_test(what_looks_like_a_request_is_read_as_one),
        cmocka_unit_test(a_long_first_line_is_read_to_its_end),
        cmocka_unit_test(answers_to_an_upgrade_are_told_apart),
        cmocka_unit_test(an_order_with_something_outside_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
