/* SPDX-License-Identifier: Apache-2.0 */
/* Where the daemon listens. */
#ifndef HUTCH_SERVER_LISTEN_H
#define HUTCH_SERVER_LISTEN_H

#include "server/server.h"

/* Opens what the options ask for, and takes what systemd has opened. */
HUTCH_MUST_CHECK int listen_all(struct server *server, struct hutch_error *err);
/* Removes the unix socket's name, if it is still ours. */
void listen_end(struct server *server);

/* A daemon that was killed may have left a child that is not another program yet and has all its
 * descriptors, those that listen too: over in a moment, and no other daemon. Pauses, and is true,
 * until *waited_ms says that it has taken too long. */
bool listen_try_again(unsigned *waited_ms);

/* listen_unix.c: a dead daemon's socket is replaced, a living one's is an error. */
HUTCH_MUST_CHECK int listen_unix(const char *path, const char *group, int *ret_fd,
                                 struct hutch_error *err);
/* The default, or what was given. */
HUTCH_MUST_CHECK int listen_unix_path(const char *given, char *ret_path, size_t size,
                                      struct hutch_error *err);

/* listen_tcp.c: "ADDRESS:PORT"; ret_name gets the address alone. One socket for each address that a
 * name has; on_socket takes it over. */
struct listen_tcp {
    const char *text;
    int (*on_socket)(void *userdata, int fd, const char *address, bool is_loopback,
                     struct hutch_error *err);
    void *userdata;
};
HUTCH_MUST_CHECK int listen_tcp(const struct listen_tcp *request, struct hutch_error *err);
/* Of an open socket: its address in words, and whether others can reach it. */
bool listen_is_loopback(int fd, char *ret_address, size_t size);

#endif
