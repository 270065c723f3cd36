/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_NATIVE_SWEEP_H
#define HUTCH_NATIVE_SWEEP_H

#include "hutch/host.h"

/* Removes what dead keepers left on record. */
int sweep_all(bool dry_run, hutch_gc_fn on_item, void *userdata, struct hutch_error *err);
/* The automatic sweep: at most once a minute per state directory, never an error. */
void sweep_sometimes(void);

#endif
