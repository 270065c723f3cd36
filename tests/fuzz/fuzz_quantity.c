/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses the kind; the rest is the text, and its first eight bytes also a number of
 * a document. */
#include "fuzz.h"

#include "core/quantity.h"

static void check_round_trip(enum hutch_quantity kind, uint64_t value)
{
    char text[HUTCH_QUANTITY_TEXT_SIZE];
    struct hutch_error err = HUTCH_ERROR_INIT;
    uint64_t again = ~value;
    hutch_quantity_format(kind, value, text);
    int r = hutch_quantity_parse(kind, text, &again, &err);
    REQUIRE(r == 0, "'%s': %s", text, err.msg);
    REQUIRE(again == value, "'%s'", text);
}

/* The number without its unit, read by the C library, is the value or differs by the unit alone. */
static void check_bare_number(enum hutch_quantity kind, const char *text, uint64_t value)
{
    char *end;
    if (strspn(text, "0123456789.") != strlen(text) || value > UINT64_C(1) << 52)
        return; /* it has a unit, or is beyond what a long double holds with its decimals */
    long double number = strtold(text, &end);
    if (kind == HUTCH_QUANTITY_DURATION || kind == HUTCH_QUANTITY_CPUS)
        number *= 1000;
    long double difference = number - (long double)value;
    REQUIRE(difference <= 0.502L && difference >= -0.502L, "'%s'", text);
}

static void check_text(enum hutch_quantity kind, const char *text)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    uint64_t value = 1;
    int r = hutch_quantity_parse(kind, text, &value, &err);
    if (r < 0) {
        fuzz_check_failure(r, &err);
        REQUIRE(value == 1, "'%s' was refused", text);
        return;
    }
    check_round_trip(kind, value);
    check_bare_number(kind, text, value);
}

static void check_number(enum hutch_quantity kind, double number)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    uint64_t value = 1;
    int r = hutch_quantity_from_real(kind, number, &value, &err);
    if (r < 0) {
        fuzz_check_failure(r, &err);
        return;
    }
    check_round_trip(kind, value);
    REQUIRE((value == 0) == !(number > 0), "%g", number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    double number = 0;
    uint64_t bits = 0;
    if (!size)
        return 0;
    enum hutch_quantity kind = (enum hutch_quantity)(data[0] % HUTCH_QUANTITY_KINDS);
    hutch_autofree char *text = fuzz_text(data + 1, size - 1);
    check_text(kind, text);
    memcpy(&number, data + 1, size - 1 < sizeof(number) ? size - 1 : sizeof(number));
    memcpy(&bits, &number, sizeof(bits));
    check_number(kind, number);
    check_round_trip(kind, bits);
    return 0;
}
