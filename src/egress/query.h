/* SPDX-License-Identifier: Apache-2.0 */
/* One question to the host's name servers: by UDP from a port and with a number that nobody can
 * guess, by TCP when the answer does not fit, to the next server when one is silent or fails. */
#ifndef HUTCH_EGRESS_QUERY_H
#define HUTCH_EGRESS_QUERY_H

#include "egress/resolver.h"

void query_init(struct query *query, struct lookup *lookup, enum dns_type type);
void query_begin(struct query *query);
/* There was no answer in time. */
void query_retry(struct query *query);
void query_end(struct query *query);

/* resolver.c: what a query tells its lookup. */
void lookup_take(struct lookup *lookup, const struct dns_answer *answer);
void lookup_check(struct lookup *lookup);

#endif
