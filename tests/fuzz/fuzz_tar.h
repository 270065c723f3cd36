/* SPDX-License-Identifier: Apache-2.0 */
/* What the targets share whose input is an archive. */
#ifndef HUTCH_TESTS_FUZZ_TAR_H
#define HUTCH_TESTS_FUZZ_TAR_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Into every block that may be a header, so that what lies behind that check is reached. */
static inline void fuzz_put_checksums(uint8_t *archive, size_t size)
{
    for (size_t at = 0; at + 512 <= size; at += 512) {
        unsigned sum = 8 * ' ';
        char text[8];
        for (size_t i = 0; i < 512; i++)
            sum += i >= 148 && i < 156 ? 0 : archive[at + i];
        (void)snprintf(text, sizeof(text), "%06o", sum);
        if (sum != 8 * ' ')
            memcpy(archive + at + 148, text, sizeof(text));
    }
}

#endif
