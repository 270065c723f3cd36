/* SPDX-License-Identifier: Apache-2.0 */
#include "server/listen.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "server/authority.h"
#include "server/util.h"

#define FIRST_GIVEN_FD 3
#define PATIENCE_MS 2000
#define PAUSE_MS 20

bool listen_try_again(unsigned *waited_ms)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    if (*waited_ms >= PATIENCE_MS)
        return false;
    (void)nanosleep(&pause, NULL);
    *waited_ms += PAUSE_MS;
    return true;
}

/* ---- a socket of each kind ------------------------------------------------------------------- */

static int refuse_open(const struct server *server, const char *address, struct hutch_error *err)
{
    const struct serve_options *options = server->options;
    if (options->insecure_no_auth)
        return server_fail(err, HUTCH_E_INVALID,
                           "--insecure-no-auth is for loopback addresses alone, and others reach "
                           "'%.80s': leave it out and use tokens",
                           address);
    if (!server->tls && !options->insecure_no_tls)
        return server_fail(err, HUTCH_E_INVALID,
                           "others reach '%.80s', and tokens would travel unencrypted: give "
                           "--tls-cert and --tls-key, or say --insecure-no-tls if something in "
                           "front of it encrypts",
                           address);
    return 0;
}

static int on_tcp(void *userdata, int fd, const char *address, bool is_loopback,
                  struct hutch_error *err)
{
    struct server *server = userdata;
    int status = is_loopback ? 0 : refuse_open(server, address, err);
    if (!status)
        status = authority_add_host(server->authority, address, err);
    if (status < 0) {
        (void)close(fd);
        return status;
    }
    return http_server_listen(server->http, fd, server->tls, err);
}

static int on_unix(struct server *server, int fd, struct hutch_error *err)
{
    struct stat info;
    struct sockaddr_un address = {0};
    socklen_t length = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
        stat(address.sun_path, &info) == 0) {
        server->socket_path = strdup(address.sun_path);
        server->socket_inode = info.st_ino;
    }
    return http_server_listen(server->http, fd, NULL, err);
}

/* ---- socket activation ----------------------------------------------------------------------- */

struct given {
    size_t tcp;
    size_t local;
};

static int take_given(struct server *server, int fd, struct given *given, struct hutch_error *err)
{
    int family = 0, listens = 0;
    socklen_t length = sizeof(family), listens_length = sizeof(listens);
    char address[128];
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_length) < 0 || !listens)
        return server_fail(err, HUTCH_E_INVALID,
                           "descriptor %d of LISTEN_FDS is no socket that listens", fd);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    bool is_loopback = listen_is_loopback(fd, address, sizeof(address));
    if (family == AF_UNIX) {
        given->local++;
        return http_server_listen(server->http, fd, NULL, err);
    }
    given->tcp++;
    return on_tcp(server, fd, address, is_loopback, err);
}

/* What systemd has opened for us, as sd_listen_fds(3) says. */
static int take_all_given(struct server *server, struct given *given, struct hutch_error *err)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    uint64_t number = 0, count = 0;
    int status = 0;
    if (!pid || !fds || !server_number(pid, INT32_MAX, &number) || number != (uint64_t)getpid())
        return 0;
    if (!server_number(fds, 1024, &count))
        return server_fail(err, HUTCH_E_INVALID, "LISTEN_FDS is no number: '%.40s'", fds);
    for (int fd = FIRST_GIVEN_FD; !status && fd < FIRST_GIVEN_FD + (int)count; fd++)
        status = take_given(server, fd, given, err);
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    return status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int listen_ports(struct server *server, bool has_given, struct hutch_error *err)
{
    static const char *const usual[] = {"127.0.0.1:8888", NULL};
    const char *const *all = server->options->listen;
    int status = 0;
    if (!all)
        all = has_given ? usual + 1 : usual;
    for (; !status && *all; all++) {
        const struct listen_tcp request = {*all, on_tcp, server};
        if (strcmp(*all, "none") != 0)
            status = listen_tcp(&request, err);
    }
    return status;
}

int listen_all(struct server *server, struct hutch_error *err)
{
    const struct serve_options *options = server->options;
    struct given given = {0};
    int fd = SERVER_NO_FD;
    int status = take_all_given(server, &given, err);
    for (const char *const *name = options->host_names; !status && name && *name; name++)
        status = authority_add_host(server->authority, *name, err);
    if (!status && (!given.local || options->socket)) {
        status = listen_unix(options->socket, options->socket_group, &fd, err);
        if (!status)
            status = on_unix(server, fd, err);
    }
    return status ? status : listen_ports(server, given.tcp || given.local, err);
}

void listen_end(struct server *server)
{
    struct stat info;
    if (server->socket_path && stat(server->socket_path, &info) == 0 &&
        info.st_ino == server->socket_inode)
        (void)unlink(server->socket_path);
    free(server->socket_path);
    server->socket_path = NULL;
}
