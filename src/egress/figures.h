/* SPDX-License-Identifier: Apache-2.0 */
/* The table that the keeper reads: figures of hosts, and what was denied. */
#ifndef HUTCH_EGRESS_FIGURES_H
#define HUTCH_EGRESS_FIGURES_H

#include "egress/link.h"
#include "util/error.h"

/* Maps the keeper's table. */
int figures_open(int fd, struct egress_table **ret_table, struct hutch_error *err);

/* The row of a name and port, made when there is none; the last one when there is no room. */
struct egress_host *figures_host(struct egress_table *table, const char *name, uint16_t port);
void figures_connection(struct egress_table *table, struct egress_host *host);
void figures_connection_end(struct egress_table *table);
void figures_bytes(struct egress_table *table, struct egress_host *host, uint64_t out, uint64_t in);
/* Both ways, all there were. */
uint64_t figures_total(const struct egress_table *table);

/* name may be anything: what is not printable is not written. */
void figures_deny(struct egress_table *table, const char *name, uint16_t port, enum egress_why why);

#endif
