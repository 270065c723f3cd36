/* SPDX-License-Identifier: Apache-2.0 */
#include "image/base64.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "util/own.h"

enum { LONGEST = 1 << 20 };

int base64_encode(const char *text, char **ret_encoded, struct hutch_error *err)
{
    size_t length = strlen(text);
    if (length > LONGEST)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "a text of %zu bytes is too long", length);
    char *encoded = malloc(4 * ((length + 2) / 3) + 1);
    if (!encoded)
        return hutch_fail_nomem(err);
    (void)EVP_EncodeBlock((unsigned char *)encoded, (const unsigned char *)text, (int)length);
    *ret_encoded = encoded;
    return 0;
}

int base64_decode(const char *encoded, char **ret_text, struct hutch_error *err)
{
    size_t length = strlen(encoded);
    size_t padding_from = strcspn(encoded, "=");
    if (length > LONGEST || length % 4 != 0 || length - padding_from > 2 ||
        strspn(encoded + padding_from, "=") != length - padding_from)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "this is no base64");
    hutch_autofree char *text = malloc(length / 4 * 3 + 1);
    if (!text)
        return hutch_fail_nomem(err);
    int decoded =
        EVP_DecodeBlock((unsigned char *)text, (const unsigned char *)encoded, (int)length);
    /* it counts the padding as bytes */
    for (size_t i = length; i > 0 && encoded[i - 1] == '=' && decoded > 0; i--)
        decoded--;
    if (decoded < 0 || memchr(text, '\0', (size_t)decoded))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "this is no base64 of a text");
    text[decoded] = '\0';
    *ret_text = HUTCH_TAKE_PTR(text);
    return 0;
}
