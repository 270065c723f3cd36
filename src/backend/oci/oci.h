/* SPDX-License-Identifier: Apache-2.0 */
/* Containers of an OCI runtime: the native plan, written as a bundle.
 *
 * Theory of operation. What a sandbox sees is decided by the native plan and built by hutch-init,
 * in a user namespace of its own, exactly as for a native sandbox; but instead of living there it
 * hands the finished tree over (root.c). What only the container's own namespaces can have (/proc,
 * /dev, what is covered there, the limits) becomes config.json (bundle.c). The porter has a mount
 * namespace of its own in which bundle, tree and the runtime's state are mounted: they are seen by
 * the runtime and by nobody else, and when porter and container are gone so are they. Outside of
 * it there are only the control groups, which the lease names before they are made, so the sweep
 * of native sandboxes finds them.
 *
 * The runtime starts the container and ends; the container's processes are then the porter's own
 * children. They are killed by their control groups and not by the runtime: that needs no
 * co-operation and is the same for all of them. */
#ifndef HUTCH_OCI_OCI_H
#define HUTCH_OCI_OCI_H

#include "backend/native/keeper.h"
#include "porter/container.h"

#define OCI_NAME_SIZE 48 /* "hutch-ID" */
#define OCI_STDERR_TAIL 2048

/* One runtime and what is different about it. */
struct oci_runtime {
    const char *name;
    const char *package; /* of Debian, that brings it */
    const char *doc;
    const char *const *flags;   /* before the verb */
    const char *closed_network; /* and these, without egress and with it; NULL: none is needed */
    const char *joined_network;
    bool is_kernel;      /* brings a kernel of its own: gVisor */
    uint32_t tasks_each; /* that the host counts for one process inside */
    uint32_t own_tasks;  /* of the runtime's own, counted in the container's group */
};

/* Where the bundle is, as the porter and its runtime see it. */
struct oci_place {
    char bundle[64];  /* config.json, init, and the directories below */
    char rootfs[80];  /* mounted there: what the container sees */
    char state[80];   /* the runtime's */
    char program[80]; /* hutch-init */
};

struct container {
    const struct oci_runtime *runtime;
    char path[128]; /* of the runtime's program */
    char name[OCI_NAME_SIZE];
    struct image_use image;
    struct keeper *keeper; /* its plan, cgroups, layer and lease; it has no PID 1 of its own here */
    struct oci_place place;
    int input; /* our ends of its standard streams */
    int output;
    int errors;
    int watch; /* with egress: of output and of the builder's end, for whoever polls */
    char tail[OCI_STDERR_TAIL]; /* the end of what came over errors */
    size_t tail_length;
    bool is_paused;
    bool keeps_memory; /* its files are in memory and are to outlive it */
};

/* runtime.c */
/* By name; NULL or "": the first of the table that is installed. */
int oci_runtime_find(const char *name, const struct oci_runtime **ret_runtime, char *ret_path,
                     size_t size, struct hutch_error *err);
extern const struct oci_runtime oci_runtimes[];
extern const size_t oci_runtime_count;
/* Runs the program with these words and waits; what it says on standard output goes to ret_output,
 * if that is not NULL. container: NULL when it is about none. */
int oci_call(const struct container *container, const char *path, char *const *argv,
             char *ret_output, size_t size, struct hutch_error *err);
/* One verb of the runtime on the container. */
int oci_verb(struct container *container, const char *verb, struct hutch_error *err);

/* The words of a call up to its verb; returns how many. */
#define OCI_MOST_FLAGS 8
size_t oci_words(const struct container *container, const char **words);

/* spawn.c */
/* Is the runtime started in the builder's user namespace? */
bool oci_enters(const struct container *container);
/* What it needs there: the control groups, and what it is to read and write. */
int oci_enter_prepare(struct container *container, struct hutch_error *err);
/* Starts a runtime's program with three descriptors as its standard ones. joins: it becomes a part
 * of the container's control groups, where it does not do so itself. */
int oci_spawn(const struct container *container, bool joins, const char *path, char *const *argv,
              const int *streams, pid_t *ret_pid, struct hutch_error *err);

/* start.c: runs the bundle. */
int oci_run(struct container *container, struct hutch_error *err);
void oci_read_errors(struct container *container);

/* root.c */
/* The mount namespace and the bundle's directories in it. */
int oci_place_make(struct oci_place *place, struct hutch_error *err);
/* Builds what the container sees at place->rootfs; covered gets the paths to be masked. */
int oci_root_build(struct container *container, struct hutch_strlist *covered,
                   struct hutch_error *err);

/* network.c: the namespace that a container with egress joins is the builder's, which stays for it
 * and plants there as PID 1 does natively. Where that is; "" without egress. */
void oci_network_path(const struct container *container, char *path, size_t size);
/* Is the container where it was to be? A runtime's word is not taken for it. */
int oci_network_check(const struct container *container, struct hutch_error *err);
/* As natively PID 1's end, the builder's is that of the sandbox: nobody else can plant. */
int oci_network_watch(struct container *container, struct hutch_error *err);
bool oci_network_is_lost(const struct container *container);

/* groups.c */
/* Adds the container's group in every hierarchy to the lines for the lease, once each. */
void oci_groups_record(const char *name, char *text, size_t size);
/* The value of linux.cgroupsPath. */
void oci_groups_path(const struct keeper *keeper, const char *name, char *path, size_t size);
/* Opens those that the runtime has made, for counters and limits. */
void oci_groups_open(struct cgroup *cgroup);
/* Kills what is in them and waits until they are empty. */
int oci_groups_kill(struct container *container, struct hutch_error *err);
/* Removes those that only the runtime wanted. */
void oci_groups_remove(const char *name);
/* The first process in them; 0: none. */
pid_t oci_groups_leader(const struct cgroup *cgroup);
/* What the kernel would count for the user who made the namespace. */
int oci_shares_limit(pid_t pid, struct hutch_error *err);
/* The limits with room for what is hutch's and the runtime's own. */
struct hutch_limits oci_limits(const struct oci_runtime *runtime,
                               const struct hutch_limits *limits);

/* check.c */
int oci_probe(const struct hutch_spec *spec, const char *name, const char *id,
              struct porter_probe *ret_probe);
int oci_doctor(hutch_check_fn on_check, void *userdata, struct hutch_error *err);
/* The last line that says something. */
void oci_last_line(const char *said, char *line, size_t size);
/* What a runtime said when it failed, as an error with the remedy where one is known. */
int oci_explain(const struct oci_runtime *runtime, const char *said, struct hutch_error *err);

#endif
