/* SPDX-License-Identifier: Apache-2.0 */
/* WWW-Authenticate: how a server wants to be asked. */
#ifndef HUTCH_IMAGE_REGISTRY_CHALLENGE_H
#define HUTCH_IMAGE_REGISTRY_CHALLENGE_H

#include "util/error.h"

#define CHALLENGE_VALUE_BYTES 2048

enum challenge_kind { CHALLENGE_NONE, CHALLENGE_BASIC, CHALLENGE_BEARER };

struct challenge {
    enum challenge_kind kind;
    char realm[CHALLENGE_VALUE_BYTES]; /* of a bearer: the address of the token service */
    char service[CHALLENGE_VALUE_BYTES];
};

/* Reads one header, which may hold several challenges, and keeps the best of it and of what
 * *challenge is already: a token is better than a password. Other schemes are passed over; what
 * does not keep to RFC 9110 is a failure and changes nothing. */
int challenge_parse(const char *header, struct challenge *challenge,
                    struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
