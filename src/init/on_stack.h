/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and processes that share their parent's memory while it goes on. What they run makes
 * system calls and nothing else, inline: errno, and whatever else a C library keeps for a thread,
 * is the parent's. */
#ifndef HUTCH_INIT_ON_STACK_H
#define HUTCH_INIT_ON_STACK_H

#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/syscall.h>

/* What they run: a sanitizer keeps notes for a thread, too. */
#define RAW __attribute__((no_sanitize("thread", "address")))

#define ON_STACK_INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__)
ON_STACK_INLINE long raw_syscall(long number, long a, long b, long c, long d, long e)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
}

/* The child begins with this function, on the stack that the arguments name. Returns its number, or
 * minus errno. */
static inline long clone_on_stack(struct clone_args *args, void (*function)(void *), void *argument)
{
    long result;
    register void (*r12)(void *) __asm__("r12") = function;
    register void *r13 __asm__("r13") = argument;
    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xorl %%ebp, %%ebp\n\t"
                     "movq %%r13, %%rdi\n\t"
                     "call *%%r12\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "a"(SYS_clone3), "D"(args), "S"(sizeof(*args)), "r"(r12), "r"(r13)
                     : "rcx", "r11", "memory", "cc");
    return result;
}
#elif defined(__aarch64__)
ON_STACK_INLINE long raw_syscall(long number, long a, long b, long c, long d, long e)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
}

/* As above. */
static inline long clone_on_stack(struct clone_args *args, void (*function)(void *), void *argument)
{
    register long x8 __asm__("x8") = SYS_clone3;
    register long x0 __asm__("x0") = (long)args;
    register long x1 __asm__("x1") = sizeof(*args);
    register void (*x19)(void *) __asm__("x19") = function;
    register void *x20 __asm__("x20") = argument;
    __asm__ volatile("svc 0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x0, x20\n\t"
                     "blr x19\n\t"
                     "brk #1\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x19), "r"(x20)
                     : "memory", "cc");
    return x0;
}
#else
#error "this architecture needs its system call instruction here"
#endif

/* Until the kernel has cleared what was named as the child's tid: it has executed, or ends. */
static inline void await_cleared(unsigned *busy)
{
    while (__atomic_load_n(busy, __ATOMIC_ACQUIRE))
        raw_syscall(SYS_futex, (long)busy, FUTEX_WAIT, 1, 0, 0);
}

#endif
