/* SPDX-License-Identifier: Apache-2.0 */
/* surface: what of the kernel a program in a sandbox can reach, tried from inside.
 *
 * Each attempt runs in a child of its own, as a workload would make it: with bare system calls.
 * Where the filter has to refuse, the arguments are such that the kernel itself would answer with
 * something else, whoever asks: the expected errno then proves that the filter was there, and the
 * call is harmless where it was not. No argument here may do damage on a machine without any
 * sandbox, as root: the control run makes all attempts of the filter there. */
#ifndef HUTCH_TESTS_SURFACE_H
#define HUTCH_TESTS_SURFACE_H

#include <stdbool.h>
#include <stddef.h>

enum surface_layer {
    SURFACE_FILTER, /* the seccomp filter refuses it, whatever else is there */
    SURFACE_SANDBOX /* refused by capabilities, namespaces or limits: only tried in a sandbox */
};

/* In place of an expected errno. */
enum {
    SURFACE_ANY_ERROR = 0,
    SURFACE_KILLED = -1 /* by SIGSYS */
};

struct surface_attempt {
    const char *name;
    enum surface_layer layer;
    int expected;
    int or_expected; /* a second errno that will do; 0: none */
    /* What is tried: a function that returns as syscall() does, or, without one, this call. */
    long (*run)(const struct surface_attempt *attempt);
    long number;
    unsigned long args[6];
    const char *path; /* for functions that take one */
};

struct surface;

/* The attempt must be refused. */
void surface_denied(struct surface *surface, const struct surface_attempt *attempt);

/* The same twice: as it is, and with noise in the upper half of the arguments in the bit set, which
 * the kernel ignores. */
void surface_denied_dirty(struct surface *surface, const struct surface_attempt *attempt,
                          unsigned dirty_args);

/* The check must hold. */
void surface_works(struct surface *surface, const char *name, bool (*check)(void));

/* Puts noise above the low 32 bits. */
unsigned long surface_dirty(unsigned long value);

/* One per topic. */
void surface_syscalls(struct surface *surface);
void surface_arguments(struct surface *surface);
void surface_modes(struct surface *surface);
void surface_sockets(struct surface *surface);
void surface_abi(struct surface *surface);
void surface_posture(struct surface *surface);
void surface_ordinary(struct surface *surface);
void surface_ordinary_files(struct surface *surface);

#define SURFACE_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
