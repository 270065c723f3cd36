/* SPDX-License-Identifier: Apache-2.0 */
/* From PID 1 to the command, as a recipe: session, descriptors, limits, identity, capabilities,
 * directory, filter, exec. The child is a vfork: it shares this process's memory until exec, so it
 * reports a failure by writing it down, and it uses bare system calls where the C library would
 * touch state of its own. */
#include "init/init.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>

#include "init/sys.h"
#include "seccomp_filter.h"

#define INIT_PATH_MAX 4096
#define PROGRAM_FD 3

struct child {
    const struct init_spawn *spawn;
    const struct spawn_stdio *stdio;
    char **argv;
    char **envp;
    cpu_set_t processors; /* that both may use, while they are held on one */
    volatile int os_errno;
    volatile uint32_t stage;
};

/* Where processors are free the kernel starts a new process on another one. In a virtual machine it
 * takes longer to wake that than the child has to do until exec, and its parent waits for it
 * meanwhile: so it starts here. */
static void hold_here(struct child *child)
{
    cpu_set_t here;
    int processor = sched_getcpu();
    if (processor < 0 || sched_getaffinity(0, sizeof(here), &child->processors) < 0)
        return;
    CPU_ZERO(&here);
    CPU_SET((size_t)processor, &here);
    (void)sched_setaffinity(0, sizeof(here), &here);
}

/* First of all: only as long as the child has its parent's ids and capabilities may it change its
 * parent's set. An error is that of a set which was never read, and then nobody was held, or that
 * the host has taken all of it away meanwhile, and then the kernel itself has chosen another. */
static void let_go(const struct child *child)
{
    if (!child->spawn->starts_here)
        return;
    syscall(SYS_sched_setaffinity, getppid(), sizeof(child->processors), &child->processors);
    syscall(SYS_sched_setaffinity, 0, sizeof(child->processors), &child->processors);
}

static int enter_session(const struct child *child)
{
    if (setsid() < 0)
        return -1;
    return child->spawn->terminal ? ioctl(child->stdio->fds[0], TIOCSCTTY, 0) : 0;
}

/* A process that writes "0" moves itself. */
static int enter_groups(const struct child *child)
{
    for (uint32_t i = 0; i < child->stdio->group_count; i++)
        if (write(child->stdio->groups[i], "0", 1) != 1)
            return -1;
    return 0;
}

static int place_stdio(const struct child *child)
{
    for (int i = 0; i < 3; i++)
        if (dup2(child->stdio->fds[i], i) < 0)
            return -1;
    if (child->stdio->program < 0)
        return sys_close_from(3);
    return dup3(child->stdio->program, PROGRAM_FD, O_CLOEXEC) < 0 ? -1 : sys_close_from(4);
}

/* An emulated kernel refuses to set limits that it does not have. */
static bool is_as_strict(int which, const struct init_rlimit *wanted)
{
    struct init_rlimit now;
    return syscall(SYS_prlimit64, 0, which, NULL, &now) == 0 && now.hard <= wanted->hard &&
           now.soft <= wanted->soft;
}

static int apply_rlimits(const struct child *child)
{
    const struct init_rlimit *wanted = child->spawn->rlimits;
    for (int i = 0; i < INIT_RLIMITS; i++)
        if (syscall(SYS_prlimit64, 0, i, &wanted[i], NULL) < 0 && !is_as_strict(i, &wanted[i]))
            return -1;
    const struct init_rlimit mark = {child->stdio->mark, child->stdio->mark};
    if (child->stdio->mark && syscall(SYS_prlimit64, 0, RLIMIT_DATA, &mark, NULL) < 0)
        return -1;
    return child->spawn->nice ? setpriority(PRIO_PROCESS, 0, child->spawn->nice) : 0;
}

static int become_user(const struct child *child)
{
    const struct init_spawn *spawn = child->spawn;
    if (spawn->set_groups && syscall(SYS_setgroups, 0, NULL) < 0)
        return -1;
    if (syscall(SYS_setresgid, spawn->gid, spawn->gid, spawn->gid) < 0)
        return -1;
    return (int)syscall(SYS_setresuid, spawn->uid, spawn->uid, spawn->uid);
}

static int set_capabilities(uint32_t kept)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {
        {.effective = kept, .permitted = kept, .inheritable = kept}};
    return (int)syscall(SYS_capset, &header, sets);
}

/* What copies files of any owner. A workspace need not have a number for the sandbox's root: there
 * the copy has to become the directory's owner to make any. */
static const int file_capabilities[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_SETUID,
                                        CAP_SETGID};

static int keep_file_capabilities(void)
{
    uint32_t kept = 0;
    for (size_t i = 0; i < sizeof(file_capabilities) / sizeof(file_capabilities[0]); i++)
        kept |= 1u << file_capabilities[i];
    if (set_capabilities(kept) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(file_capabilities) / sizeof(file_capabilities[0]); i++)
        if (syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, file_capabilities[i], 0, 0) <
            0)
            return -1;
    return 0;
}

static int drop_capabilities(const struct child *child)
{
    if (syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 &&
        errno != EINVAL) /* an emulated kernel has no such capabilities */
        return -1;
    return child->spawn->keeps_files ? keep_file_capabilities() : set_capabilities(0);
}

static int enter_workdir(const struct child *child)
{
    return chdir(blob_at(child->spawn, child->spawn->workdir));
}

static int install_filter(void)
{
    struct sock_fprog program = {.len = HUTCH_SECCOMP_FILTER_LENGTH,
                                 .filter = (struct sock_filter *)(uintptr_t)hutch_seccomp_filter};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* Where the host pipes core dumps into a program (systemd-coredump, apport), the kernel ignores a
 * limit of 0 and stops only at exactly 1 byte. There that is the limit, and it is pinned: asking
 * for another one succeeds and changes nothing, so that programs which want no dumps (gpg,
 * ssh-agent) are content. */
static int pin_core_limit(void)
{
#define ARGUMENT(n) ((uint32_t)(offsetof(struct seccomp_data, args) + (n) * sizeof(uint64_t)))
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setrlimit, 7, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 9),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(1)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CORE, 0, 7),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 ARGUMENT(2)), /* both halves of the pointer: a query has none */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(2) + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(0)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CORE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
#undef ARGUMENT
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* As a shell looks: each directory of PATH in turn; "found but not allowed" is remembered over "not
 * there". */
static void search_and_exec(const struct child *child)
{
    const char *name = child->argv[0];
    const char *search = blob_at(child->spawn, child->spawn->search);
    int remembered = ENOENT;
    if (child->stdio->program >= 0) {
        syscall(SYS_execveat, PROGRAM_FD, "", child->argv, child->envp, AT_EMPTY_PATH);
        /* an emulated kernel wants to read what it executes */
        if (errno == EACCES && fchmod(PROGRAM_FD, 0555) == 0)
            syscall(SYS_execveat, PROGRAM_FD, "", child->argv, child->envp, AT_EMPTY_PATH);
        return;
    }
    if (strchr(name, '/')) {
        execve(name, child->argv, child->envp);
        return;
    }
    size_t name_length = strlen(name);
    while (search && *search) {
        char path[INIT_PATH_MAX];
        size_t length = strcspn(search, ":");
        if (length && length + name_length + 2 <= sizeof(path)) {
            memcpy(path, search, length);
            path[length] = '/';
            memcpy(path + length + 1, name, name_length + 1);
            execve(path, child->argv, child->envp);
            if (errno != ENOENT && errno != ENOTDIR)
                remembered = errno;
        }
        search += length + (search[length] == ':');
    }
    errno = remembered;
}

/* Compiling the filter takes the kernel longer than all the rest of a start. A sandbox that starts
 * many commands installs it once, in PID 1, whose children have it from their birth; PID 1 itself
 * needs nothing any more that it refuses. */
int spawn_confine(const struct init_spawn *spawn)
{
    if (syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    if (spawn->pin_core_limit &&
        (syscall(SYS_prlimit64, 0, RLIMIT_CORE, &spawn->rlimits[RLIMIT_CORE], NULL) < 0 ||
         pin_core_limit() < 0))
        return -1;
    return install_filter();
}

static int unblock_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The order matters: what needs PID 1's privilege first, the directory with the user's own rights,
 * the filter last. */
static _Noreturn void child_main(struct child *child)
{
    let_go(child);
    if (child->stage = INIT_STAGE_SESSION, enter_session(child) < 0)
        goto failed;
    if (child->stage = INIT_STAGE_CGROUP, enter_groups(child) < 0)
        goto failed;
    if (child->stage = INIT_STAGE_STDIO, place_stdio(child) < 0)
        goto failed;
    if (child->stage = INIT_STAGE_RLIMITS, apply_rlimits(child) < 0)
        goto failed;
    if (child->stage = INIT_STAGE_CREDENTIALS, become_user(child) < 0)
        goto failed;
    if (child->stage = INIT_STAGE_CAPABILITIES, drop_capabilities(child) < 0)
        goto failed;
    if (child->stage = INIT_STAGE_WORKDIR, enter_workdir(child) < 0)
        goto failed;
    if (child->stage = INIT_STAGE_SECCOMP, unblock_signals() < 0)
        goto failed;
    if (!child->stdio->is_confined && spawn_confine(child->spawn) < 0)
        goto failed;
    child->stage = INIT_STAGE_EXEC;
    search_and_exec(child);
failed:
    child->os_errno = errno;
    _exit(125);
}

/* Offsets become pointers where they are: the blob is this process's own. */
static char **string_vector(const void *blob, uint32_t offset)
{
    char *base = (char *)(uintptr_t)blob;
    char **vector = (char **)(void *)(base + offset);
    _Static_assert(sizeof(*vector) == sizeof(uint64_t), "a pointer fits where its offset was");
    for (size_t i = 0; vector[i]; i++)
        vector[i] = base + (uintptr_t)vector[i];
    return vector;
}

/* Without the C library's printf, which would be a fifth of hutch-init: every start copies that. */
static int open_pts(unsigned number, int flags)
{
    char name[] = "/dev/pts/\0........."; /* room for every number */
    size_t end = strlen(name);
    for (unsigned rest = number; rest >= 10; rest /= 10)
        end++;
    name[end + 1] = '\0';
    do
        name[end--] = (char)('0' + number % 10);
    while (number /= 10);
    return open(name, flags);
}

/* Its other side by descriptor; by its name where the kernel is one that is emulated. */
static int open_slave(int master)
{
    const int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
    unsigned number;
    int slave = ioctl(master, TIOCGPTPEER, flags);
    if (slave >= 0 || (errno != ENOTTY && errno != EINVAL) || ioctl(master, TIOCGPTN, &number) < 0)
        return slave;
    return open_pts(number, flags);
}

static int open_master(void)
{
    const int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
    int master = open("/dev/pts/ptmx", flags);
    /* a devpts that an engine has mounted may leave this to the older name */
    return master >= 0 ? master : open("/dev/ptmx", flags);
}

/* A terminal of the sandbox's own devpts, so that its name exists inside. It belongs to the user
 * who gets it. */
static int open_terminal(const struct init_spawn *spawn, struct spawn_stdio *stdio)
{
    struct winsize size = {.ws_row = spawn->rows, .ws_col = spawn->columns};
    int unlocked = 0;
    int master = open_master();
    if (master < 0)
        return -1;
    int slave = ioctl(master, TIOCSPTLCK, &unlocked) < 0 ? -1 : open_slave(master);
    if (slave < 0 || ioctl(slave, TIOCSWINSZ, &size) < 0 ||
        fchown(slave, spawn->uid, (gid_t)-1) < 0) {
        int os_errno = errno;
        if (slave >= 0)
            close(slave);
        close(master);
        errno = os_errno;
        return -1;
    }
    stdio->terminal = master;
    stdio->fds[0] = stdio->fds[1] = stdio->fds[2] = slave;
    return 0;
}

pid_t spawn_command(const struct init_spawn *spawn, struct spawn_stdio *stdio,
                    struct failure *failure)
{
    if (spawn->terminal && open_terminal(spawn, stdio) < 0) {
        failure->stage = INIT_STAGE_TERMINAL;
        return -1;
    }
    struct child child = {
        .spawn = spawn,
        .stdio = stdio,
        .argv = string_vector(spawn, spawn->argv),
        .envp = string_vector(spawn, spawn->envp),
        .stage = INIT_STAGE_FORK,
    };
    if (spawn->starts_here)
        hold_here(&child);
    pid_t pid = vfork();
    if (pid == 0)
        child_main(&child);
    if (pid > 0 && !child.os_errno)
        return pid;
    failure->stage = child.stage;
    errno = pid < 0 ? errno : child.os_errno;
    return -1;
}
