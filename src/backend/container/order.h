/* SPDX-License-Identifier: Apache-2.0 */
/* How an order travels from a keeper to its porter: a message as clients and keepers exchange them
 * (native/wire.h), which is a memory file when it is long. */
#ifndef HUTCH_CONTAINER_ORDER_H
#define HUTCH_CONTAINER_ORDER_H

#include "porter/order.h"

/* What a porter is told of a spec, as JSON. Commands and variables may hold secrets, and they are
 * PID 1's alone: what the porter does not know it cannot write into an engine's own records. Free
 * it with free(). */
int container_order_spec(const struct hutch_spec *spec, char **ret_json,
                         struct hutch_error *err) HUTCH_MUST_CHECK;
int container_order_send(int socket, const struct porter_order *order,
                         struct hutch_error *err) HUTCH_MUST_CHECK;
/* Waits for it. Its spec is the caller's to free, by container_order_done(). */
int container_order_receive(int socket, struct porter_order *ret_order,
                            struct hutch_error *err) HUTCH_MUST_CHECK;
void container_order_done(struct porter_order *order);

#endif
