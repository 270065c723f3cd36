/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes tell. They are gone from a pipe once they are read, so a thread gives them to the
 * program first and then all that follows. */
#include "image/expand.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/own.h"

#define FRONT_BYTES 6
#define PUMP_BYTES (64u << 10)

struct program {
    const char *magic;
    size_t length;
    const char *name;
    const char *package;
};

static const struct program programs[] = {
    {"\xfd"
     "7zXZ",
     6, "xz", "xz-utils"},
    {"BZh", 3, "bzip2", "bzip2"},
    {"]\0\0", 3, "lzma", "xz-utils"},
};

struct expand {
    int fd; /* borrowed */
    char front[FRONT_BYTES];
    size_t front_length;
    size_t front_at;
    const struct program *program; /* NULL: the bytes as they are */
    pid_t pid;                     /* 0: none, or it has ended */
    int from_program;
    int to_program;
    pthread_t pump;
    bool is_pumping;
};

static ssize_t read_some(int fd, void *buffer, size_t size)
{
    ssize_t got = 0;
    do
        got = read(fd, buffer, size);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Who gives us the archive may take any time, but no longer than there is a program for it. */
static bool wait_for_more(const struct expand *expand)
{
    struct pollfd fds[] = {{.fd = expand->fd, .events = POLLIN}, {.fd = expand->to_program}};
    int ready = 0;
    do
        ready = poll(fds, HUTCH_COUNT(fds), -1);
    while (ready < 0 && errno == EINTR);
    return ready > 0 && !fds[1].revents;
}

/* When the program goes away or the archive cannot be read, the program's end tells. */
static void *pump(void *context)
{
    struct expand *expand = context;
    hutch_autofree char *buffer = malloc(PUMP_BYTES);
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
    ssize_t got =
        buffer ? hutch_write_all(expand->to_program, expand->front, expand->front_length) : -1;
    while (got >= 0 && wait_for_more(expand) &&
           (got = read_some(expand->fd, buffer, PUMP_BYTES)) > 0)
        got = hutch_write_all(expand->to_program, buffer, (size_t)got);
    hutch_fd_close(&expand->to_program);
    return NULL;
}

static int spawn(struct expand *expand, int in, int out, struct hutch_error *err)
{
    char *const argv[] = {(char *)(uintptr_t)expand->program->name, (char *)(uintptr_t) "-dc",
                          NULL};
    static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
    char *const environment[] = {path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    (void)sigemptyset(&none);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return hutch_fail_nomem(err);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int failed = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!failed)
        failed = posix_spawnp(&expand->pid, argv[0], &actions, &attributes, argv, environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    if (failed == ENOENT)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, failed,
                          "the archive is compressed with '%s', which is not installed; it is in "
                          "the package '%s'",
                          expand->program->name, expand->program->package);
    return failed ? hutch_fail_errno(err, failed, "start '%s'", expand->program->name) : 0;
}

static int start(struct expand *expand, struct hutch_error *err)
{
    int input[2], output[2];
    if (pipe2(input, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    hutch_autofd int in = input[0];
    expand->to_program = input[1];
    if (pipe2(output, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    hutch_autofd int out = output[1];
    expand->from_program = output[0];
    if (spawn(expand, in, out, err) < 0)
        return -(int)err->code;
    int failed = pthread_create(&expand->pump, NULL, pump, expand);
    if (failed)
        return hutch_fail_errno(err, failed, "start a thread");
    expand->is_pumping = true;
    return 0;
}

int expand_new(int fd, struct expand **ret_expand, struct hutch_error *err)
{
    struct expand *expand = calloc(1, sizeof(*expand));
    ssize_t got = 1;
    if (!expand)
        return hutch_fail_nomem(err);
    *expand = (struct expand){.fd = fd, .from_program = HUTCH_NO_FD, .to_program = HUTCH_NO_FD};
    while (expand->front_length < FRONT_BYTES && got > 0) {
        got =
            read_some(fd, expand->front + expand->front_length, FRONT_BYTES - expand->front_length);
        expand->front_length += got > 0 ? (size_t)got : 0;
    }
    int status = got < 0 ? hutch_fail_errno(err, errno, "read the archive") : 0;
    for (size_t i = 0; i < HUTCH_COUNT(programs) && !expand->program; i++)
        if (expand->front_length >= programs[i].length &&
            !memcmp(expand->front, programs[i].magic, programs[i].length))
            expand->program = &programs[i];
    if (status == 0 && expand->program)
        status = start(expand, err);
    if (status < 0)
        expand_free(expand);
    else
        *ret_expand = expand;
    return status;
}

/* What the program wrote is worth as much as its end says. */
static int check_end(struct expand *expand, struct hutch_error *err)
{
    int status = 0;
    pid_t ended = 0;
    do
        ended = waitpid(expand->pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    expand->pid = 0;
    if (ended < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%s' could not decompress the archive",
                          expand->program->name);
    return 0;
}

static ssize_t read_plain(struct expand *expand, void *buffer, size_t size)
{
    size_t left = expand->front_length - expand->front_at;
    if (left == 0)
        return read_some(expand->fd, buffer, size);
    size = left < size ? left : size;
    memcpy(buffer, expand->front + expand->front_at, size);
    expand->front_at += size;
    return (ssize_t)size;
}

ssize_t expand_read(void *context, void *buffer, size_t size, struct hutch_error *err)
{
    struct expand *expand = context;
    ssize_t got = expand->program ? read_some(expand->from_program, buffer, size)
                                  : read_plain(expand, buffer, size);
    if (got < 0)
        return hutch_fail_errno(err, errno, "read the archive");
    if (got == 0 && expand->program && expand->pid)
        return check_end(expand, err);
    return got;
}

void expand_free(struct expand *expand)
{
    if (!expand)
        return;
    hutch_fd_close(&expand->from_program);
    if (expand->pid) {
        (void)kill(expand->pid, SIGKILL);
        (void)waitpid(expand->pid, NULL, 0);
    }
    if (expand->is_pumping)
        (void)pthread_join(expand->pump, NULL);
    hutch_fd_close(&expand->to_program);
    free(expand);
}
