/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, durations, processors and counts as people write them. */
#ifndef HUTCH_CORE_QUANTITY_H
#define HUTCH_CORE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

enum hutch_quantity {
    HUTCH_QUANTITY_SIZE,     /* bytes: "1024", "512m", "1.5g", "64kib"; all units are binary */
    HUTCH_QUANTITY_DURATION, /* milliseconds: "500ms", "30s", "5m", "2h", "1d"; bare: seconds */
    HUTCH_QUANTITY_CPUS,     /* thousandths of a processor: "1.5" is 1500 */
    HUTCH_QUANTITY_COUNT,    /* "256" */
    HUTCH_QUANTITY_KINDS,
};

/* Decimals beyond the sixth are dropped; what is left is rounded to the nearest unit. */
int hutch_quantity_parse(enum hutch_quantity kind, const char *text, uint64_t *ret_value,
                         struct hutch_error *err);

/* A number from a document: means what the same number without a unit means as text. */
int hutch_quantity_from_real(enum hutch_quantity kind, double number, uint64_t *ret_value,
                             struct hutch_error *err);

/* The shortest text that parses back to exactly this value. */
#define HUTCH_QUANTITY_TEXT_SIZE 32
void hutch_quantity_format(enum hutch_quantity kind, uint64_t value,
                           char text[HUTCH_QUANTITY_TEXT_SIZE]);

/* What values a quantity may have. */
struct hutch_range {
    enum hutch_quantity quantity;
    uint64_t min;
    uint64_t max;
    bool may_be_none; /* "none" and 0 are taken too, and kept as 0 */
};

int hutch_range_parse(const struct hutch_range *range, const char *text, uint64_t *ret_value,
                      struct hutch_error *err);
/* Like hutch_quantity_from_real. */
int hutch_range_from_real(const struct hutch_range *range, double number, uint64_t *ret_value,
                          struct hutch_error *err);

#endif
