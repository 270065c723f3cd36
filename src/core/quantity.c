/* SPDX-License-Identifier: Apache-2.0 */
#include "core/quantity.h"

#include "hutch/spec.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util/own.h"

struct unit {
    char suffix[4];
    uint64_t scale;
};

/* Of units with the same scale the first is the one that is written. */
static const struct unit size_units[] = {
    {"", 1},
    {"b", 1},
    {"k", UINT64_C(1) << 10},
    {"kb", UINT64_C(1) << 10},
    {"kib", UINT64_C(1) << 10},
    {"m", UINT64_C(1) << 20},
    {"mb", UINT64_C(1) << 20},
    {"mib", UINT64_C(1) << 20},
    {"g", UINT64_C(1) << 30},
    {"gb", UINT64_C(1) << 30},
    {"gib", UINT64_C(1) << 30},
    {"t", UINT64_C(1) << 40},
    {"tb", UINT64_C(1) << 40},
    {"tib", UINT64_C(1) << 40},
};

static const struct unit duration_units[] = {
    {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {"", 1000},
};

static const struct unit cpu_units[] = {{"", 1000}};
static const struct unit count_units[] = {{"", 1}};

struct kind_row {
    const struct unit *units;
    size_t unit_count;
    const char *noun;
    const char *smallest; /* what a value of 1 is, NULL when it has no name */
    const char *example;
};

static const struct kind_row kind_rows[HUTCH_QUANTITY_KINDS] = {
    [HUTCH_QUANTITY_SIZE] = {size_units, HUTCH_COUNT(size_units), "size", "bytes",
                             "'512m' or '1.5g'"},
    [HUTCH_QUANTITY_DURATION] = {duration_units, HUTCH_COUNT(duration_units), "duration",
                                 "milliseconds", "'500ms', '30s' or '5m'"},
    [HUTCH_QUANTITY_CPUS] = {cpu_units, HUTCH_COUNT(cpu_units), "number of processors",
                             "thousandths", "'2' or '0.5'"},
    [HUTCH_QUANTITY_COUNT] = {count_units, HUTCH_COUNT(count_units), "whole number", NULL, "'256'"},
};

/* An unsigned decimal number. */
struct decimal {
    uint64_t whole;
    uint64_t millionths;
    bool has_fraction; /* any decimal that is not 0, also one beyond the sixth */
    bool overflow;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *scan_whole(const char *text, struct decimal *number)
{
    for (; is_digit(*text); text++)
        if (__builtin_mul_overflow(number->whole, UINT64_C(10), &number->whole) ||
            __builtin_add_overflow(number->whole, (uint64_t)(*text - '0'), &number->whole))
            number->overflow = true;
    return text;
}

static const char *scan_fraction(const char *text, struct decimal *number)
{
    for (uint64_t weight = 100000; is_digit(*text); text++, weight /= 10) {
        number->millionths += weight * (uint64_t)(*text - '0');
        if (*text != '0')
            number->has_fraction = true;
    }
    return text;
}

/* Returns what follows the number, NULL when there is none. */
static const char *scan_decimal(const char *text, struct decimal *ret_number)
{
    struct decimal number = {0};
    const char *rest = scan_whole(text, &number);
    if (rest[0] == '.' && is_digit(rest[1]))
        rest = scan_fraction(rest + 1, &number);
    if (rest == text)
        return NULL;
    *ret_number = number;
    return rest;
}

/* Without the locale's opinion on what a lower-case letter is. */
static bool suffix_equal(const char *suffix, const char *text)
{
    for (; *suffix; suffix++, text++) {
        char c = *text;
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (c != *suffix)
            return false;
    }
    return !*text;
}

static const struct unit *find_unit(const struct kind_row *row, const char *suffix)
{
    for (size_t i = 0; i < row->unit_count; i++)
        if (suffix_equal(row->units[i].suffix, suffix))
            return &row->units[i];
    return NULL;
}

/* The largest scale is 2^40, so a million of them still fits. */
static bool scale_up(const struct decimal *number, uint64_t scale, uint64_t *ret_value)
{
    uint64_t value;
    uint64_t part = (number->millionths * scale + 500000) / 1000000;
    if (number->overflow || __builtin_mul_overflow(number->whole, scale, &value) ||
        __builtin_add_overflow(value, part, &value))
        return false;
    *ret_value = value;
    return true;
}

static int fail_size(const struct kind_row *row, const char *shown, const char *how,
                     struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.60s' is too %s for a %s, write it like %s",
                      shown, how, row->noun, row->example);
}

static int fail_not_whole(const struct kind_row *row, const char *shown, struct hutch_error *err)
{
    return hutch_fail(
        err, HUTCH_E_INVALID, 0, "'%.60s' is not a whole number%s%s, write it like %s", shown,
        row->smallest ? " of " : "", row->smallest ? row->smallest : "", row->example);
}

int hutch_quantity_parse(enum hutch_quantity kind, const char *text, uint64_t *ret_value,
                         struct hutch_error *err)
{
    const struct kind_row *row = &kind_rows[kind];
    struct decimal number;
    const char *suffix = scan_decimal(text, &number);
    const struct unit *unit = suffix ? find_unit(row, suffix) : NULL;
    if (!unit)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.60s' is not a %s, write it like %s", text,
                          row->noun, row->example);
    if (number.has_fraction && unit->scale == 1)
        return fail_not_whole(row, text, err);
    uint64_t value;
    if (!scale_up(&number, unit->scale, &value))
        return fail_size(row, text, "large", err);
    if (!value && number.has_fraction) /* 0 may mean "none": never by rounding */
        return fail_size(row, text, "small", err);
    *ret_value = value;
    return 0;
}

int hutch_quantity_from_real(enum hutch_quantity kind, double number, uint64_t *ret_value,
                             struct hutch_error *err)
{
    const struct kind_row *row = &kind_rows[kind];
    const double largest_exact = 9007199254740992.0; /* 2^53 */
    const struct unit *unit = find_unit(row, "");
    char shown[HUTCH_QUANTITY_TEXT_SIZE];
    (void)snprintf(shown, sizeof(shown), "%g", number);
    if (!(number >= 0)) /* also true of a NaN */
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%s' is not a %s, write it like %s", shown,
                          row->noun, row->example);
    double scaled = number * (double)unit->scale;
    if (scaled > largest_exact)
        return fail_size(row, shown, "large", err);
    if (unit->scale == 1 && (double)(uint64_t)number < number)
        return fail_not_whole(row, shown, err);
    uint64_t value = (uint64_t)(scaled + 0.5);
    if (!value && number > 0)
        return fail_size(row, shown, "small", err);
    *ret_value = value;
    return 0;
}

void hutch_quantity_format(enum hutch_quantity kind, uint64_t value,
                           char text[HUTCH_QUANTITY_TEXT_SIZE])
{
    const struct kind_row *row = &kind_rows[kind];
    const struct unit *best = NULL;
    for (size_t i = 0; i < row->unit_count; i++) {
        const struct unit *unit = &row->units[i];
        if (value % unit->scale == 0 && (!best || (value && unit->scale > best->scale)))
            best = unit;
    }
    if (best) {
        (void)snprintf(text, HUTCH_QUANTITY_TEXT_SIZE, "%" PRIu64 "%s", value / best->scale,
                       best->suffix);
        return;
    }
    int length = snprintf(text, HUTCH_QUANTITY_TEXT_SIZE, "%" PRIu64 ".%03" PRIu64, value / 1000,
                          value % 1000);
    while (text[length - 1] == '0')
        text[--length] = '\0';
}

/* shown is the value as it was written. */
static int range_check(const struct hutch_range *range, uint64_t value, const char *shown,
                       struct hutch_error *err)
{
    char bound[HUTCH_QUANTITY_TEXT_SIZE];
    if (!value && range->may_be_none)
        return 0;
    if (value < range->min) {
        hutch_quantity_format(range->quantity, range->min, bound);
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.60s' is too little, the least is '%s'",
                          shown, bound);
    }
    if (value > range->max) {
        hutch_quantity_format(range->quantity, range->max, bound);
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.60s' is too much, the most is '%s'", shown,
                          bound);
    }
    return 0;
}

int hutch_range_parse(const struct hutch_range *range, const char *text, uint64_t *ret_value,
                      struct hutch_error *err)
{
    uint64_t value = 0;
    int r = 0;
    if (!range->may_be_none || strcmp(text, "none") != 0)
        r = hutch_quantity_parse(range->quantity, text, &value, err);
    if (r >= 0)
        r = range_check(range, value, text, err);
    if (r >= 0)
        *ret_value = value;
    return r;
}

int hutch_range_from_real(const struct hutch_range *range, double number, uint64_t *ret_value,
                          struct hutch_error *err)
{
    char shown[HUTCH_QUANTITY_TEXT_SIZE];
    uint64_t value = 0;
    (void)snprintf(shown, sizeof(shown), "%g", number);
    int r = hutch_quantity_from_real(range->quantity, number, &value, err);
    if (r >= 0)
        r = range_check(range, value, shown, err);
    if (r >= 0)
        *ret_value = value;
    return r;
}

int hutch_duration_parse(const char *text, uint64_t *ret_ms, struct hutch_error *err)
{
    return hutch_quantity_parse(HUTCH_QUANTITY_DURATION, text, ret_ms, err);
}
