/* SPDX-License-Identifier: Apache-2.0 */
/* What the inside of a container says it has used, for engines that know less. */
#ifndef HUTCH_PORTER_COUNTERS_H
#define HUTCH_PORTER_COUNTERS_H

#include "porter/outer.h"

/* False: nobody inside has answered in time, or it sees too little. */
bool counters_ask(struct outer *outer, struct porter_answer *ret_answer);
/* What came last, where the engine itself does not know it. A layer without a limit is full when
 * the engine's own disk is, which is no limit's doing: has_quota is false. */
void counters_add(const struct outer *outer, bool has_quota, struct porter_end *end);

#endif
