/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon, as the command line sees it. */
#ifndef HUTCH_SERVER_SERVE_H
#define HUTCH_SERVER_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hutch/error.h"

/* As they were typed. Lists end with NULL and may be NULL. */
struct serve_options {
    const char *const *listen; /* ADDRESS:PORT */
    const char *socket;
    const char *socket_group;
    const char *tls_cert;
    const char *tls_key;
    const char *client_ca;
    const char *policy;
    const char *access_log;
    const char *const *pools;  /* TEMPLATE=N */
    const char *const *limits; /* NAME=VALUE */
    const char *const *host_names;
    const char *const *cors_origins;
    bool insecure_no_auth;
    bool insecure_no_tls;
};

/* Serves until it is told to end. Takes SIGTERM, SIGINT and SIGHUP. */
HUTCH_MUST_CHECK int serve_main(const struct serve_options *options, struct hutch_error *err);

/* What --limit may name. */
struct serve_limit {
    const char *name;
    const char *doc; /* one sentence */
    uint64_t usual;  /* 0: by the machine */
};
/* False beyond the last. */
bool serve_limit_at(size_t index, struct serve_limit *ret_limit);

#endif
