/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks, and whether by a way that we know: every request is looked at by itself. In the loop's
 * thread alone. */
#ifndef HUTCH_SERVER_AUTHORITY_H
#define HUTCH_SERVER_AUTHORITY_H

#include "server/call.h"

struct authority;

HUTCH_MUST_CHECK int authority_new(struct server *server, struct authority **ret_authority,
                                   struct hutch_error *err);
void authority_free(struct authority *authority);
/* A name under which we are known: of the Host field. */
HUTCH_MUST_CHECK int authority_add_host(struct authority *authority, const char *name,
                                        struct hutch_error *err);

/* Each is false when it has answered the call. The first: does the request mean us, and does it
 * come from a page that may ask (Host, Origin)? */
bool authority_check_way(struct authority *authority, struct api_call *call);
/* Fills call->who. */
bool authority_check_who(struct authority *authority, struct api_call *call);
bool authority_check_scope(struct api_call *call, enum api_scope scope);

#endif
