/* SPDX-License-Identifier: Apache-2.0 */
/* Where the engine is, by the same variables and files that the docker command goes by. */
#ifndef HUTCH_DOCKER_ENDPOINT_H
#define HUTCH_DOCKER_ENDPOINT_H

#include <limits.h>
#include <stdbool.h>

#include "util/error.h"

#define ENDPOINT_DEFAULT_SOCKET "/var/run/docker.sock"
#define ENDPOINT_HOST_BYTES 320

struct docker_endpoint {
    char host[PATH_MAX + 16];           /* as messages name it: "unix:///run/docker.sock" */
    char from[160];                     /* what says so: "DOCKER_HOST", "the context 'far'" */
    char socket[PATH_MAX];              /* of a unix socket; empty: over the network */
    char url[ENDPOINT_HOST_BYTES + 16]; /* "http://localhost", "https://far:2376" */
    bool has_tls;
    char ca[PATH_MAX]; /* PEM files; empty: the system's authorities, no certificate of ours */
    char certificate[PATH_MAX];
    char key[PATH_MAX];
};

int docker_endpoint_find(struct docker_endpoint *ret_endpoint,
                         struct hutch_error *err) HUTCH_MUST_CHECK;

/* endpoint_kept.c: of the sandbox with this id, as it was when that was made; and else as above. */
int docker_endpoint_recall(struct docker_endpoint *ret_endpoint, const char *id,
                           struct hutch_error *err) HUTCH_MUST_CHECK;
int docker_endpoint_keep(const struct docker_endpoint *endpoint, const char *id,
                         struct hutch_error *err) HUTCH_MUST_CHECK;
void docker_endpoint_forget(const char *id);

/* ---- between the files of this part ---- */

/* "tcp://far:2376" into socket and url. */
int docker_endpoint_parse(struct docker_endpoint *endpoint, const char *host, bool has_tls,
                          struct hutch_error *err) HUTCH_MUST_CHECK;
/* ca.pem, cert.pem and key.pem of a directory, where they are there; in one that was chosen for
 * them the first one has to be. */
int docker_endpoint_certificates(struct docker_endpoint *endpoint, const char *directory,
                                 bool is_chosen, struct hutch_error *err) HUTCH_MUST_CHECK;
/* context.c: a context of the docker command by its name. */
int docker_context_read(struct docker_endpoint *endpoint, const char *name,
                        struct hutch_error *err) HUTCH_MUST_CHECK;
/* context.c: the directory of docker's own files; false: nobody says where. */
bool docker_config_directory(char ret_path[PATH_MAX]);
/* context.c: the name of the context that is chosen in config.json; empty: none. */
int docker_context_chosen(char *ret_name, size_t size, struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
