/* SPDX-License-Identifier: Apache-2.0 */
/* config.json of a bundle, by the OCI runtime specification 1.0.2. A pure function of its input. */
#ifndef HUTCH_OCI_BUNDLE_H
#define HUTCH_OCI_BUNDLE_H

#include "core/promise.h"
#include "init/protocol.h"
#include "util/buf.h"
#include "util/strlist.h"

struct bundle {
    const char *id;
    const char *name; /* of the sandbox; "": none */
    const char *hostname;
    const char *home;
    const char *rootfs; /* absolute */
    const char *cgroups_path;
    const char *network; /* path of the network namespace that it joins; "": one of its own */
    uint32_t uid;        /* inside */
    uint32_t gid;
    uint32_t first_host_uid; /* of the 65536 that the container has */
    uint32_t first_host_gid;
    const struct hutch_limits *limits; /* with room for what is not the command's */
    hutch_promise_set enforced;        /* of MEMORY, CPUS, PIDS */
    const struct init_rlimit *rlimits; /* INIT_RLIMITS of them */
    const struct hutch_strlist *covered;
    bool is_kernel; /* for a runtime that brings its own: /sys and /tmp are to be named */
    bool read_only; /* the tree at rootfs is */
};

void bundle_write(struct hutch_buf *buf, const struct bundle *bundle);

#endif
