/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nearest.h"

#include <stdio.h>
#include <string.h>

/* How many letters to change, add or leave out. Both are shorter than NEAREST_BYTES. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[NEAREST_BYTES + 1];
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            size_t other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < other ? change : other;
        }
    }
    return row[b_length];
}

void nearest_offer(struct nearest *nearest, const char *name, size_t length)
{
    size_t written = strlen(nearest->written);
    if (written >= NEAREST_BYTES || length >= NEAREST_BYTES)
        return;
    size_t found = distance(nearest->written, written, name, length);
    size_t most = written > 4 ? 2 : 1; /* two letters in the wrong order are two */
    if (found > most || (*nearest->name && found >= nearest->distance))
        return;
    nearest->distance = found;
    (void)snprintf(nearest->name, sizeof(nearest->name), "%.*s", (int)length, name);
}
