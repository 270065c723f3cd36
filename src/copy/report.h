/* SPDX-License-Identifier: Apache-2.0 */
/* What hutch-copy tells about its half of a copy, through its standard error: these records, and
 * few enough of them to fit into a pipe that nobody reads before the end. */
#ifndef HUTCH_COPY_REPORT_H
#define HUTCH_COPY_REPORT_H

#include <stdint.h>

#include "tar/tar.h"

#define COPY_MAX_REPORTS 64

struct copy_report {
    uint32_t skipped; /* 1: an entry was left out; 0: the copy failed */
    struct tar_failure failure;
};

#endif
