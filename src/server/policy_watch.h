/* SPDX-License-Identifier: Apache-2.0 */
/* The policy is read again on SIGHUP, and every other second by itself, in a worker's thread: a
 * change holds for the next request, and a broken file leaves the policy as it was. */
#ifndef HUTCH_SERVER_POLICY_WATCH_H
#define HUTCH_SERVER_POLICY_WATCH_H

#include "server/server.h"

HUTCH_MUST_CHECK int policy_watch_new(struct server *server, struct hutch_error *err);
void policy_watch_free(struct server *server);
void policy_watch_now(struct server *server);

#endif
