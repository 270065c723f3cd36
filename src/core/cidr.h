/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of addresses: "10.0.0.0/8", "fd00::/8", or one address alone. */
#ifndef HUTCH_CORE_CIDR_H
#define HUTCH_CORE_CIDR_H

#include <stdbool.h>
#include <stdint.h>

struct hutch_cidr {
    int family; /* AF_INET or AF_INET6 */
    unsigned prefix_bits;
    uint8_t address[16]; /* the first 4 for AF_INET; no bit beyond the prefix is set */
};

bool hutch_cidr_parse(const char *text, struct hutch_cidr *ret_cidr);

#endif
