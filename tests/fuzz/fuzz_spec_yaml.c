/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_document(data, size, HUTCH_FORMAT_YAML);
    return 0;
}
