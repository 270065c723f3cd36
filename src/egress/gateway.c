/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/gateway.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Two sockets and two pipes of a connection; what is left is for listeners and name servers. */
#define DESCRIPTORS_OF_A_CONNECTION 6
#define DESCRIPTORS_KEPT (SITES_MAX_DOORS / 4)

/* As many as the host lets us have. */
static size_t count_connections(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 64;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    rlim_t kept = limit.rlim_max / 4 < DESCRIPTORS_KEPT ? limit.rlim_max / 4 : DESCRIPTORS_KEPT;
    rlim_t count = (limit.rlim_max - kept) / DESCRIPTORS_OF_A_CONNECTION;
    return count < CONNECTIONS_MAX ? (size_t)count : CONNECTIONS_MAX;
}

static int prepare(struct gateway *gateway, struct hutch_error *err)
{
    (void)prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
    (void)signal(SIGPIPE, SIG_IGN);
    int r = loop_init(&gateway->loop, err);
    if (r == 0)
        r = figures_open(EGRESS_TABLE_FD, &gateway->table, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < PLANT_TAPS; i++)
        gateway->taps[i].watch.fd = HUTCH_NO_FD;
    gateway->connections.max = count_connections();
    budget_init(&gateway->budget, &gateway->loop, figures_total(gateway->table));
    nameserver_init(gateway);
    resolver_init(&gateway->resolver, &gateway->loop);
    r = planter_init(gateway, EGRESS_PLANT_FD, err);
    return r < 0 ? r : control_init(gateway, EGRESS_CONTROL_FD, err);
}

int gateway_main(const struct tls_ops *tls)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct gateway *gateway = calloc(1, sizeof(*gateway));
    if (!gateway)
        return 1;
    gateway->tls = tls;
    int r = prepare(gateway, &err);
    return r < 0 || loop_run(&gateway->loop, &err) < 0 ? 1 : 0;
}
