/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_CORE_EGRESS_REPORT_H
#define HUTCH_CORE_EGRESS_REPORT_H

#include "hutch/egress.h"
#include "util/json_out.h"

/* How long it can get. */
size_t hutch_egress_report_ceiling(const struct hutch_egress *egress);
/* "key": {...}, without the denials. */
void hutch_egress_report(struct hutch_json_out *out, const char *key,
                         const struct hutch_egress *egress);
/* "key": [...]; none where egress is NULL. */
void hutch_egress_report_denials(struct hutch_json_out *out, const char *key,
                                 const struct hutch_egress *egress);

#endif
