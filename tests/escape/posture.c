/* SPDX-License-Identifier: Apache-2.0 */
#include "posture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void posture_each_line(const char *path, void (*fn)(char *line, void *userdata), void *userdata)
{
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (!file) {
        (void)printf("%s: %s\n", path, strerror(errno));
        return;
    }
    while (getline(&line, &size, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        fn(line, userdata);
    }
    free(line);
    (void)fclose(file);
}

/* --- who ------------------------------------------------------------------------------------- */

/* "0 1879048192 65536": where the range lies on the host differs from run to run. */
static void print_map(char *line, void *userdata)
{
    unsigned long inside = 0, outside = 0, count = 0;
    (void)sscanf(line, "%lu %lu %lu", &inside, &outside, &count);
    (void)printf("%s: %lu ids from %lu on, on the host %s root\n", (const char *)userdata, count,
                 inside, outside == 0 ? "with" : "without");
}

void posture_identity(void)
{
    unsigned ids[3];
    gid_t groups[64];
    int count = getgroups(64, groups);
    (void)getresuid(&ids[0], &ids[1], &ids[2]);
    (void)printf("uids: %u %u %u\n", ids[0], ids[1], ids[2]);
    (void)getresgid(&ids[0], &ids[1], &ids[2]);
    (void)printf("gids: %u %u %u\n", ids[0], ids[1], ids[2]);
    (void)printf("supplementary groups: %d\n", count);
    posture_each_line("/proc/self/uid_map", print_map, "uid_map");
    posture_each_line("/proc/self/gid_map", print_map, "gid_map");
    (void)printf("securebits: %#x\n", (unsigned)prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
    (void)printf("keeps capabilities: %d\n", prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0));
}

/* --- each thread ----------------------------------------------------------------------------- */

static const char *const thread_facts[] = {"Uid",
                                           "Gid",
                                           "Groups",
                                           "CapInh",
                                           "CapPrm",
                                           "CapEff",
                                           "CapBnd",
                                           "CapAmb",
                                           "SigBlk",
                                           "SigIgn",
                                           "SigPnd",
                                           "ShdPnd",
                                           "Umask",
                                           "NoNewPrivs",
                                           "NSpid",
                                           "NSpgid",
                                           "NSsid",
                                           "Seccomp",
                                           "Speculation_Store_Bypass"};

struct thread_status {
    const char *who;
    char text[POSTURE_COUNT(thread_facts)][128];
};

static void note_fact(char *line, void *userdata)
{
    struct thread_status *status = userdata;
    char *value = strchr(line, ':');
    if (!value)
        return;
    *value = '\0';
    for (size_t i = 0; i < POSTURE_COUNT(thread_facts); i++)
        if (!strcmp(line, thread_facts[i]))
            (void)snprintf(status->text[i], sizeof(status->text[i]), "%s",
                           value + 1 + strspn(value + 1, "\t "));
}

/* A limit of one byte (where the host pipes its core dumps) comes with a filter of its own. */
static void note_filters(char *line, void *userdata)
{
    struct rlimit core = {0, 0};
    int filters = 0;
    (void)getrlimit(RLIMIT_CORE, &core);
    if (sscanf(line, "Seccomp_filters: %d", &filters) == 1)
        (void)printf("%s seccomp filters: %d\n", (const char *)userdata,
                     filters - (core.rlim_max == 1));
}

static void *read_thread(void *userdata)
{
    struct thread_status *status = userdata;
    posture_each_line("/proc/thread-self/status", note_fact, status);
    return NULL;
}

static void print_threads(void)
{
    struct thread_status first = {.who = "first"};
    struct thread_status second = {.who = "second"};
    pthread_t thread;
    (void)read_thread(&first);
    for (size_t i = 0; i < POSTURE_COUNT(thread_facts); i++)
        if (strcmp(thread_facts[i], "Speculation_Store_Bypass") != 0)
            (void)printf("%s: %s\n", thread_facts[i], first.text[i]);
    if (pthread_create(&thread, NULL, read_thread, &second) != 0) {
        (void)puts("no second thread");
        return;
    }
    (void)pthread_join(thread, NULL);
    for (size_t i = 0; i < POSTURE_COUNT(thread_facts); i++)
        if (strcmp(thread_facts[i], "NSpid") != 0 && strcmp(first.text[i], second.text[i]) != 0)
            (void)printf("the second thread differs in %s: %s\n", thread_facts[i], second.text[i]);
    posture_each_line("/proc/thread-self/status", note_filters, "first thread's");
}

/* --- the process ----------------------------------------------------------------------------- */

static void print_signals(void)
{
    for (int number = 1; number < 65; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
            (void)printf("signal %d is not at its default\n", number);
    }
}

static void print_number(char *line, void *userdata)
{
    (void)printf("%s: %s\n", (const char *)userdata, line);
}

static void print_scheduling(void)
{
    errno = 0;
    (void)printf("nice: %d\n", getpriority(PRIO_PROCESS, 0));
    (void)printf("scheduling policy: %d\n", sched_getscheduler(0));
    (void)printf("io priority: %ld\n", syscall(SYS_ioprio_get, 1, 0));
    posture_each_line("/proc/self/oom_score_adj", print_number, "oom_score_adj");
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void print_environment(void)
{
    char *names[256] = {NULL};
    size_t count = 0;
    for (char **entry = environ; *entry && count < POSTURE_COUNT(names); entry++)
        names[count++] = *entry;
    qsort(names, count, sizeof(names[0]), compare_names);
    for (size_t i = 0; i < count; i++)
        (void)printf("environment: %s\n", names[i]);
}

static void print_place(void)
{
    char text[256] = "?";
    (void)printf("working directory: %s\n", getcwd(text, sizeof(text)));
    (void)printf("pid %d, parent %d, group %d, session %d\n", getpid(), getppid(), getpgrp(),
                 getsid(0));
    int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
    (void)printf("terminal: %s\n", tty < 0 ? "none" : "one");
}

void posture_process(void)
{
    print_threads();
    print_signals();
    print_scheduling();
    (void)printf("no new privileges: %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    (void)printf("seccomp mode: %d\n", prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
    (void)printf("dumpable: %d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    int signal_at_death = 0;
    (void)prctl(PR_GET_PDEATHSIG, &signal_at_death, 0, 0, 0);
    (void)printf("parent-death signal: %d\n", signal_at_death);
    (void)printf("personality: %#x\n", (unsigned)personality(0xffffffff));
    print_environment();
    print_place();
}

/* --- limits ---------------------------------------------------------------------------------- */

static void print_limit(const char *name, rlim_t value)
{
    if (value == RLIM_INFINITY)
        (void)printf(" %s unlimited", name);
    else
        (void)printf(" %s %llu", name, (unsigned long long)value);
}

void posture_limits(void)
{
    static const char *const names[] = {
        "cpu",     "fsize", "data",  "stack",   "core",     "rss",  "nproc",  "nofile",
        "memlock", "as",    "locks", "pending", "msgqueue", "nice", "rtprio", "rttime"};
    for (int i = 0; i < (int)POSTURE_COUNT(names); i++) {
        struct rlimit limit;
        if (getrlimit(i, &limit) != 0)
            continue;
        if (i == RLIMIT_CORE) { /* 1 where dumps are piped: the kernel stops at exactly that */
            (void)printf("limit core: %s\n", limit.rlim_max <= 1 ? "no dump" : "dumps");
            continue;
        }
        (void)printf("limit %s:", names[i]);
        print_limit("soft", limit.rlim_cur);
        print_limit("hard", limit.rlim_max);
        (void)puts("");
    }
}

int main(int argc, char **argv)
{
    (void)setvbuf(stdout, NULL, _IOFBF, 1U << 16);
    posture_files(); /* first: the descriptors are those it came with */
    posture_identity();
    posture_process();
    posture_limits();
    posture_namespaces(argc, argv);
    posture_mounts();
    return fflush(stdout) == 0 ? 0 : 1;
}
