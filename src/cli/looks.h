/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes that are looked at, once or again and again: what they are, what they use, and how much
 * processor time they took between two looks. Handles stay open between looks, and all keepers are
 * asked at the same time. */
#ifndef HUTCH_CLI_LOOKS_H
#define HUTCH_CLI_LOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include "hutch/sandbox.h"

struct cli_look {
    struct hutch_sandbox *sandbox;
    struct hutch_sandbox_info info;
    bool is_gone;    /* removed since it was listed */
    bool is_damaged; /* its state cannot be read; info has its name alone */
    bool has_stats;
    struct hutch_stats stats;
    bool has_cpu;       /* there was a look before */
    double cpu_percent; /* of one processor */
};

struct cli_looks {
    struct cli_look *items;
    size_t count;
    size_t capacity;
    const char *label; /* "KEY" or "KEY=VALUE"; NULL: any */
};

void cli_looks_done(struct cli_looks *looks);
/* Takes in what is new, and forgets what is gone. */
int cli_looks_list(struct cli_looks *looks, struct hutch_error *err);
/* One more, by name. */
int cli_looks_open(struct cli_looks *looks, const char *name, struct hutch_error *err);
/* Asks every keeper there is, for its figures or only whether it is there. */
int cli_looks_ask(struct cli_looks *looks, bool wants_stats, uint64_t timeout_ms,
                  struct hutch_error *err);
/* Is somebody keeping it? */
bool cli_look_is_alive(const struct cli_look *look);

#endif
