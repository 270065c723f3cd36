/* SPDX-License-Identifier: Apache-2.0 */
/* order PROGRAM ARG...: runs a program step by step and prints where it has been, in the order of
 * its first visits: addresses in the file, a line each. Of its children nothing; what it prints
 * itself goes nowhere. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM_MAX (4UL << 20)

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

/* Returns its wait status, -1 when it was lost. */
static int follow(pid_t pid, unsigned long start)
{
    static bool is_visited[PROGRAM_MAX];
    struct user_regs_struct registers;
    int status, signal = 0;
    for (;;) {
        if (ptrace(PTRACE_SINGLESTEP, pid, 0, signal) < 0 || waitpid(pid, &status, 0) != pid)
            return -1;
        if (!WIFSTOPPED(status))
            return status;
        signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        if (ptrace(PTRACE_GETREGS, pid, 0, &registers) < 0)
            return -1;
        unsigned long at = registers.rip - start;
        if (registers.rip < start || at >= PROGRAM_MAX || is_visited[at])
            continue;
        is_visited[at] = true;
        printf("%lx\n", at);
    }
}

int main(int argc, char **argv)
{
    int status;
    if (argc < 2 || *argv[1] != '/')
        return 2;
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
        (void)ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return 1;
    unsigned long start = load_address(pid, argv[1]);
    return start && follow(pid, start) == 0 ? 0 : 1;
}
