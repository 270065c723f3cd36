/* SPDX-License-Identifier: Apache-2.0 */
/* A porter inherits the descriptors that it is given, the variables that say where engines are, and
 * nothing else. It hears of its keeper's end by reading end-of-file, so no signal has to tell it,
 * and it may be started by any thread of any program. */
#include "backend/container/porter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "porter/order.h"
#include "util/own.h"
#include "util/program.h"

#define DESCRIPTORS_ABOVE 10 /* of those that a porter gets, until they have their numbers */
#define SENTENCE_BYTES 480
#define VERB_PATIENCE_MS 60000 /* an engine removes a container in far less */

/* A descriptor for the porter to have under one of its numbers. */
struct given {
    int number;
    int fd;
};

static int fail_start(int failed, const char *program, struct hutch_error *err)
{
    if (failed == ENOENT)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, failed,
                          "backend docker needs the program 'hutch-full' beside 'hutch' or "
                          "in libexec/hutch, and it is not there; build or install hutch again");
    return hutch_fail_errno(err, failed, "start a porter with '%s' (HUTCH_PROGRAM names another)",
                            program);
}

static int spawn(char *const *argv, const struct given *given, size_t count, pid_t *ret_pid,
                 struct hutch_error *err)
{
    char *environment[HUTCH_PROGRAM_VARIABLES];
    char buffer[PATH_MAX];
    posix_spawn_file_actions_t actions;
    /* an OCI runtime is called, not spoken to: no network library has to be loaded for it */
    const char *program =
        !strcmp(argv[2], "oci") ? hutch_program_path(buffer) : hutch_program_complete(buffer);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return hutch_fail_nomem(err);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        (void)posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    for (size_t i = 0; i < count; i++)
        (void)posix_spawn_file_actions_adddup2(&actions, given[i].fd, given[i].number);
    int failed = hutch_program_spawn(program, &actions, argv,
                                     hutch_program_environment(environment), ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed ? fail_start(failed, program, err) : 0;
}

/* The other end's number is above all those that it may get. */
static int make_pair(int *ret_ours, int *ret_theirs, struct hutch_error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return hutch_fail_errno(err, errno, "make a socket pair");
    *ret_ours = ends[0];
    *ret_theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, DESCRIPTORS_ABOVE);
    (void)close(ends[1]);
    return *ret_theirs < 0 ? hutch_fail_errno(err, errno, "duplicate a descriptor") : 0;
}

int porter_start(struct keeper *keeper, const char *backend, int *ret_control,
                 struct hutch_error *err)
{
    char *const argv[] = {PORTER_NAME, PORTER_VERB_KEEP, (char *)(uintptr_t)backend, NULL};
    hutch_autofd int socket = HUTCH_NO_FD;
    hutch_autofd int control = HUTCH_NO_FD;
    if (make_pair(&keeper->socket, &socket, err) < 0 || make_pair(ret_control, &control, err) < 0)
        return -(int)err->code;
    const struct given given[] = {{PORTER_SOCKET_FD, socket}, {PORTER_CONTROL_FD, control}};
    if (spawn(argv, given, HUTCH_COUNT(given), &keeper->pid, err) < 0) {
        keeper->pid = 0;
        return -(int)err->code;
    }
    keeper->pidfd = (int)syscall(SYS_pidfd_open, keeper->pid, 0);
    return keeper->pidfd < 0 ? hutch_fail_errno(err, errno, "watch the porter") : 0;
}

int porter_open(const char *verb, const char *backend, int *ret_socket, pid_t *ret_pid,
                struct hutch_error *err)
{
    char *const argv[] = {PORTER_NAME, (char *)(uintptr_t)verb, (char *)(uintptr_t)backend, NULL};
    hutch_autofd int ours = HUTCH_NO_FD;
    hutch_autofd int theirs = HUTCH_NO_FD;
    if (make_pair(&ours, &theirs, err) < 0)
        return -(int)err->code;
    const struct given given[] = {{PORTER_SOCKET_FD, theirs}};
    if (spawn(argv, given, HUTCH_COUNT(given), ret_pid, err) < 0)
        return -(int)err->code;
    *ret_socket = HUTCH_TAKE_FD(ours);
    return 0;
}

/* ---- verbs ----------------------------------------------------------------------------------- */

struct verb {
    pid_t pid;
    int pipes[2]; /* its output, and the sentence that says why it failed */
    struct hutch_buf *output;
    char sentence[SENTENCE_BYTES];
    size_t length;
};

static void take(struct verb *verb, size_t which)
{
    char chunk[4096];
    ssize_t got = read(verb->pipes[which], chunk, sizeof(chunk));
    if (got < 0 && errno == EINTR)
        return;
    if (got <= 0) {
        hutch_fd_close(&verb->pipes[which]);
        return;
    }
    if (which == 0) {
        hutch_buf_append(verb->output, chunk, (size_t)got);
        return;
    }
    for (ssize_t i = 0; i < got && verb->length < sizeof(verb->sentence) - 1; i++)
        if (chunk[i] != '\n')
            verb->sentence[verb->length++] = chunk[i];
}

/* False when it has said nothing for too long. */
static bool follow(struct verb *verb)
{
    while (verb->pipes[0] >= 0 || verb->pipes[1] >= 0) {
        struct pollfd fds[2] = {{verb->pipes[0], POLLIN, 0}, {verb->pipes[1], POLLIN, 0}};
        int ready = poll(fds, 2, VERB_PATIENCE_MS);
        if (ready == 0)
            return false;
        for (size_t i = 0; ready > 0 && i < 2; i++)
            if (fds[i].revents)
                take(verb, i);
    }
    return true;
}

static int begin(struct verb *verb, char *const *argv, struct hutch_error *err)
{
    struct given given[2] = {{STDOUT_FILENO, HUTCH_NO_FD}, {STDERR_FILENO, HUTCH_NO_FD}};
    int status = 0;
    for (size_t i = 0; i < 2 && status == 0; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0) {
            status = hutch_fail_errno(err, errno, "make a pipe");
            break;
        }
        verb->pipes[i] = ends[0];
        given[i].fd = fcntl(ends[1], F_DUPFD_CLOEXEC, DESCRIPTORS_ABOVE);
        (void)close(ends[1]);
        if (given[i].fd < 0)
            status = hutch_fail_errno(err, errno, "duplicate a descriptor");
    }
    if (status == 0)
        status = spawn(argv, given, HUTCH_COUNT(given), &verb->pid, err);
    hutch_fd_close(&given[0].fd);
    hutch_fd_close(&given[1].fd);
    return status;
}

static int conclude(struct verb *verb, bool is_complete, const char *backend,
                    struct hutch_error *err)
{
    int status = 0;
    if (!is_complete)
        (void)kill(verb->pid, SIGKILL);
    while (waitpid(verb->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (is_complete && status == 0 && !verb->output->failed)
        return 0;
    if (!is_complete)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, ETIMEDOUT,
                          "backend %s: the engine does not answer", backend);
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0, "%s",
                      verb->length ? verb->sentence : "the porter ended without a word");
}

int porter_do(const char *verb_name, const char *backend, const char *word,
              struct hutch_buf *output, struct hutch_error *err)
{
    char *const argv[] = {PORTER_NAME, (char *)(uintptr_t)verb_name, (char *)(uintptr_t)backend,
                          (char *)(uintptr_t)word, NULL};
    struct verb verb = {.pipes = {HUTCH_NO_FD, HUTCH_NO_FD}, .output = output};
    int status = begin(&verb, argv, err);
    if (status == 0)
        status = conclude(&verb, follow(&verb), backend, err);
    hutch_fd_close(&verb.pipes[0]);
    hutch_fd_close(&verb.pipes[1]);
    return status;
}

int porter_remove(const char *backend, const char *id, struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf output = HUTCH_BUF(4096);
    return porter_do(PORTER_VERB_REMOVE, backend, id, &output, err);
}
