/* SPDX-License-Identifier: Apache-2.0 */
/* apply_filter COMMAND ARG…: runs the command under the sandbox's seccomp filter and nothing else,
 * so that what the filter does alone can be seen. */
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seccomp_filter.h"

_Static_assert(sizeof(hutch_seccomp_filter) / sizeof(hutch_seccomp_filter[0]) ==
                   HUTCH_SECCOMP_FILTER_LENGTH,
               "the generated length is not the filter's");

int main(int argc, char **argv)
{
    struct sock_filter filter[HUTCH_SECCOMP_FILTER_LENGTH];
    struct sock_fprog program = {.len = HUTCH_SECCOMP_FILTER_LENGTH, .filter = filter};
    memcpy(filter, hutch_seccomp_filter, sizeof(filter));
    if (argc < 2) {
        (void)fprintf(stderr, "usage: apply_filter COMMAND ARG...\n");
        return 125;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) {
        perror("apply_filter: cannot install the filter");
        return 125;
    }
    (void)execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
