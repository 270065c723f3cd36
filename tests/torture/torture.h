/* SPDX-License-Identifier: Apache-2.0 */
/* Torture: a run of hutch in which exactly one thing fails, for every such thing.
 *
 * Theory of operation. A campaign is one command line and one class of things that can fail.
 * Attempt number N lets the N-th of them fail and judges what came of it; the campaign is over when
 * there is no N-th any more. System calls fail by ptrace, at the kernel's door: nothing of the
 * program under test is built for the test, every call is covered, those of PID 1 and those made
 * without the C library included, and the tracer sees every process that is left over. Allocations
 * fail by the linker's --wrap in a build of the same sources with AddressSanitizer (alloc.c), which
 * does not work under ptrace; there left-over processes fall to the campaign, which is their
 * subreaper.
 *
 * Each campaign lives in a world of its own (world.c): mount namespace, cgroups, state directory.
 * So what an attempt leaves behind is its own, whatever else runs on the machine.
 *
 * The command inside is posture.c, which prints what protects the world from it. An attempt may end
 * in exactly two ways (judge.c): the whole sandbox, with every protection, or one clear error. */
#ifndef HUTCH_TORTURE_H
#define HUTCH_TORTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* STRAY_FD: a descriptor that hutch's caller left open; nobody inside may have it. */
enum { TEXT_MAX = 65536, ROLE_MAX_PROCESSES = 64, STRAY_FD = 50 };

enum torture_class {
    CLASS_HOST,   /* system calls of hutch itself */
    CLASS_INIT,   /* of PID 1, from its birth until the command takes over */
    CLASS_HELPER, /* of other processes that hutch starts */
    CLASS_ALLOC,  /* allocations of hutch itself */
};

struct campaign {
    const char *name;
    enum torture_class class;
    int os_errno;      /* what the call fails with */
    bool interrupted;  /* EINTR: only calls that may be interrupted, and nothing may come of it */
    bool json;         /* standard output is one JSON object */
    bool fresh;        /* there is no quota pool at the start of an attempt */
    bool terminal;     /* standard input and output are a terminal */
    bool verbose;      /* tell every attempt */
    long first, last;  /* numbers to try */
    uid_t uid;         /* who runs hutch */
    bool delegated;    /* the cgroups belong to that user */
    const char *input; /* file on standard input, NULL: none */
    const char *artifacts;
    char **argv; /* the program under test and its arguments */
};

/* What one attempt did. */
struct attempt {
    long number;
    bool fired;     /* there was an N-th call */
    bool hung;      /* ended by the watchdog */
    bool started;   /* the command inside was executed, or was being so */
    int status;     /* wait status of the program under test */
    int crash;      /* a signal that no program of ours should ever get */
    bool raw;       /* the terminal was left in another mode */
    unsigned left;  /* processes still alive after the program's end */
    long call;      /* number of the system call that was made to fail */
    char what[256]; /* the call in words */
    char out[TEXT_MAX];
    char err[TEXT_MAX];
    char limits[4096]; /* what the kernel enforces around the command */
};

/* trace.c: runs the program and fails its number-th call (0: none). */
void attempt_traced(const struct campaign *campaign, long number, struct attempt *ret_attempt);
/* attempt.c: the same for allocations; and what both share. */
void attempt_plain(const struct campaign *campaign, long number, struct attempt *ret_attempt);

struct stdio {
    int ends[3];  /* the program's 0, 1, 2 */
    int out, err; /* our ends */
    int master;   /* of the terminal; -1: none */
    pid_t drain;  /* keeps a terminal from filling up; 0: none */
};
void stdio_open(const struct campaign *campaign, struct stdio *stdio);
/* In the child: places the descriptors, enters the cgroups, becomes the user, executes. */
_Noreturn void child_execute(const struct campaign *campaign, const struct stdio *stdio);
void stdio_collect(struct stdio *stdio, struct attempt *attempt);
void watchdog_start(void);
bool watchdog_barked(void);
_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* call.c */
const char *call_name(long number);
bool call_can_fail(long number);
bool call_can_be_interrupted(long number);
/* The kernel does it all the same: a descriptor is gone after a close that failed. */
bool call_acts_anyway(long number);
/* Takes something away from the world; when it fails, the next sweep is to do it. */
bool call_leaves_to_sweep(long number);

/* world.c */
void world_make(const struct campaign *campaign);
void world_enter(void);
void world_remember(void);
/* NULL, or what is there that was not. */
const char *world_dirt(void);
void world_limits(pid_t init, pid_t command, char *text, size_t size);
/* Takes the quota pool away, which a sweep has unmounted. */
void world_forget_pool(void);

/* judge.c: NULL, or what is wrong with it. */
const char *judge(const struct campaign *campaign, const struct attempt *normal,
                  const struct attempt *attempt);

#endif
