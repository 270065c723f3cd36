/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the domain name system: what the gateway reads of questions and of answers, and what
 * it writes. Pure, and believes nothing it reads. */
#ifndef HUTCH_EGRESS_DNS_H
#define HUTCH_EGRESS_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/address.h"

#define DNS_MAX_QUESTION 512 /* longer ones are nobody's who asks for a name */
#define DNS_MAX_REPLY 640
#define DNS_MAX_ANSWER 4096 /* of a server */
#define DNS_MAX_ADDRESSES 8

enum dns_type {
    DNS_A = 1,
    DNS_CNAME = 5,
    DNS_PTR = 12,
    DNS_AAAA = 28,
    DNS_OPT = 41,
    DNS_ANY = 255
};
enum dns_code {
    DNS_OK = 0,
    DNS_FORMAT = 1,
    DNS_FAILURE = 2,
    DNS_NO_NAME = 3,
    DNS_UNKNOWN = 4,
    DNS_REFUSED = 5
};

struct dns_question {
    uint16_t id;
    uint16_t flags;
    uint16_t type;
    bool has_options;             /* EDNS */
    bool has_name;                /* false: what is asked for is no host name */
    char name[EGRESS_NAME_BYTES]; /* canonical, or as near as can be printed */
    size_t question_bytes;        /* of the message: header and question */
};

/* What a message is: 0, a code to answer with, or -1: no question, nothing to be answered. */
int dns_question_parse(const uint8_t *message, size_t length, struct dns_question *ret_question);

/* What goes back: the question, and of the allowed an address or a name, or nothing. Returns its
 * length. */
size_t dns_reply(const uint8_t *message, const struct dns_question *question, enum dns_code code,
                 const struct address *address, uint32_t ttl_s, uint8_t ret_reply[DNS_MAX_REPLY]);
size_t dns_reply_name(const uint8_t *message, const struct dns_question *question, const char *name,
                      uint32_t ttl_s, uint8_t ret_reply[DNS_MAX_REPLY]);

/* The address that a name below in-addr.arpa or ip6.arpa is about. */
bool dns_reverse_address(const char *name, struct address *ret_address);

/* A question to a server. Returns its length. */
size_t dns_ask(uint16_t id, const char *name, enum dns_type type,
               uint8_t ret_message[DNS_MAX_QUESTION]);

struct dns_answer {
    enum dns_code code;
    bool is_cut;    /* ask again by TCP */
    uint32_t ttl_s; /* the least of all that led to the addresses */
    size_t count;
    struct address addresses[DNS_MAX_ADDRESSES];
};

/* false: it is no answer to that question. */
bool dns_answer_parse(const uint8_t *message, size_t length, uint16_t id, const char *name,
                      enum dns_type type, struct dns_answer *ret_answer);

#endif
