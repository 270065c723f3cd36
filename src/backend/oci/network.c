/* SPDX-License-Identifier: Apache-2.0 */
/* The network of a container with egress: made and kept by the builder, joined by the container. It
 * belongs to the builder's user namespace and not to the container's, so nobody inside has any
 * power over it, whatever capabilities a runtime should leave there. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "backend/oci/oci.h"
#include "util/own.h"

/* Its number is nobody else's: the builder is our child, and not waited for. */
void oci_network_path(const struct container *container, char *path, size_t size)
{
    path[0] = '\0';
    if (container->keeper->gateway.is_wanted)
        (void)snprintf(path, size, "/proc/%d/ns/net", (int)container->keeper->pid);
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* How many of them are in the network that was meant; negative: one is in this process's own. What
 * a runtime has beside the container, such as gVisor's file server, may be in a third. */
static int count_inside(const pid_t *pids, size_t count, const struct stat *meant,
                        const struct stat *own)
{
    int inside = 0;
    for (size_t i = 0; i < count; i++) {
        char path[64];
        struct stat found;
        (void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pids[i]);
        if (stat(path, &found) < 0)
            continue; /* it has ended */
        if (is_same(&found, own))
            return -1;
        inside += is_same(&found, meant);
    }
    return inside;
}

/* Before the first command: hutch-init inside has been told nothing yet. */
int oci_network_check(const struct container *container, struct hutch_error *err)
{
    char path[64];
    struct stat meant, own;
    hutch_autofree pid_t *pids = NULL;
    size_t count = 0;
    oci_network_path(container, path, sizeof(path));
    if (stat(path, &meant) < 0 || stat("/proc/self/ns/net", &own) < 0)
        return hutch_fail_errno(err, errno, "look at the sandbox's network");
    if (cgroup_list(&container->keeper->cgroup, &pids, &count) < 0 || is_same(&meant, &own) ||
        count_inside(pids, count, &meant, &own) <= 0)
        return hutch_fail(err, HUTCH_E_UNENFORCEABLE, 0,
                          "the OCI runtime '%s' did not start the container in the network that it "
                          "was given, so egress cannot be limited; use another runtime such as "
                          "runc, or backend 'native'",
                          container->runtime->name);
    return 0;
}

int oci_network_watch(struct container *container, struct hutch_error *err)
{
    struct epoll_event event = {.events = EPOLLIN};
    container->watch = epoll_create1(EPOLL_CLOEXEC);
    if (container->watch < 0 ||
        epoll_ctl(container->watch, EPOLL_CTL_ADD, container->output, &event) < 0 ||
        epoll_ctl(container->watch, EPOLL_CTL_ADD, container->keeper->pidfd, &event) < 0)
        return hutch_fail_errno(err, errno, "watch the sandbox's network");
    return 0;
}

bool oci_network_is_lost(const struct container *container)
{
    struct pollfd builder = {container->keeper->pidfd, POLLIN, 0};
    return container->watch >= 0 && poll(&builder, 1, 0) == 1;
}
