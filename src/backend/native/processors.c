/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/processors.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "util/fs.h"

/* Threads of the host that run or wait to: behind the three averages, before the slash. */
static long count_running(void)
{
    char text[128];
    ssize_t got = hutch_read_at(AT_FDCWD, "/proc/loadavg", text, sizeof(text));
    const char *slash = got > 0 ? strchr(text, '/') : NULL;
    while (slash && slash > text && slash[-1] != ' ')
        slash--;
    return slash ? strtol(slash, NULL, 10) : 0;
}

/* Not CPU_COUNT: some C library's asks for each of a thousand bits. Each step takes one away. */
static int count_processors(const cpu_set_t *set)
{
    unsigned long words[sizeof(*set) / sizeof(unsigned long)];
    int count = 0;
    memcpy(words, set, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        for (; words[i]; words[i] &= words[i] - 1)
            count++;
    return count;
}

void processors_look(struct processors *ret_processors)
{
    *ret_processors = (struct processors){.have_room = false};
    if (sched_getaffinity(0, sizeof(ret_processors->set), &ret_processors->set) < 0)
        return;
    int count = count_processors(&ret_processors->set);
    /* this thread and the new one are among them; one more does no harm */
    ret_processors->have_room = count > 1 && count_running() <= count + 1;
}

/* The scheduler of a virtual machine takes a processor that its host has put to sleep for one that
 * is busy (available_idle_cpu() asks vcpu_is_preempted()), and would leave both here. Once moved, a
 * thread stays where it is. */
void processors_move(const struct processors *processors, pid_t pid)
{
    cpu_set_t others = processors->set;
    int here = sched_getcpu();
    if (here < 0 || !processors->have_room)
        return;
    CPU_CLR((size_t)here, &others);
    if (sched_setaffinity(pid, sizeof(others), &others) == 0)
        (void)sched_setaffinity(pid, sizeof(processors->set), &processors->set);
}
