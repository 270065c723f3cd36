/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/dns.h"

#include <string.h>

#include "egress/dns_wire.h"

#define FLAG_ANSWER 0x8000U
#define FLAG_CUT 0x0200U
#define FLAG_RECURSION_WANTED 0x0100U
#define FLAG_RECURSION_OFFERED 0x0080U
#define OPCODE 0x7800U
#define CODE 0x000fU
#define OUR_PAYLOAD 1232 /* what we say we take by UDP */
#define MAX_RECORDS 64   /* of an answer, that are looked at */
#define MAX_ALIASES 12

/* ---- questions of the sandbox ---- */

static bool has_options(struct dns_reader reader, unsigned records)
{
    for (; records && records <= MAX_RECORDS; records--) {
        char name[DNS_NAME_TEXT];
        size_t length;
        uint16_t type, class, size;
        uint32_t ttl;
        if (!dns_read_name(&reader, name, &length) || !dns_read16(&reader, &type) ||
            !dns_read16(&reader, &class) || !dns_read32(&reader, &ttl) ||
            !dns_read16(&reader, &size) || !dns_skip(&reader, size))
            return false;
        if (type == DNS_OPT)
            return true;
    }
    return false;
}

int dns_question_parse(const uint8_t *message, size_t length, struct dns_question *ret_question)
{
    struct dns_reader reader = {message, length, DNS_HEADER_BYTES};
    struct dns_question question = {0};
    char text[DNS_NAME_TEXT];
    size_t text_length = 0;
    uint16_t class;
    if (length < DNS_HEADER_BYTES || length > DNS_MAX_QUESTION)
        return -1;
    question.id = dns_get16(message);
    question.flags = dns_get16(message + 2);
    question.question_bytes = DNS_HEADER_BYTES;
    if (question.flags & FLAG_ANSWER)
        return -1;
    int code = DNS_FORMAT;
    if (question.flags & OPCODE) {
        code = DNS_UNKNOWN;
    } else if (dns_get16(message + 4) == 1 && dns_read_name(&reader, text, &text_length) &&
               reader.at == DNS_HEADER_BYTES + (text_length ? text_length + 2 : 1) &&
               dns_read16(&reader, &question.type) && dns_read16(&reader, &class)) {
        code = class == DNS_CLASS_IN || class == DNS_ANY ? DNS_OK : DNS_REFUSED;
        question.question_bytes = reader.at;
        question.has_name = egress_name(text, text_length, question.name);
        if (!question.has_name)
            memcpy(question.name, text, text_length < EGRESS_NAME_BYTES ? text_length + 1 : 0);
        question.has_options =
            has_options(reader, (unsigned)dns_get16(message + 6) + dns_get16(message + 8) +
                                    dns_get16(message + 10));
    }
    *ret_question = question;
    return code;
}

/* ---- replies to the sandbox ---- */

static uint8_t *begin_reply(const uint8_t *message, const struct dns_question *question,
                            enum dns_code code, unsigned answers, uint8_t *reply)
{
    memcpy(reply, message, question->question_bytes);
    dns_put16(reply + 2, FLAG_ANSWER | FLAG_RECURSION_OFFERED |
                             (question->flags & (OPCODE | FLAG_RECURSION_WANTED)) | code);
    dns_put16(reply + 4, question->question_bytes > DNS_HEADER_BYTES);
    dns_put16(reply + 6, answers);
    dns_put16(reply + 8, 0);
    dns_put16(reply + 10, question->has_options);
    return reply + question->question_bytes;
}

/* A record about the name that was asked for; the length of its data comes later. */
static uint8_t *put_record(uint8_t *at, unsigned type, uint32_t ttl_s)
{
    dns_put16(at, 0xc000U | DNS_HEADER_BYTES);
    dns_put16(at + 2, type);
    dns_put16(at + 4, DNS_CLASS_IN);
    dns_put16(at + 6, ttl_s >> 16);
    dns_put16(at + 8, ttl_s & 0xffff);
    return at + 10;
}

static size_t end_reply(const struct dns_question *question, uint8_t *at, const uint8_t *reply)
{
    if (question->has_options) {
        memset(at, 0, 11);
        dns_put16(at + 1, DNS_OPT);
        dns_put16(at + 3, OUR_PAYLOAD);
        at += 11;
    }
    return (size_t)(at - reply);
}

size_t dns_reply(const uint8_t *message, const struct dns_question *question, enum dns_code code,
                 const struct address *address, uint32_t ttl_s, uint8_t ret_reply[DNS_MAX_REPLY])
{
    uint8_t *at = begin_reply(message, question, code, address != NULL, ret_reply);
    if (address) {
        size_t size = address->family == AF_INET ? 4 : 16;
        at = put_record(at, address->family == AF_INET ? DNS_A : DNS_AAAA, ttl_s);
        dns_put16(at, (unsigned)size);
        memcpy(at + 2, address->bytes, size);
        at += 2 + size;
    }
    return end_reply(question, at, ret_reply);
}

size_t dns_reply_name(const uint8_t *message, const struct dns_question *question, const char *name,
                      uint32_t ttl_s, uint8_t ret_reply[DNS_MAX_REPLY])
{
    uint8_t *at = begin_reply(message, question, DNS_OK, 1, ret_reply);
    at = put_record(at, DNS_PTR, ttl_s);
    uint8_t *end = dns_put_name(at + 2, name);
    dns_put16(at, (unsigned)(end - at - 2));
    return end_reply(question, end, ret_reply);
}

/* ---- the way back from an address ---- */

/* The labels of the name from its end: most significant first. */
static bool reverse_four(const char *name, uint8_t bytes[16])
{
    for (int i = 3; i >= 0; i--) {
        unsigned value = 0;
        size_t digits = strspn(name, "0123456789");
        if (!digits || digits > 3 || name[digits] != '.')
            return false;
        for (; digits; digits--)
            value = value * 10 + (unsigned)(*name++ - '0');
        if (value > 255)
            return false;
        bytes[i] = (uint8_t)value;
        name++;
    }
    return !strcmp(name, "in-addr.arpa");
}

static bool reverse_six(const char *name, uint8_t bytes[16])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < 32; i++, name += 2) {
        const char *digit = name[0] ? strchr(digits, name[0]) : NULL;
        if (!digit || name[1] != '.')
            return false;
        unsigned shift = i % 2 ? 4 : 0;
        bytes[15 - i / 2] |= (uint8_t)((digit - digits) << shift);
    }
    return !strcmp(name, "ip6.arpa");
}

bool dns_reverse_address(const char *name, struct address *ret_address)
{
    struct address four = {.family = AF_INET}, six = {.family = AF_INET6};
    if (reverse_four(name, four.bytes))
        *ret_address = four;
    else if (reverse_six(name, six.bytes))
        *ret_address = six;
    else
        return false;
    return true;
}

/* ---- questions to a server, and its answers ---- */

size_t dns_ask(uint16_t id, const char *name, enum dns_type type,
               uint8_t ret_message[DNS_MAX_QUESTION])
{
    memset(ret_message, 0, DNS_HEADER_BYTES);
    dns_put16(ret_message, id);
    dns_put16(ret_message + 2, FLAG_RECURSION_WANTED);
    dns_put16(ret_message + 4, 1);
    dns_put16(ret_message + 10, 1);
    uint8_t *at = dns_put_name(ret_message + DNS_HEADER_BYTES, name);
    dns_put16(at, type);
    dns_put16(at + 2, DNS_CLASS_IN);
    at += 4;
    memset(at, 0, 11);
    dns_put16(at + 1, DNS_OPT);
    dns_put16(at + 3, OUR_PAYLOAD);
    return (size_t)(at + 11 - ret_message);
}

struct record {
    char name[EGRESS_NAME_BYTES];
    uint16_t type;
    uint16_t class;
    uint32_t ttl_s;
    uint16_t size;
    size_t data; /* offset */
};

/* A name that is none of a host is empty: it leads nowhere. */
static bool read_canonical(struct dns_reader *reader, char ret_name[EGRESS_NAME_BYTES])
{
    char text[DNS_NAME_TEXT];
    size_t length;
    if (!dns_read_name(reader, text, &length))
        return false;
    if (!egress_name(text, length, ret_name))
        ret_name[0] = '\0';
    return true;
}

static bool read_record(struct dns_reader *reader, struct record *record)
{
    if (!read_canonical(reader, record->name) || !dns_read16(reader, &record->type) ||
        !dns_read16(reader, &record->class) || !dns_read32(reader, &record->ttl_s) ||
        !dns_read16(reader, &record->size))
        return false;
    record->data = reader->at;
    return dns_skip(reader, record->size);
}

static void take_address(const struct dns_reader *reader, const struct record *record,
                         enum dns_type type, struct dns_answer *answer)
{
    struct address *address = &answer->addresses[answer->count];
    size_t size = type == DNS_A ? 4 : 16;
    if (record->size != size || answer->count == DNS_MAX_ADDRESSES)
        return;
    *address = (struct address){.family = type == DNS_A ? AF_INET : AF_INET6};
    memcpy(address->bytes, reader->data + record->data, size);
    answer->count++;
}

/* One pass over the records: the addresses of a name, and which name it is another one for. Names
 * are followed in whatever order a server has put them. */
static bool take_records(struct dns_reader reader, unsigned records, enum dns_type type,
                         char name[EGRESS_NAME_BYTES], struct dns_answer *answer)
{
    char alias[EGRESS_NAME_BYTES] = "";
    for (; records; records--) {
        struct record record;
        if (!read_record(&reader, &record))
            break;
        if (record.class != DNS_CLASS_IN || strcmp(record.name, name) != 0)
            continue;
        struct dns_reader data = {reader.data, reader.length, record.data};
        if (record.type == type)
            take_address(&reader, &record, type, answer);
        else if (record.type != DNS_CNAME || !read_canonical(&data, alias))
            continue;
        if (record.ttl_s < answer->ttl_s)
            answer->ttl_s = record.ttl_s;
    }
    memcpy(name, alias, sizeof(alias));
    return !answer->count && *alias;
}

bool dns_answer_parse(const uint8_t *message, size_t length, uint16_t id, const char *name,
                      enum dns_type type, struct dns_answer *ret_answer)
{
    struct dns_reader reader = {message, length, DNS_HEADER_BYTES};
    struct dns_answer answer = {.ttl_s = UINT32_MAX};
    char asked[EGRESS_NAME_BYTES];
    uint16_t asked_type, asked_class;
    if (length < DNS_HEADER_BYTES || dns_get16(message) != id || dns_get16(message + 4) != 1 ||
        !read_canonical(&reader, asked) || strcmp(asked, name) != 0 ||
        !dns_read16(&reader, &asked_type) || asked_type != type ||
        !dns_read16(&reader, &asked_class) || asked_class != DNS_CLASS_IN)
        return false;
    uint16_t flags = dns_get16(message + 2);
    if (!(flags & FLAG_ANSWER) || (flags & OPCODE))
        return false;
    answer.code = (enum dns_code)(flags & CODE);
    answer.is_cut = flags & FLAG_CUT;
    unsigned records = dns_get16(message + 6);
    if (records > MAX_RECORDS)
        records = MAX_RECORDS;
    for (int i = 0; i < MAX_ALIASES && answer.code == DNS_OK; i++)
        if (!take_records(reader, records, type, asked, &answer))
            break;
    *ret_answer = answer;
    return true;
}
