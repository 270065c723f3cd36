/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 against the values that the standard's authors give, and however the text is cut. */
#include "unit.h"

#include "util/sha256.h"

static void check(const char *text, size_t times, const char *wanted)
{
    struct sha256 hash;
    char hex[SHA256_HEX_BYTES];
    sha256_begin(&hash);
    for (size_t i = 0; i < times; i++)
        sha256_add(&hash, text, strlen(text));
    sha256_end_hex(&hash, hex);
    assert_string_equal(hex, wanted);
}

static void test_the_standards_vectors(void **state)
{
    (void)state;
    check("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
          "lmnopqrsmnopqrstnopqrstu",
          1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    check("a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Every length around a block's end, in one piece and byte by byte, is the same. */
static void test_pieces_make_no_difference(void **state)
{
    unsigned char text[300];
    (void)state;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (unsigned char)(i * 7);
    for (size_t length = 0; length <= sizeof(text); length++) {
        struct sha256 whole, pieces;
        unsigned char a[SHA256_BYTES], b[SHA256_BYTES];
        sha256_begin(&whole);
        sha256_add(&whole, text, length);
        sha256_end(&whole, a);
        sha256_begin(&pieces);
        for (size_t at = 0; at < length;) {
            size_t step = 1 + at % 67;
            step = step < length - at ? step : length - at;
            sha256_add(&pieces, text + at, step);
            at += step;
        }
        sha256_end(&pieces, b);
        assert_memory_equal(a, b, SHA256_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_standards_vectors),
        cmocka_unit_test(test_pieces_make_no_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
