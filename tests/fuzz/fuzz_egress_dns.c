/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses: a question from inside, which is answered, or an answer from outside.
 * Names that are found are canonical, and what is written fits and is read back. */
#include "fuzz.h"

#include "egress/dns.h"
#include "egress/dns_wire.h"

static void check_question(const uint8_t *message, size_t length)
{
    struct dns_question question;
    struct address address = {.family = AF_INET6, .bytes = {0xfd}};
    uint8_t reply[DNS_MAX_REPLY];
    char again[EGRESS_NAME_BYTES];
    int code = dns_question_parse(message, length, &question);
    if (code < 0)
        return;
    REQUIRE(code <= DNS_REFUSED, "%d", code);
    REQUIRE(question.question_bytes <= length, "%zu", question.question_bytes);
    if (code != DNS_OK) {
        REQUIRE(dns_reply(message, &question, (enum dns_code)code, NULL, 0, reply) <= sizeof(reply),
                "too long");
        return;
    }
    if (question.has_name)
        REQUIRE(egress_name(question.name, strlen(question.name), again) &&
                    !strcmp(again, question.name),
                "'%s'", question.name);
    size_t size = dns_reply(message, &question, DNS_OK, &address, 60, reply);
    REQUIRE(size <= sizeof(reply), "%zu", size);
    if (question.has_name && question.type == DNS_AAAA) {
        struct dns_answer answer;
        if (dns_answer_parse(reply, size, question.id, question.name, DNS_AAAA, &answer))
            REQUIRE(answer.count == 1, "%zu", answer.count);
    }
    if (question.has_name)
        REQUIRE(dns_reply_name(message, &question, question.name, 60, reply) <= sizeof(reply),
                "too long");
}

static void check_answer(const uint8_t *message, size_t length)
{
    struct dns_answer answer;
    if (length < 2)
        return;
    uint16_t id = dns_get16(message);
    if (!dns_answer_parse(message, length, id, "web.example", DNS_A, &answer))
        return;
    REQUIRE(answer.count <= DNS_MAX_ADDRESSES, "%zu", answer.count);
    for (size_t i = 0; i < answer.count; i++)
        REQUIRE(answer.addresses[i].family == AF_INET, "%u", answer.addresses[i].family);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    /* In memory of its own, so that reading past its end is seen. */
    hutch_autofree uint8_t *message = malloc(size);
    REQUIRE(message, "out of memory");
    memcpy(message, data + 1, size - 1);
    if (data[0] & 1)
        check_answer(message, size - 1);
    else
        check_question(message, size - 1);
    return 0;
}
