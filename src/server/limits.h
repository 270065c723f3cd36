/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_SERVER_LIMITS_H
#define HUTCH_SERVER_LIMITS_H

#include "server/server.h"

/* The defaults, some of them by what the machine has. */
void limits_init(struct server_limits *limits);
/* "NAME=VALUE" */
HUTCH_MUST_CHECK int limits_set(struct server_limits *limits, const char *text,
                                struct hutch_error *err);

#endif
