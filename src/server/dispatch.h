/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its handler. */
#ifndef HUTCH_SERVER_DISPATCH_H
#define HUTCH_SERVER_DISPATCH_H

#include "server/call.h"

/* For struct http_server_options; userdata is the server. */
void dispatch(void *userdata, struct http_exchange *exchange);
/* For struct admission_limits. */
void dispatch_turn(struct api_call *call);

/* match.c: finds the route and fills route and params. Otherwise NULL, and ret_allow has the
 * methods that the path knows, "" when there is no such path. False for a path that is broken. */
#define ALLOW_BYTES 64
bool match_route(struct api_call *call, char ret_allow[ALLOW_BYTES]);

#endif
