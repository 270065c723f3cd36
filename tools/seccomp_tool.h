/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of gen_seccomp: the policy with its names resolved, the assembler that makes a BPF
 * program of it, and the proof that the program does what the policy says. */
#ifndef HUTCH_TOOLS_SECCOMP_TOOL_H
#define HUTCH_TOOLS_SECCOMP_TOOL_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hutch_seccomp_rule;

enum {
    SECCOMP_CALLS_MAX = 1024,        /* no number of ours is as high */
    SECCOMP_LENGTH_MAX = 4096,       /* BPF_MAXINSNS */
    SECCOMP_X32_BIT = 0x40000000,    /* in a call's number, marks x32's */
    SECCOMP_RULES_OF_A_CALL_MAX = 32 /* no list of rules is as long */
};

struct seccomp_policy {
    uint32_t arch; /* AUDIT_ARCH_… */
    bool has_x32;
    const struct hutch_seccomp_rule *rules[SECCOMP_CALLS_MAX]; /* by number, never NULL */
};

struct seccomp_program {
    struct sock_filter code[SECCOMP_LENGTH_MAX];
    size_t length;
};

/* What the kernel has to answer for an action of the policy. */
uint32_t seccomp_return_value(int action);

/* Returns false when the program would not fit. */
bool seccomp_assemble(const struct seccomp_policy *policy, struct seccomp_program *ret_program);

/* Runs the program over every call, and over many arguments where they matter, and compares its
 * answers with the policy's. Says on stderr where they differ. */
bool seccomp_prove(const struct seccomp_policy *policy, const struct seccomp_program *program);

#endif
