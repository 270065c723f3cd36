/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine must be able to do for a porter. Everything else about a sandbox (commands,
 * streams, deadlines, logs, copying) goes through hutch-init inside and is the same for all. */
#ifndef HUTCH_PORTER_CONTAINER_H
#define HUTCH_PORTER_CONTAINER_H

#include <stdbool.h>
#include <sys/types.h>

#include "hutch/host.h"
#include "image/build.h"
#include "porter/order.h"

struct container; /* the engine's own */

/* How its first process is started, as the user and the group of the order. The program is put
 * where the container sees it (program_guest), and its standard streams are the tunnel. */
#define CONTAINER_GUEST_DIRECTORY "/.hutch"
#define CONTAINER_GUEST_PATH CONTAINER_GUEST_DIRECTORY "/init"
#define CONTAINER_GUEST_WORD INIT_GUEST_WORD

struct container_ops {
    const char *backend;
    /* What a container of it has used is best known by hutch-init, which sees its cgroup. */
    bool counts_inside;
    /* Makes and starts it, or starts the one that is there. When it returns, the streams flow. What
     * was made is taken away again when it fails. */
    int (*start)(const struct porter_order *order, struct container **ret_container,
                 struct hutch_error *err);
    /* Are its user ids others outside? Where they are not, nobody inside may be root. */
    bool (*maps_ids)(const struct container *container);
    /* What is written into memory, for a keeper that keeps it while the container rests. Borrowed;
     * negative: there is nothing to keep, or the engine keeps it. */
    int (*memory_layer)(const struct container *container);
    /* The configuration of the engine's own image, an OCI document to be freed; NULL: it has none,
     * or the keeper knows it. */
    int (*config)(struct container *container, char **ret_json, struct hutch_error *err);
    /* To poll for reading; and, while a write was short, for writing. The same descriptor where the
     * stream is one socket, two where it is a pair of pipes. */
    int (*read_fd)(const struct container *container);
    int (*write_fd)(const struct container *container);
    /* Bytes that are decrypted or demultiplexed already, for which poll says nothing. */
    bool (*has_pending)(const struct container *container);
    /* Both never block. -1 with errno EAGAIN: not now; 0 from read: the stream has ended. Standard
     * error is kept by the engine's part, for its messages. */
    ssize_t (*read)(struct container *container, void *buffer, size_t size);
    ssize_t (*write)(struct container *container, const void *data, size_t length);
    int (*pause)(struct container *container, bool pause, struct hutch_error *err);
    int (*update)(struct container *container, const struct hutch_limits *limits,
                  struct hutch_error *err);
    int (*stats)(struct container *container, struct porter_answer *ret_answer,
                 struct hutch_error *err);
    /* Kills every process in it and waits for its end; how that was is told. */
    int (*end)(struct container *container, struct porter_end *ret_end, struct hutch_error *err);
    /* Why it ended though nobody asked for it, as far as the engine and the container's standard
     * error tell: one line, "" when they are silent. */
    void (*explain)(struct container *container, char *ret_text, size_t size);
    /* After its end: its /artifacts as an open directory of this host; and where that is, when
     * somebody has to remove it. */
    int (*artifacts)(struct container *container, int *ret_directory,
                     char ret_place[PORTER_PLACE_BYTES], struct hutch_error *err);
    /* After its end, in every path. keep: it will be started again. */
    int (*release)(struct container *container, bool keep, struct hutch_error *err);

    /* id: of a sandbox whose container is there, perhaps in another engine than a new one's would
     * be; NULL: none. */
    int (*probe)(const struct hutch_spec *spec, const char *runtime, const char *id,
                 struct porter_probe *ret_probe);
    int (*remove)(const char *id, struct hutch_error *err);
    int (*sweep)(bool dry_run, hutch_gc_fn on_item, void *userdata, struct hutch_error *err);
    int (*doctor)(hutch_check_fn on_check, void *userdata, struct hutch_error *err);
    /* An image of a Dockerfile. NULL: its images are those of hutch's store. */
    int (*build)(const struct build_request *request, struct hutch_error *err);
};

extern const struct container_ops docker_container_ops;
extern const struct container_ops oci_container_ops;

#endif
