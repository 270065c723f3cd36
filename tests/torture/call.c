/* SPDX-License-Identifier: Apache-2.0 */
/* What must be known of single system calls. */
#include <sys/syscall.h>

#include "torture.h"

static const struct {
    long number;
    const char *name;
} names[] = {
#include "syscall_names.h"
};

#define IS_ONE_OF(number, list) is_one_of(number, list, sizeof(list) / sizeof((list)[0]))

static bool is_one_of(long number, const long *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == number)
            return true;
    return false;
}

const char *call_name(long number)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].number == number)
            return names[i].name;
    return "?";
}

/* These have no failure, by their manual pages; or none but for arguments that are wrong, such as
 * waiting for or signalling a process that is not one's own child. */
bool call_can_fail(long number)
{
    static const long never[] = {
        SYS_getpid,          SYS_getppid,         SYS_gettid,         SYS_getuid, SYS_geteuid,
        SYS_getgid,          SYS_getegid,         SYS_umask,          SYS_exit,   SYS_exit_group,
        SYS_rt_sigreturn,    SYS_restart_syscall, SYS_rt_sigprocmask, SYS_munmap, SYS_rt_sigaction,
        SYS_set_tid_address, SYS_uname,           SYS_wait4,          SYS_kill,
    };
    return !IS_ONE_OF(number, never);
}

/* By a signal, while it waits. */
bool call_can_be_interrupted(long number)
{
    static const long slow[] = {
        SYS_read,    SYS_write,  SYS_poll,     SYS_ppoll, SYS_recvmsg,
        SYS_sendmsg, SYS_sendto, SYS_sendfile, SYS_wait4,
    };
    return IS_ONE_OF(number, slow);
}

bool call_acts_anyway(long number)
{
    return number == SYS_close;
}

bool call_leaves_to_sweep(long number)
{
    static const long removals[] = {
        SYS_rmdir, SYS_unlink, SYS_unlinkat, SYS_umount2, SYS_ioctl, SYS_close, SYS_pwrite64,
    };
    return IS_ONE_OF(number, removals);
}
