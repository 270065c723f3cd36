/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte says where the input is cut into the old text and the new one. Patching the old
 * one with the difference gives the new one. */
#include "fuzz.h"

#include "patch.h"
#include "store/textdiff.h"

static bool is_text(const uint8_t *data, size_t size)
{
    return !size || !memchr(data, '\0', size);
}

static void check(const char *old, size_t old_length, const char *new, size_t new_length)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf diff = HUTCH_BUF(64u << 20);
    hutch_cleanup(hutch_buf_done) struct hutch_buf patched = HUTCH_BUF(64u << 20);
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_textdiff_side before = {.mode = 0100644, .data = old, .length = old_length};
    struct hutch_textdiff_side after = {.mode = 0100644, .data = new, .length = new_length};
    size_t changed;
    int r = hutch_textdiff("name", &before, &after, &diff, &err);
    REQUIRE(r == 0, "%s", err.msg);
    bool fits =
        patch_apply(diff.data ? diff.data : "", diff.length, old, old_length, &patched, &changed);
    REQUIRE(fits, "%s", diff.data);
    REQUIRE(patched.length == new_length, "%s", diff.data);
    REQUIRE(!new_length || memcmp(patched.data, new, new_length) == 0, "%s", diff.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || !is_text(data + 1, size - 1))
        return 0;
    size_t cut = (size - 1) * data[0] / 255;
    hutch_autofree char *old = fuzz_text(data + 1, cut);
    hutch_autofree char *new = fuzz_text(data + 1 + cut, size - 1 - cut);
    check(old, cut, new, size - 1 - cut);
    return 0;
}
