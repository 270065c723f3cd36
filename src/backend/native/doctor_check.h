/* SPDX-License-Identifier: Apache-2.0 */
/* What the doctor's checks share. Each check is one function and one row or more of the table in
 * doctor.c. */
#ifndef HUTCH_NATIVE_DOCTOR_CHECK_H
#define HUTCH_NATIVE_DOCTOR_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "hutch/host.h"

struct doctor_row {
    const char *name;
    void (*check)(const struct doctor_row *row, struct hutch_check *check);
    const char *subject; /* what the function is about here: a controller, a program */
    const char *package; /* Debian package that brings it */
    int flag;            /* CLONE_NEW* of a namespace */
};

void doctor_check_kernel(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_calls(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_user_namespace(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_namespace(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_seccomp(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_overlay(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_idmap(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_cgroup_version(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_controller(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_swap(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_map_helper(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_sub_ids(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_loop(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_pool(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_docker(const struct doctor_row *row, struct hutch_check *check);
void doctor_check_program(const struct doctor_row *row, struct hutch_check *check);

/* The verdict: what was found. */
void doctor_ok(struct hutch_check *check, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void doctor_warn(struct hutch_check *check, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void doctor_fail(struct hutch_check *check, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* What mends it. */
void doctor_remedy(struct hutch_check *check, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Where a trial stopped, and why. */
struct doctor_trial {
    int stage; /* the trial's own numbering */
    int error; /* errno; 0 when it went through */
};

/* Runs fn in a throw-away process. fn works on *trial alone and must get along without memory
 * allocation, as after any fork of a threaded process. */
struct doctor_trial doctor_try(void (*fn)(const void *argument, struct doctor_trial *trial),
                               const void *argument);
/* In a throw-away process: makes itself root of new namespaces, CLONE_NEWUSER among them. */
enum { DOCTOR_STAGE_NAMESPACE, DOCTOR_STAGE_MAP, DOCTOR_STAGE_USE };
bool doctor_enter_namespaces(int flags, struct doctor_trial *trial);

/* A kernel setting's value, -1 when it does not exist. */
long doctor_setting(const char *path);
/* Is the program installed? Looks along PATH and where administrators' programs are. */
bool doctor_find_program(const char *name, char *ret_path, size_t size);
/* Does a file have a line in which one of its words, parted by separators, is this word? */
bool doctor_file_has_word(const char *path, const char *word, const char *separators);
bool doctor_is_root(void);

#endif
