/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of requests that do not go on as they came. */
#ifndef HUTCH_EGRESS_HTTP_EDIT_H
#define HUTCH_EGRESS_HTTP_EDIT_H

#include "egress/http.h"
#include "egress/order.h"

/* Here the head that goes on is decided: which headers are dropped, and which are added. *ret_text
 * is NULL when it goes on as it came; owned otherwise. Returns false when there is no memory. */
bool http_edit(const struct order *order, const char *name, uint16_t port, bool is_intercepted,
               struct http_head *head, char **ret_text, size_t *ret_length);

#endif
