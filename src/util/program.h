/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_UTIL_PROGRAM_H
#define HUTCH_UTIL_PROGRAM_H

#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/types.h>

/* The file that we are. Of one that another has replaced since, such as by a newer version, the
 * kernel says so behind its name: what is meant is what has the name now. Returns the last '/',
 * NULL without one. */
const char *hutch_program_own(char ret_path[PATH_MAX]);
/* The hutch program, for what the library has done by it: ourselves if we are hutch, the one that
 * HUTCH_PROGRAM names, or the installed one. Where the complete program runs, it is the small one
 * that belongs to it: a keeper lives long and needs no network library. */
const char *hutch_program_path(char buffer[PATH_MAX]) __attribute__((nonnull));
/* The same when we are hutch, as a name that other processes understand too. */
bool hutch_program_self(char ret_path[PATH_MAX]) __attribute__((nonnull));

/* The complete program, which has the libraries that images and engines take: ourselves, one beside
 * the hutch program or in its libexec. Where there is none that cannot be started: ENOENT. */
const char *hutch_program_complete(char buffer[PATH_MAX]) __attribute__((nonnull));

/* What a program that we start for ourselves gets of our environment: where hutch's directories, an
 * engine and its programs are. Borrowed. */
#define HUTCH_PROGRAM_VARIABLES 24
char **hutch_program_environment(char *place[HUTCH_PROGRAM_VARIABLES]) __attribute__((nonnull));

/* Starts a program that no signal is blocked or ignored for, whatever the caller has made of its
 * own. Returns 0 or the cause. */
int hutch_program_spawn(const char *program, const posix_spawn_file_actions_t *actions,
                        char *const *argv, char *const *environment, pid_t *ret_pid)
    __attribute__((nonnull));

#endif
