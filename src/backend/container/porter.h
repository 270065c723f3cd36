/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a porter: the complete program, in a process of its own. */
#ifndef HUTCH_CONTAINER_PORTER_H
#define HUTCH_CONTAINER_PORTER_H

#include "backend/native/keeper.h"
#include "util/buf.h"

/* One that keeps a container for this keeper, which from now on talks to it as to PID 1. */
int porter_start(struct keeper *keeper, const char *backend, int *ret_control,
                 struct hutch_error *err) HUTCH_MUST_CHECK;

/* One that talks with its caller over a socket; the caller closes that and waits for the other. */
int porter_open(const char *verb, const char *backend, int *ret_socket, pid_t *ret_pid,
                struct hutch_error *err) HUTCH_MUST_CHECK;

/* One that does something and ends: what it writes, or why it could not. word may be NULL. */
int porter_do(const char *verb, const char *backend, const char *word, struct hutch_buf *output,
              struct hutch_error *err) HUTCH_MUST_CHECK;
/* The container of a sandbox that is to be gone. */
int porter_remove(const char *backend, const char *id, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
