/* SPDX-License-Identifier: Apache-2.0 */
/* posture [NAME=ID]...: prints the exact state of a process in a sandbox, one fact a line, the same
 * on every host and in every run. The arguments are the host's namespaces as /proc/self/ns shows
 * them ("mnt=mnt:[4026531841]"): only with them can it be told whether one is the sandbox's own. */
#ifndef HUTCH_TESTS_POSTURE_H
#define HUTCH_TESTS_POSTURE_H

#include <stddef.h>

#define POSTURE_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* One per topic. */
void posture_identity(void);
void posture_process(void);
void posture_limits(void);
void posture_namespaces(int argc, char **argv);
void posture_files(void);
void posture_mounts(void);

/* Calls fn for every line of a file, without its newline. */
void posture_each_line(const char *path, void (*fn)(char *line, void *userdata), void *userdata);

#endif
