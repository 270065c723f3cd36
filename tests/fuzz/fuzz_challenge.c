/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a server writes into WWW-Authenticate: what is kept of it has no control characters,
 * fits its place, and a token service has an address. */
#include "fuzz.h"

#include "image/registry_challenge.h"

static void check_value(const char *value)
{
    REQUIRE(memchr(value, '\0', CHALLENGE_VALUE_BYTES), "a value without end");
    for (; *value; value++)
        REQUIRE((unsigned char)*value >= ' ' && *value != 127, "a control character");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct challenge challenge = {0};
    char *text = malloc(size + 1);
    REQUIRE(text, "no memory");
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    if (challenge_parse(text, &challenge, &err) == 0) {
        check_value(challenge.realm);
        check_value(challenge.service);
        REQUIRE(challenge.kind != CHALLENGE_BEARER || *challenge.realm, "no address");
    } else {
        REQUIRE(err.code == HUTCH_E_INVALID && *err.msg, "a failure without a word");
    }
    free(text);
    return 0;
}
