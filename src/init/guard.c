/* SPDX-License-Identifier: Apache-2.0 */
/* Commands without a cgroup, told apart by their ancestors.
 *
 * Where an ordinary user has no cgroups, a command of a sandbox that stays is started by a guard: a
 * child of PID 1 that is a subreaper. Whatever the command does (fork twice, setsid), each of its
 * processes stays below its guard, and when the guard has no child left, nothing of the command is.
 * So every process of the sandbox is below the guard of its command. The command may have the
 * guard's own uid and kill it: then its processes become PID 1's, which has no children but guards
 * and kills them all.
 *
 * An emulated kernel (gVisor) may know no subreapers: there an orphan falls to PID 1, whoever its
 * guard was. So every process of a command has a mark that fork, setsid and exec hand on and that
 * nobody takes for something else: its limit on data, beyond all memory there is, less the
 * command's number. Orphans are told apart by it. A process may lower it; one whose mark is no
 * command's goes with the next command that is killed.
 *
 * To end a command its processes are first stopped, until no more appear, then killed: who is
 * stopped does not fork. The limit on processes, which counts the stopped ones, bounds the race. */
#include "init/init.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "init/sys.h"

#define STOP_ROUNDS 50
#define MARK_BASE (UINT64_C(1) << 62)

struct process {
    pid_t pid;
    pid_t parent;
    char state;
};

struct processes {
    struct process *items; /* in the order of their numbers */
    size_t count;
};

/* ---- the guard ------------------------------------------------------------------------------- */

struct session *sessions_map(void)
{
    void *table = mmap(NULL, INIT_MAX_SESSIONS * sizeof(struct session), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return table == MAP_FAILED ? NULL : table;
}

static uint64_t mark_for(uint32_t number);

static int tell_start(struct session *session, const struct spawn_stdio *stdio, uint64_t time_us)
{
    struct init_message message = {.type = INIT_SPAWNED,
                                   .time_us = time_us,
                                   .session = session->number,
                                   .value = session->leader};
    return message_send(&message, &stdio->terminal, stdio->terminal >= 0 ? 1 : 0);
}

/* Until nothing is left of the command. */
static void watch(struct session *session)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR) {
        if (pid <= 0 || pid != session->leader)
            continue;
        struct init_message message = {
            .type = INIT_EXITED, .value = status, .session = session->number};
        session->leader = 0;
        session->reported = true;
        if (message_send(&message, NULL, 0) < 0)
            return;
    }
}

pid_t guard_start(struct session *session, const struct init_spawn *spawn,
                  struct spawn_stdio *stdio, uint64_t time_us)
{
    struct failure failure = {.stage = INIT_STAGE_FORK, .session = session->number};
    pid_t guard = fork();
    if (guard != 0)
        return guard;
    bool is_subreaper = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
    if (is_subreaper || errno == EINVAL) {
        session->is_marked = !is_subreaper;
        stdio->mark = is_subreaper ? 0 : mark_for(session->number);
        pid_t leader = spawn_command(spawn, stdio, &failure);
        session->leader = leader > 0 ? leader : 0;
    }
    session->reported = !session->leader;
    int status = session->leader ? tell_start(session, stdio, time_us) : failure_send(&failure);
    (void)sys_close_from(INIT_SOCKET_FD + 1);
    if (status == 0)
        watch(session);
    _exit(0);
}

/* ---- finding a command's processes ------------------------------------------------------------
 */

/* "PID (any name) STATE PARENT ...": the name may hold anything. */
static bool read_process(int proc, const char *name, struct process *ret_process)
{
    static const char file[] = "/stat";
    char path[32], text[512];
    size_t digits = strlen(name);
    if (digits + sizeof(file) > sizeof(path))
        return false;
    memcpy(path, name, digits);
    memcpy(path + digits, file, sizeof(file));
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    const char *rest = strrchr(text, ')');
    if (!rest || strlen(rest) < 5)
        return false;
    *ret_process =
        (struct process){(pid_t)strtol(name, NULL, 10), (pid_t)strtol(rest + 4, NULL, 10), rest[2]};
    return true;
}

static int by_number(const void *a, const void *b)
{
    pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;
    return (x > y) - (x < y);
}

static int list_processes(struct processes *list)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    size_t room = 0;
    *list = (struct processes){0};
    if (!proc)
        return -1;
    while ((entry = readdir(proc))) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        if (list->count == room) {
            room = room ? room * 2 : 64;
            struct process *more = realloc(list->items, room * sizeof(*more));
            if (!more)
                break;
            list->items = more;
        }
        list->count += read_process(dirfd(proc), entry->d_name, &list->items[list->count]);
    }
    closedir(proc);
    qsort(list->items, list->count, sizeof(*list->items), by_number);
    return 0;
}

/* The child of this process that it descends from; 0 when there is none, or its line ends in one
 * who is gone by now. */
static pid_t top_of(const struct processes *list, const struct process *process)
{
    pid_t self = getpid(); /* 1, but in a container whose engine has put a PID 1 of its own there */
    for (size_t steps = 0; process && steps <= list->count; steps++) {
        if (process->parent == self)
            return process->pid;
        struct process key = {.pid = process->parent};
        process = bsearch(&key, list->items, list->count, sizeof(key), by_number);
    }
    return 0;
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* Below any number that a limit on data has by itself, or below the limit that there is. */
static uint64_t mark_base(void)
{
    struct init_rlimit now = {0, MARK_BASE};
    (void)syscall(SYS_prlimit64, 0, RLIMIT_DATA, NULL, &now);
    return now.hard < MARK_BASE ? now.hard : MARK_BASE;
}

static uint64_t mark_for(uint32_t number)
{
    return mark_base() - number;
}

/* The command that this process says it is of. */
static uint64_t number_of(pid_t pid)
{
    struct init_rlimit now;
    return syscall(SYS_prlimit64, pid, RLIMIT_DATA, NULL, &now) < 0 ? 0 : mark_base() - now.hard;
}

/* Whoever has changed its mark to one that is nobody's is everybody's. */
static bool is_marked_so(const struct session *table, size_t limit, const struct session *session,
                         pid_t pid)
{
    uint64_t number = number_of(pid);
    for (size_t i = 0; i < limit && number != session->number; i++)
        if (table[i].pid && table[i].number == number)
            return false;
    return true;
}

/* ---- killing --------------------------------------------------------------------------------- */

/* top: the child of this process that it descends from. */
static bool is_meant(const struct session *table, size_t limit, const struct session *session,
                     const struct process *process, pid_t top)
{
    if (!top || process->state == 'Z' || process->state == 'X')
        return false;
    if (!session->is_lost && top == session->pid)
        return process->pid != top;
    for (size_t i = 0; i < limit; i++)
        if (table[i].pid == top && !table[i].is_lost)
            return false; /* another's */
    return session->is_marked ? is_marked_so(table, limit, session, process->pid)
                              : session->is_lost;
}

/* Returns how many it met that were neither stopped nor dead. */
static size_t signal_all(const struct session *table, size_t limit, const struct session *session,
                         int number, size_t *ret_seen)
{
    struct processes list;
    size_t awake = 0;
    *ret_seen = 0;
    if (list_processes(&list) < 0)
        return 0;
    for (size_t i = 0; i < list.count; i++) {
        const struct process *process = &list.items[i];
        if (!is_meant(table, limit, session, process, top_of(&list, process)))
            continue;
        ++*ret_seen;
        awake += process->state != 'T' && process->state != 't';
        (void)kill(process->pid, number);
    }
    free(list.items);
    return awake;
}

size_t guard_kill(const struct session *table, size_t limit, const struct session *session)
{
    size_t seen;
    for (int i = 0; i < STOP_ROUNDS; i++)
        if (!signal_all(table, limit, session, SIGSTOP, &seen))
            break;
    (void)signal_all(table, limit, session, SIGKILL, &seen);
    if (!session->is_lost)
        (void)kill(session->pid, SIGCONT); /* the command may have stopped it */
    return seen;
}

bool guard_has_left(const struct session *session)
{
    struct processes list;
    bool found = false;
    if (list_processes(&list) < 0)
        return false;
    for (size_t i = 0; i < list.count && !found; i++)
        found = list.items[i].state != 'Z' && number_of(list.items[i].pid) == session->number;
    free(list.items);
    return found;
}

void guard_kill_all(void)
{
    const struct session everybody = {.is_lost = true};
    size_t seen = 1;
    for (int i = 0; i < STOP_ROUNDS && seen; i++)
        (void)signal_all(NULL, 0, &everybody, SIGKILL, &seen);
}
