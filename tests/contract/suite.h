/* SPDX-License-Identifier: Apache-2.0 */
/* What the whole suite knows: the backend and what it enforces are set once, before any test. */
#ifndef HUTCH_TESTS_SUITE_H
#define HUTCH_TESTS_SUITE_H

#include <sys/types.h>

#include "contract.h"

struct contract_suite {
    const char *backend;
    char **fields; /* "FIELD=VALUE", NULL-terminated */
    char missing[16][32];
    size_t missing_count;
    char home[64];
    unsigned directories;
    unsigned descriptors; /* before the test that runs */
    mode_t mask;
};

struct contract_suite *contract_suite(void);
/* The backend and the fields that were given, and no allowance. */
void contract_set_fields(struct hutch_spec *spec);

#endif
