/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_REMOTE_FILES_H
#define HUTCH_REMOTE_FILES_H

#include "remote/client.h"
#include "remote/sandbox.h"

/* The content of a directory here goes into one of the sandbox. */
int remote_send_directory(struct hutch_sandbox *sandbox, const char *source, const char *target,
                          struct hutch_error *err);

/* Does a call whose body is an archive of a directory here. */
int remote_do_packed(struct remote_call *call, const char *directory, json_t **ret_answer,
                     struct hutch_error *err);

/* For struct remote_call: userdata is a descriptor that gets all of it. */
int remote_write_on(void *userdata, const char *data, size_t length, struct hutch_error *err);

#endif
