/* SPDX-License-Identifier: Apache-2.0 */
/* What must go on working: processes, threads, events, sockets, IPC. */
#include "surface.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *set_flag(void *flag)
{
    *(bool *)flag = true;
    return NULL;
}

static bool threads(void)
{
    pthread_t thread;
    bool ran = false;
    return pthread_create(&thread, NULL, set_flag, &ran) == 0 && pthread_join(thread, NULL) == 0 &&
           ran;
}

static bool exits_with(pid_t pid, int code)
{
    int status = 0;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == code;
}

static bool fork_and_wait(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    return exits_with(pid, 7);
}

static bool clone_with_noise(void)
{
    long pid = syscall(SYS_clone, surface_dirty(SIGCHLD), 0, 0, 0, 0);
    if (pid == 0)
        _exit(7);
    return exits_with((pid_t)pid, 7);
}

/* Itself, with an argument it does not know. */
static bool spawn(void)
{
    pid_t pid = -1;
    char *argv[] = {(char[]){"surface"}, (char[]){"--help"}, NULL};
    char *envp[] = {NULL};
    posix_spawn_file_actions_t actions;
    bool ready = posix_spawn_file_actions_init(&actions) == 0 &&
                 posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) == 0;
    return ready && posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, envp) == 0 &&
           exits_with(pid, 2);
}

static bool transfers(int from, int to)
{
    char byte = 0;
    return write(from, "x", 1) == 1 && read(to, &byte, 1) == 1 && byte == 'x';
}

static bool is_open(int fd)
{
    return fd >= 0;
}

static bool pipes(void)
{
    int fds[2];
    return pipe2(fds, O_CLOEXEC) == 0 && transfers(fds[1], fds[0]);
}

static bool signals(void)
{
    sigset_t set;
    struct signalfd_siginfo info;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    return fd >= 0 && kill(getpid(), SIGUSR1) == 0 &&
           read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) && info.ssi_signo == SIGUSR1;
}

static bool pidfds(void)
{
    struct pollfd ready = {.events = POLLIN};
    pid_t pid = fork();
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    ready.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    return ready.fd >= 0 && syscall(SYS_pidfd_send_signal, ready.fd, SIGKILL, NULL, 0) == 0 &&
           poll(&ready, 1, 5000) == 1 && waitpid(pid, NULL, 0) == pid;
}

static bool timers(void)
{
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    uint64_t expirations = 0;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    return fd >= 0 && timerfd_settime(fd, 0, &soon, NULL) == 0 &&
           read(fd, &expirations, sizeof(expirations)) == (ssize_t)sizeof(expirations);
}

static bool posix_timers(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    return timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_delete(timer) == 0;
}

static bool events(void)
{
    struct timespec at_once = {0};
    struct epoll_event event = {.events = EPOLLIN};
    int fd = eventfd(1, EFD_CLOEXEC);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    return fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 &&
           epoll_wait(epoll, &event, 1, 1000) == 1 &&
           syscall(SYS_epoll_pwait2, epoll, &event, 1, &at_once, NULL, 0) == 1;
}

static bool unix_sockets(void)
{
    int fds[2];
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0 &&
           transfers(fds[0], fds[1]) && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) == 0 &&
           transfers(fds[0], fds[1]) && socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) == 0 &&
           transfers(fds[0], fds[1]) && is_open(socket(AF_UNIX, SOCK_DGRAM, 0));
}

static bool socket_with_noise(void)
{
    return syscall(SYS_socket, surface_dirty(AF_UNIX), surface_dirty(SOCK_STREAM),
                   surface_dirty(0)) >= 0;
}

static bool tcp_over_loopback(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
    if (bind(server, (struct sockaddr *)&address, length) < 0 || listen(server, 1) < 0 ||
        getsockname(server, (struct sockaddr *)&address, &length) < 0 ||
        connect(client, (struct sockaddr *)&address, length) < 0)
        return false;
    int peer = accept4(server, (struct sockaddr *)&address, &length, SOCK_CLOEXEC);
    return peer >= 0 && transfers(client, peer) && transfers(peer, client);
}

/* A kernel without IPv6 has no such family. */
static bool internet_sockets(void)
{
    return is_open(socket(AF_INET, SOCK_DGRAM, 0)) &&
           is_open(socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP)) &&
           (is_open(socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP)) ||
            access("/proc/net/if_inet6", F_OK) != 0);
}

static bool interfaces(void)
{
    struct ifaddrs *list = NULL;
    return getifaddrs(&list) == 0;
}

static bool system_v_ipc(void)
{
    int shm = shmget(IPC_PRIVATE, 4096, 0600);
    int sem = semget(IPC_PRIVATE, 1, 0600);
    int msg = msgget(IPC_PRIVATE, 0600);
    bool made = shm >= 0 && sem >= 0 && msg >= 0;
    return shmctl(shm, IPC_RMID, NULL) == 0 && semctl(sem, 0, IPC_RMID) == 0 &&
           msgctl(msg, IPC_RMID, NULL) == 0 && made;
}

static bool message_queues(void)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "/hutch-surface-%ld", (long)getpid());
    mqd_t queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, NULL);
    return queue != (mqd_t)-1 && mq_unlink(name) == 0;
}

static bool ordinary_scheduling(void)
{
    struct sched_param parameter = {.sched_priority = 0};
    cpu_set_t cpus;
    return sched_setscheduler(0, SCHED_BATCH, &parameter) == 0 &&
           sched_setscheduler(0, SCHED_OTHER, &parameter) == 0 &&
           sched_setscheduler(0, SCHED_IDLE | SCHED_RESET_ON_FORK, &parameter) == 0 &&
           sched_getaffinity(0, sizeof(cpus), &cpus) == 0 &&
           sched_setaffinity(0, sizeof(cpus), &cpus) == 0;
}

static bool personality_query(void)
{
    return personality(0xffffffff) >= 0 && syscall(SYS_personality, surface_dirty(PER_LINUX)) >= 0;
}

static bool further_confinement(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = 1, .filter = &allow};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static bool machine(void)
{
    struct utsname names;
    char byte;
    return uname(&names) == 0 && getrandom(&byte, 1, 0) == 1 &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) >= 0 && sched_yield() == 0;
}

static bool no_such_call(void)
{
    return syscall(-1L) == -1 && errno == ENOSYS && syscall(9999L) == -1 && errno == ENOSYS;
}

void surface_ordinary(struct surface *surface)
{
    surface_works(surface, "threads", threads);
    surface_works(surface, "fork", fork_and_wait);
    surface_works(surface, "clone with noise", clone_with_noise);
    surface_works(surface, "posix_spawn", spawn);
    surface_works(surface, "pipe", pipes);
    surface_works(surface, "signalfd", signals);
    surface_works(surface, "pidfd", pidfds);
    surface_works(surface, "timerfd", timers);
    surface_works(surface, "posix timer", posix_timers);
    surface_works(surface, "epoll and eventfd", events);
    surface_works(surface, "unix sockets", unix_sockets);
    surface_works(surface, "socket with noise", socket_with_noise);
    surface_works(surface, "tcp over loopback", tcp_over_loopback);
    surface_works(surface, "internet sockets", internet_sockets);
    surface_works(surface, "network interfaces", interfaces);
    surface_works(surface, "system v ipc", system_v_ipc);
    surface_works(surface, "message queue", message_queues);
    surface_works(surface, "ordinary scheduling", ordinary_scheduling);
    surface_works(surface, "personality query", personality_query);
    surface_works(surface, "further seccomp filter", further_confinement);
    surface_works(surface, "uname, random, membarrier", machine);
    surface_works(surface, "a call that does not exist", no_such_call);
}
