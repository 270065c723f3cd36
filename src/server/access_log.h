/* SPDX-License-Identifier: Apache-2.0 */
/* A line of JSON for every request. What stands behind the '?' is not in it. */
#ifndef HUTCH_SERVER_ACCESS_LOG_H
#define HUTCH_SERVER_ACCESS_LOG_H

#include "http/http.h"

struct access_log;

/* path: "-" for standard output. Lines are added at the end of a file. */
HUTCH_MUST_CHECK int access_log_open(const char *path, struct access_log **ret_log,
                                     struct hutch_error *err);
void access_log_close(struct access_log *log);
/* Again by its name: who rotates files sends SIGHUP. */
void access_log_reopen(struct access_log *log);
void access_log_write(struct access_log *log, const struct http_log_entry *entry);

#endif
