/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_NATIVE_CLONE_H
#define HUTCH_NATIVE_CLONE_H

#include <stdint.h>
#include <sys/types.h>

/* Clones a child with these namespaces that does nothing but execute program_fd with socket_fd as
 * its descriptor 3 and an empty environment. The child borrows this process's memory until then
 * (vfork), so it is as cheap and as safe in a large threaded program as in a small one. into_cgroup
 * is a v2 group's directory or negative. Returns the pid, or -1 with errno. */
pid_t clone_and_execute(uint64_t namespaces, int into_cgroup, int program_fd, int socket_fd,
                        int *ret_pidfd);

/* A child in a new user namespace that waits to be killed. Returns the pid, or -1 with errno. */
pid_t clone_namespace_holder(void);

#endif
