/* SPDX-License-Identifier: Apache-2.0 */
/* A name that is taken has only the characters that a name may have, is no way out of a directory,
 * and both ways of writing it read back as the same. */
#include "fuzz.h"

#include "image/reference.h"

static void check_parts(const struct image_reference *reference)
{
    REQUIRE(reference->registry[0] && reference->repository[0], "an empty part");
    REQUIRE(reference->tag[0] || reference->digest[0], "neither tag nor digest");
    REQUIRE(!strstr(reference->repository, ".."), "%s", reference->repository);
    REQUIRE(!strstr(reference->repository, "//"), "%s", reference->repository);
    REQUIRE(!strchr(reference->registry, '/'), "%s", reference->registry);
    REQUIRE(reference->registry[0] != '.', "%s", reference->registry);
    REQUIRE(!strchr(reference->tag, '/'), "%s", reference->tag);
    REQUIRE(strspn(reference->repository, "abcdefghijklmnopqrstuvwxyz0123456789._-/") ==
                strlen(reference->repository),
            "%s", reference->repository);
    REQUIRE(!reference->digest[0] || image_digest_is_valid(reference->digest), "%s",
            reference->digest);
}

static void check_again(const struct image_reference *reference, const char *text, bool keeps_tag)
{
    struct image_reference again;
    struct hutch_error err = HUTCH_ERROR_INIT;
    int r = image_reference_parse(text, &again, &err);
    REQUIRE(r == 0, "%s", err.msg);
    REQUIRE(!strcmp(again.registry, reference->registry), "%s", text);
    REQUIRE(!strcmp(again.repository, reference->repository), "%s", text);
    REQUIRE(!strcmp(again.digest, reference->digest), "%s", text);
    REQUIRE(!keeps_tag || !strcmp(again.tag, reference->tag), "%s", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image_reference reference;
    struct hutch_error err = HUTCH_ERROR_INIT;
    char written[IMAGE_REFERENCE_BYTES];
    hutch_autofree char *text = fuzz_text(data, size);
    int r = image_reference_parse(text, &reference, &err);
    if (r < 0) {
        fuzz_check_failure(r, &err);
        return 0;
    }
    check_parts(&reference);
    image_reference_format(&reference, written);
    check_again(&reference, written, !reference.digest[0]);
    image_reference_format_short(&reference, written);
    check_again(&reference, written, true);
    return 0;
}
