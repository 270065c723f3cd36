/* SPDX-License-Identifier: Apache-2.0 */
/* A name that is found is canonical and in the bytes; what is decided of a beginning holds of the
 * whole. */
#include "fuzz.h"

#include "egress/hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[EGRESS_NAME_BYTES], part_name[EGRESS_NAME_BYTES], again[EGRESS_NAME_BYTES];
    enum hello_verdict verdict = hello_read(data, size, name);
    for (size_t part = 0; part < size; part = part * 2 + 1) {
        enum hello_verdict before = hello_read(data, part, part_name);
        REQUIRE(before == HELLO_MORE || before == verdict, "%d, then %d", before, verdict);
        if (before == HELLO_NAMED)
            REQUIRE(!strcmp(name, part_name), "'%s', then '%s'", part_name, name);
    }
    if (verdict == HELLO_NAMED)
        REQUIRE(egress_name(name, strlen(name), again) && !strcmp(name, again), "'%s'", name);
    return 0;
}
