/* SPDX-License-Identifier: Apache-2.0 */
/* Where the daemon is, and what it is to be told about who asks: from the environment, into which
 * the flags before the verb have gone (cli/host_flags.h). */
#ifndef HUTCH_REMOTE_HOST_H
#define HUTCH_REMOTE_HOST_H

#include <stdbool.h>
#include <sys/types.h>

#include "util/error.h"

struct remote_host {
    char *name;   /* as the person wrote it, for sentences */
    char *url;    /* "https://host:8443", without a '/' at its end */
    char *socket; /* path of a unix socket; NULL: by TCP */
    char *token;  /* NULL: none */
    char *ca;     /* files; NULL: what the system has */
    char *cert;
    char *key;
    bool is_loopback; /* nobody else hears what is said */
};

int remote_host_read(struct remote_host *host, struct hutch_error *err);
void remote_host_done(struct remote_host *host);
/* Whose the daemon's own files are: of a socket here its owner; elsewhere root's is the best guess.
 */
uid_t remote_host_owner(const struct remote_host *host);

#endif
