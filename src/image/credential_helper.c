/* SPDX-License-Identifier: Apache-2.0 */
/* The helper gets a verb as its argument and the question on its standard input, and answers with
 * JSON on its standard output; what went wrong it says there too, and exits with a failure. It is
 * executed without a shell, and neither its time nor its words are unbounded. */
#include "image/credential_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/json_in.h"
#include "util/buf.h"
#include "util/fs.h"
#include "util/json_out.h"
#include "util/own.h"

enum { ANSWER_CEILING = 64 << 10, PATIENCE_SECONDS = 60 };

struct helper {
    char program[160];
    pid_t pid;
    int output; /* what it says */
    struct hutch_buf answer;
};

static int name_helper(const char *name, struct helper *helper, struct hutch_error *err)
{
    size_t length = strlen(name);
    if (length == 0 || length > 100 || name[0] == '.' || name[0] == '-' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != length)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.100s' cannot be the name of a credential helper", name);
    (void)snprintf(helper->program, sizeof(helper->program), "docker-credential-%s", name);
    return 0;
}

/* A file in memory: whether it is read or not, and how fast, makes no difference to us. */
static int write_question(const struct helper *helper, const char *question,
                          struct hutch_error *err)
{
    hutch_autofd int fd = memfd_create("question", MFD_CLOEXEC);
    if (fd < 0 || hutch_write_all(fd, question, strlen(question)) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return hutch_fail_errno(err, errno, "write the question for '%s'", helper->program);
    return HUTCH_TAKE_FD(fd);
}

static int spawn(struct helper *helper, const char *verb, int input, int output)
{
    char *argv[] = {helper->program, (char *)(uintptr_t)verb, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    int r = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawnp(&helper->pid, helper->program, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return r;
}

static int start_helper(struct helper *helper, const char *verb, const char *question,
                        struct hutch_error *err)
{
    int ends[2];
    hutch_autofd int input = write_question(helper, question, err);
    if (input < 0)
        return input;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe for '%s'", helper->program);
    helper->output = ends[0];
    hutch_autofd int theirs = ends[1];
    int r = spawn(helper, verb, input, theirs);
    if (r != 0) {
        helper->pid = -1;
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, r,
                          "the credential helper '%s' cannot be started (%s); install it, or take "
                          "it out of docker's config.json",
                          helper->program, strerror(r));
    }
    return 0;
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* 1: there is more to come. */
static int read_some(struct helper *helper, struct hutch_error *err)
{
    char chunk[4096];
    ssize_t length = read(helper->output, chunk, sizeof(chunk));
    if (length < 0 && errno == EINTR)
        return 1;
    if (length < 0)
        return hutch_fail_errno(err, errno, "read what '%s' says", helper->program);
    hutch_buf_append(&helper->answer, chunk, (size_t)length);
    if (helper->answer.failed)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%s' says more than %d bytes", helper->program,
                          ANSWER_CEILING);
    return length > 0;
}

static int hear_helper(struct helper *helper, struct hutch_error *err)
{
    int64_t deadline = now_ms() + PATIENCE_SECONDS * INT64_C(1000);
    int r;
    do {
        struct pollfd readable = {helper->output, POLLIN, 0};
        int64_t left = deadline - now_ms();
        int ready = left > 0 ? poll(&readable, 1, (int)left) : 0;
        if (ready < 0 && errno != EINTR)
            return hutch_fail_errno(err, errno, "wait for '%s'", helper->program);
        if (ready == 0)
            return hutch_fail(err, HUTCH_E_UNAVAILABLE, ETIMEDOUT,
                              "'%s' has not answered within %d seconds", helper->program,
                              PATIENCE_SECONDS);
        r = ready < 0 ? 1 : read_some(helper, err);
    } while (r > 0);
    return r;
}

/* Its exit status, 128 when it was killed. */
static int end_helper(struct helper *helper, bool is_killed)
{
    int status = 0;
    hutch_fd_close(&helper->output);
    if (helper->pid <= 0)
        return 128;
    if (is_killed)
        (void)kill(helper->pid, SIGKILL);
    while (waitpid(helper->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* What it says is text for a message: one line of printable characters. */
static void make_printable(char *text)
{
    text[strcspn(text, "\r\n")] = '\0';
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            *text = '?';
}

static int ask_helper(const char *name, const char *verb, const char *question, char **ret_answer,
                      int *ret_status, struct hutch_error *err)
{
    struct helper helper = {.pid = -1, .output = HUTCH_NO_FD, .answer = HUTCH_BUF(ANSWER_CEILING)};
    int r = name_helper(name, &helper, err);
    if (r == 0)
        r = start_helper(&helper, verb, question, err);
    if (r == 0)
        r = hear_helper(&helper, err);
    int status = end_helper(&helper, r < 0);
    if (r == 0)
        r = hutch_buf_take(&helper.answer, ret_answer, NULL, err);
    hutch_buf_done(&helper.answer);
    if (r == 0)
        *ret_status = status;
    return r;
}

static int helper_failed(const char *name, const char *verb, char *answer, struct hutch_error *err)
{
    make_printable(answer);
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                      "the credential helper 'docker-credential-%s' failed to %s: %.200s", name,
                      verb, *answer ? answer : "it does not say why");
}

static int read_answer(const char *name, const char *answer, struct credentials *ret_credentials,
                       struct hutch_error *err)
{
    struct hutch_value value = {0};
    struct credentials found = {0};
    int r = hutch_json_parse(answer, strlen(answer), &value, err);
    if (r < 0)
        return hutch_wrap(err, "the answer of 'docker-credential-%s': ", name);
    const char *user = hutch_value_text(hutch_value_get(&value, "Username"));
    const char *secret = hutch_value_text(hutch_value_get(&value, "Secret"));
    if (!user || !secret) {
        r = hutch_fail(err, HUTCH_E_INVALID, 0,
                       "the answer of 'docker-credential-%s' has no Username and Secret", name);
    } else if (!strcmp(user, "<token>")) {
        found.identity_token = strdup(secret);
    } else {
        found.user = strdup(user);
        found.password = strdup(secret);
    }
    hutch_value_done(&value);
    if (r < 0)
        return r;
    if (asprintf(&found.origin, "docker-credential-%s", name) < 0)
        found.origin = NULL;
    if (!found.origin || !(found.identity_token || (found.user && found.password))) {
        credentials_done(&found);
        return hutch_fail_nomem(err);
    }
    *ret_credentials = found;
    return 0;
}

int credential_helper_get(const char *name, const char *server, struct credentials *ret_credentials,
                          struct hutch_error *err)
{
    hutch_autofree char *answer = NULL;
    int status = 0;
    int r = ask_helper(name, "get", server, &answer, &status, err);
    if (r != 0)
        return r;
    if (status == 0)
        return read_answer(name, answer, ret_credentials, err);
    /* the one failure that all helpers agree upon */
    if (strstr(answer, "credentials not found")) {
        *ret_credentials = (struct credentials){0};
        return 0;
    }
    return helper_failed(name, "get", answer, err);
}

int credential_helper_store(const char *name, const char *server, const char *user,
                            const char *password, struct hutch_error *err)
{
    hutch_autofree char *answer = NULL;
    hutch_autofree char *question = NULL;
    struct hutch_buf buf = HUTCH_BUF(ANSWER_CEILING);
    struct hutch_json_out out = {&buf, false};
    int status = 0;
    hutch_json_open(&out, NULL, '{');
    hutch_json_string(&out, "ServerURL", server);
    hutch_json_string(&out, "Username", user);
    hutch_json_string(&out, "Secret", password);
    hutch_json_close(&out, '}');
    int r = hutch_buf_take(&buf, &question, NULL, err);
    if (r == 0)
        r = ask_helper(name, "store", question, &answer, &status, err);
    if (r != 0)
        return r;
    return status ? helper_failed(name, "store", answer, err) : 0;
}

int credential_helper_erase(const char *name, const char *server, struct hutch_error *err)
{
    hutch_autofree char *answer = NULL;
    int status = 0;
    int r = ask_helper(name, "erase", server, &answer, &status, err);
    if (r != 0)
        return r;
    return status ? helper_failed(name, "erase", answer, err) : 0;
}
