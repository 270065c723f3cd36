/* SPDX-License-Identifier: Apache-2.0 */
/* The other ways into the kernel: x32 and i386 numbers, and noise around the number itself. */
#include "surface.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)

enum { X32_BIT = 0x40000000 };

struct named_call {
    const char *name;
    long number;
};

/* Wrong arguments all of them: the number alone has to be enough. */
static void x32(struct surface *surface)
{
    static const struct named_call calls[] = {
        {"read", SYS_read},        {"getpid", SYS_getpid},  {"mount", SYS_mount},
        {"ptrace", SYS_ptrace},    {"bpf", SYS_bpf},        {"clone", SYS_clone},
        {"keyctl", SYS_keyctl},    {"socket", SYS_socket},  {"io_uring_setup", SYS_io_uring_setup},
        {"own rt_sigaction", 512}, {"own ioctl", 514},      {"own execve", 520},
        {"own ptrace", 521},       {"own kexec_load", 528}, {"own process_vm_readv", 539},
        {"own vmsplice", 532},     {"own execveat", 545},   {"number 1000", 1000}};
    char name[64];
    for (size_t i = 0; i < SURFACE_COUNT(calls); i++) {
        (void)snprintf(name, sizeof(name), "x32 %s", calls[i].name);
        surface_denied(surface, &(struct surface_attempt){.name = name,
                                                          .expected = SURFACE_KILLED,
                                                          .number = calls[i].number | X32_BIT,
                                                          .args = {~0UL, 1, 1, 1, 1, 1}});
    }
}

/* -1 and 4095 small negative values are how i386 says that a call failed. */
static long try_int80(const struct surface_attempt *attempt)
{
    long result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(attempt->number), "b"(attempt->args[0]), "c"(1UL), "d"(1UL), "S"(1UL),
                       "D"(1UL)
                     : "memory", "r8", "r9", "r10", "r11");
    int status = (int)result;
    if (status < 0 && status > -4096) {
        errno = -status;
        return -1;
    }
    return status;
}

/* By i386 numbers. */
static void int80(struct surface *surface)
{
    static const struct named_call calls[] = {{"getpid", 20},         {"mount", 21},
                                              {"ptrace", 26},         {"socketcall", 102},
                                              {"clone", 120},         {"init_module", 128},
                                              {"personality", 136},   {"modify_ldt", 123},
                                              {"unshare", 310},       {"process_vm_readv", 347},
                                              {"bpf", 357},           {"socket", 359},
                                              {"io_uring_setup", 425}};
    char name[64];
    for (size_t i = 0; i < SURFACE_COUNT(calls); i++) {
        (void)snprintf(name, sizeof(name), "int80 %s", calls[i].name);
        surface_denied(surface, &(struct surface_attempt){.name = name,
                                                          .expected = SURFACE_KILLED,
                                                          .run = try_int80,
                                                          .number = calls[i].number,
                                                          .args = {0xffffffff}});
    }
}

/* Kernels before 5.13 did not know such a number (ENOSYS), later ones do not see the noise. */
static void dirty_numbers(struct surface *surface)
{
    static const struct surface_attempt attempts[] = {
        {.name = "mount dirty number",
         .expected = EPERM,
         .number = SYS_mount | 1L << 32,
         .args = {0, 1, 0, 0, 0}},
        {.name = "ptrace dirty number",
         .expected = EPERM,
         .number = SYS_ptrace | 0x7eadbeefL << 32,
         .args = {0xffffffff, 0x7fffffff}},
        {.name = "unshare dirty number",
         .expected = EPERM,
         .number = SYS_unshare | 1L << 40,
         .args = {1}},
    };
    for (size_t i = 0; i < SURFACE_COUNT(attempts); i++)
        surface_denied(surface, &attempts[i]);
}

void surface_abi(struct surface *surface)
{
    x32(surface);
    int80(surface);
    dirty_numbers(surface);
}

#else

void surface_abi(struct surface *surface)
{
    (void)surface;
}

#endif
