/* SPDX-License-Identifier: Apache-2.0 */
/* How an order travels from a keeper to its porter: a message as clients and keepers exchange them
 * (native/wire.h), which is a memory file when it is long. */
#ifndef HUTCH_CONTAINER_ORDER_H
#define HUTCH_CONTAINER_ORDER_H

#include "porter/order.h"

int container_order_send(int socket, const struct porter_order *order,
                         struct hutch_error *err) HUTCH_MUST_CHECK;
/* Waits for it. Its spec is the caller's to free, by container_order_done(). */
int container_order_receive(int socket, struct porter_order *ret_order,
                            struct hutch_error *err) HUTCH_MUST_CHECK;
void container_order_done(struct porter_order *order);

#endif
