/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_REMOTE_SANDBOX_H
#define HUTCH_REMOTE_SANDBOX_H

#include <jansson.h>
#include <stdbool.h>

#include "hutch/sandbox.h"

struct hutch_sandbox {
    char name[72];
    char state[16];
    json_t *about; /* what the daemon has told of it last */
    bool is_fresh; /* nobody has looked at that yet */
};

/* Takes what the daemon has answered. */
int remote_sandbox_take(json_t *about, struct hutch_sandbox **ret_sandbox, struct hutch_error *err);

#endif
