/* SPDX-License-Identifier: Apache-2.0 */
/* order PROGRAM ARG...: runs a program step by step and prints where it has been, in the order of
 * its first visits: the addresses of what is linked into it, a line each. Of its children nothing.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK 16 /* functions begin at multiples of it */
#define BLOCKS (4 << 20) / BLOCK

/* The program is mapped in one piece, before anything else of its name. */
static unsigned long load_address(pid_t pid, const char *program)
{
    char path[64], line[4096];
    unsigned long start = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    bool found = false;
    while (maps && !found && fgets(line, sizeof(line), maps))
        found = strstr(line, program) && sscanf(line, "%lx", &start) == 1;
    if (maps)
        (void)fclose(maps);
    return found ? start : 0;
}

static void follow(pid_t pid, unsigned long start)
{
    static bool is_visited[BLOCKS];
    struct user_regs_struct registers;
    int status;
    while (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) == 0 && waitpid(pid, &status, 0) == pid &&
           WIFSTOPPED(status)) {
        if (ptrace(PTRACE_GETREGS, pid, 0, &registers) < 0)
            return;
        unsigned long block = (registers.rip - start) / BLOCK;
        if (registers.rip < start || block >= BLOCKS || is_visited[block])
            continue;
        is_visited[block] = true;
        printf("%016lx\n", block * BLOCK);
    }
}

int main(int argc, char **argv)
{
    int status;
    if (argc < 2 || *argv[1] != '/')
        return 2;
    pid_t pid = fork();
    if (pid == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return 1;
    unsigned long start = load_address(pid, argv[1]);
    if (!start)
        return 1;
    follow(pid, start);
    return 0;
}
