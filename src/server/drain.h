/* SPDX-License-Identifier: Apache-2.0 */
/* Signals: SIGTERM and SIGINT end the daemon when what it was asked is answered, a second one at
 * once; SIGHUP has it read its policy again. */
#ifndef HUTCH_SERVER_DRAIN_H
#define HUTCH_SERVER_DRAIN_H

#include "server/server.h"

HUTCH_MUST_CHECK int drain_new(struct server *server, struct hutch_error *err);
void drain_free(struct server *server);

#endif
