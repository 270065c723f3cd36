/* SPDX-License-Identifier: Apache-2.0 */
#include "server/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/events_out.h"
#include "server/util.h"

#define WORDS_MAX 24
#define PATIENCE_MS 5000 /* between being asked to end and having to */

struct process {
    const struct program_run *run;
    pid_t pid;
    int pidfd;
    int words;
    char line[1024]; /* the last one */
    size_t length;
    bool line_has_ended;
    bool is_unwanted;
};

/* ---- starting -------------------------------------------------------------------------------- */

/* Beside this program in a build tree, in bin when it is installed. */
static void find_program(char path[PATH_MAX])
{
    static const char *const places[] = {"hutch", "../../bin/hutch"};
    char self[PATH_MAX];
    const char *given = getenv("HUTCH_PROGRAM");
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(self, '/');
    (void)snprintf(path, PATH_MAX, "%s", given && *given == '/' ? given : "");
    for (size_t i = 0; i < SERVER_COUNT(places) && slash && !*path; i++) {
        int written = snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - self), self, places[i]);
        if (written >= PATH_MAX || access(path, X_OK) < 0)
            *path = '\0';
    }
}

/* Ours, with one more: its last word begins with the name of the failure's code. */
static char **make_environment(void)
{
    static char codes[] = "HUTCH_ERROR_CODES=1";
    size_t count = 0;
    while (environ[count])
        count++;
    char **environment = calloc(count + 2, sizeof(*environment));
    if (!environment)
        return NULL;
    environment[0] = codes;
    memcpy(environment + 1, environ, count * sizeof(*environment));
    return environment;
}

static int add_files(posix_spawn_file_actions_t *actions, const struct program_run *run, int words)
{
    int out = run->out_fd >= 0 ? run->out_fd : words;
    int failed = run->in_fd >= 0
                     ? posix_spawn_file_actions_adddup2(actions, run->in_fd, STDIN_FILENO)
                     : posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null",
                                                        O_RDONLY | O_CLOEXEC, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(actions, out, STDOUT_FILENO);
    return failed ? failed : posix_spawn_file_actions_adddup2(actions, words, STDERR_FILENO);
}

/* With no signal blocked or ignored, whatever the daemon has made of its own, and as the first of a
 * group, by which everything that it starts can be ended with it. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawnattr_setsigmask(attributes, &none);
    (void)posix_spawnattr_setsigdefault(attributes, &all);
    (void)posix_spawnattr_setpgroup(attributes, 0);
    return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
}

static int spawn(struct process *process, const char *program, int words)
{
    const char *argv[WORDS_MAX] = {"hutch"};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    server_autofree char **environment = make_environment();
    for (size_t i = 0; process->run->words[i] && i + 2 < WORDS_MAX; i++)
        argv[i + 1] = process->run->words[i];
    if (!environment || posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    int failed = add_files(&actions, process->run, words);
    if (!failed)
        failed = set_attributes(&attributes);
    if (!failed)
        failed = posix_spawn(&process->pid, program, &actions, &attributes,
                             (char *const *)(uintptr_t)argv, environment);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static int reap(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static int start(struct process *process, struct hutch_error *err)
{
    char program[PATH_MAX];
    int ends[2];
    find_program(program);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return server_fail_errno(err, "make a pipe");
    process->words = ends[0];
    server_autofd int words = ends[1];
    (void)fcntl(words, F_SETFL, 0); /* it waits for us, not we for it */
    errno = spawn(process, program, words);
    if (errno)
        return server_fail_errno(err, "start '%.200s' (HUTCH_PROGRAM names another)",
                                 *program ? program : "hutch");
    process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (process->pidfd >= 0)
        return 0;
    (void)server_fail_errno(err, "watch '%.200s'", program);
    (void)kill(-process->pid, SIGKILL);
    (void)reap(process->pid);
    return -(int)err->code;
}

/* ---- while it works -------------------------------------------------------------------------- */

static void end_it(struct process *process, int signal)
{
    process->is_unwanted = true;
    (void)kill(-process->pid, signal);
}

/* A line is told once there is another after it: the last one may be why it failed. */
static void take_words(struct process *process, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (process->line_has_ended) {
            process->line[process->length] = '\0';
            process->length = 0;
            if (process->run->on_line(process->run->userdata, process->line) &&
                !process->is_unwanted)
                end_it(process, SIGTERM);
        }
        process->line_has_ended = text[i] == '\n';
        if (text[i] != '\n' && process->length < sizeof(process->line) - 1)
            process->line[process->length++] = text[i];
    }
    process->line[process->length] = '\0';
}

/* False: it will say no more. */
static bool read_words(struct process *process)
{
    char text[4096];
    ssize_t got;
    while ((got = read(process->words, text, sizeof(text))) > 0)
        take_words(process, text, (size_t)got);
    return got < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Until it has ended. What it started may hold the pipe for longer. */
static void follow(struct process *process)
{
    const struct program_run *run = process->run;
    struct pollfd fds[] = {
        {process->words, POLLIN, 0}, {process->pidfd, POLLIN, 0}, {run->gone_fd, POLLIN, 0}};
    while (!(fds[1].revents & POLLIN)) {
        bool was_unwanted = process->is_unwanted;
        int ready =
            poll(fds, SERVER_COUNT(fds), process->is_unwanted ? PATIENCE_MS : EVENTS_QUIET_MS);
        if (ready == 0 && process->is_unwanted)
            end_it(process, SIGKILL);
        else if (ready == 0 && run->on_quiet && run->on_quiet(run->userdata))
            end_it(process, SIGTERM);
        if (ready <= 0)
            continue;
        if (fds[0].revents && !read_words(process))
            fds[0].fd = -1;
        if (fds[2].revents && !was_unwanted)
            end_it(process, SIGTERM);
        if (process->is_unwanted)
            fds[2].fd = -1;
    }
    (void)read_words(process);
    if (process->is_unwanted) /* the number is its group's until it is reaped */
        (void)kill(-process->pid, SIGKILL);
}

/* ---- its end --------------------------------------------------------------------------------- */

/* "hutch: not_found: image 'x': ..."; any other last line is one like those before. */
static int fail_as_it_said(const struct process *process, struct hutch_error *err)
{
    static const char prefix[] = "hutch: ";
    const char *why = process->line;
    if (process->is_unwanted)
        return server_fail(err, HUTCH_E_UNAVAILABLE, "nobody waited for it any more");
    if (!strncmp(why, prefix, sizeof(prefix) - 1))
        why += sizeof(prefix) - 1;
    else if (*why)
        (void)process->run->on_line(process->run->userdata, why);
    for (int code = 1; code < HUTCH_CODE_COUNT; code++) {
        const char *name = hutch_code_name((enum hutch_code)code);
        size_t length = strlen(name);
        if (!strncmp(why, name, length) && !strncmp(why + length, ": ", 2))
            return server_fail(err, (enum hutch_code)code, "%s", why + length + 2);
    }
    return server_fail(err, HUTCH_E_SYSTEM, "%s", *why ? why : "hutch ended without a word");
}

int program_run(const struct program_run *run, struct hutch_error *err)
{
    struct process process = {.run = run, .pidfd = SERVER_NO_FD, .words = SERVER_NO_FD};
    int status = start(&process, err);
    if (status == 0) {
        follow(&process);
        if (reap(process.pid) != 0)
            status = fail_as_it_said(&process, err);
        else if (process.length)
            (void)run->on_line(run->userdata, process.line);
    }
    server_closep(&process.words);
    server_closep(&process.pidfd);
    return status;
}
