/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_NATIVE_CLONE_H
#define HUTCH_NATIVE_CLONE_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct program;

#define CLONE_STACK_BYTES 4096

/* What a child that executes needs of this process's memory until it has. */
struct clone_child {
    _Alignas(16) char stack[CLONE_STACK_BYTES];
    unsigned busy; /* a futex: the kernel clears it when the memory is no longer needed */
    int program;
    const struct program *content;
    int socket;
    size_t capability_count;
    struct __user_cap_header_struct header;
    struct __user_cap_data_struct capabilities[2];
};

/* Clones a child with these namespaces that does nothing but execute program_fd, or should that be
 * refused (by a security module, a writer that somebody inherited) the content of the program from
 * memory, with socket_fd as its descriptor 3 and an empty environment. It borrows this process's
 * memory until then, so it is as cheap and as safe in a large threaded program as in a small one;
 * unlike the parent of a vfork this process goes on, and child stays where it is until clone_await,
 * or until it was reaped. into_cgroup is a v2 group's directory or negative. makes_network: it gets
 * the capabilities for that too. Returns the pid, or -1 with errno. */
pid_t clone_and_execute(struct clone_child *child, uint64_t namespaces, bool makes_network,
                        int into_cgroup, const struct program *program, int program_fd,
                        int socket_fd, int *ret_pidfd);
/* Until it has executed, or has ended: then its memory may go. */
void clone_await(struct clone_child *child);

#define CLONE_FIRST_FD 3
#define CLONE_FDS 3

/* A process beside this one that has nothing of it but some descriptors. */
struct clone_servant {
    const char *name;
    int program;        /* these are above all numbers that they will have */
    int fds[CLONE_FDS]; /* from CLONE_FIRST_FD on; the first is 0, 1 and 2 as well */
    bool changes_ids;   /* to these, without any group; for root */
    uint32_t uid;
    uint32_t gid;
    uint64_t file_bytes; /* no file that it writes may be larger */
};

/* It dies with this thread. It begins with all signals blocked and an empty environment; it cannot
 * gain privileges and leaves no core behind. Returns the pid, or -1 with errno. */
pid_t clone_servant(const struct clone_servant *servant, int *ret_pidfd);

/* A child in a new user namespace that waits to be killed. Returns the pid, or -1 with errno. */
pid_t clone_namespace_holder(void);

#endif
