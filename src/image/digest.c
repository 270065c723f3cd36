/* SPDX-License-Identifier: Apache-2.0 */
#include "image/digest.h"

#include <string.h>

bool image_digest_is_valid(const char *text)
{
    return strncmp(text, "sha256:", 7) == 0 && strlen(text) == IMAGE_DIGEST_BYTES - 1 &&
           strspn(text + 7, "0123456789abcdef") == IMAGE_DIGEST_BYTES - 8;
}
