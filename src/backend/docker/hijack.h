/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that stops being HTTP after its first answer: the standard streams of a container.
 * Reading and writing never wait. */
#ifndef HUTCH_DOCKER_HIJACK_H
#define HUTCH_DOCKER_HIJACK_H

#include <sys/types.h>

#include "backend/docker/engine.h"

struct hijack;

int hijack_open(const struct docker_engine *engine, const char *path, struct hijack **ret_hijack,
                struct hutch_error *err) HUTCH_MUST_CHECK;
void hijack_free(struct hijack *hijack);

int hijack_fd(const struct hijack *hijack);
/* Bytes that poll does not know of: demultiplexed, or decrypted already. */
bool hijack_has_pending(const struct hijack *hijack);
/* Standard output. -1 with errno EAGAIN: not now; 0: the stream has ended. */
ssize_t hijack_read(struct hijack *hijack, void *buffer, size_t size);
/* After EAGAIN the same bytes have to be offered again, perhaps with more behind them. */
ssize_t hijack_write(struct hijack *hijack, const void *data, size_t length);
/* Has the engine closed it? Mostly because the container has ended. */
bool hijack_has_ended(const struct hijack *hijack);
/* The end of what was said on standard error; empty: nothing. */
const char *hijack_errors(const struct hijack *hijack);

#endif
