/* SPDX-License-Identifier: Apache-2.0 */
/* victim [FIELD=VALUE]... -- COMMAND [ARGUMENT]...: runs a sandbox as a program that uses the
 * library would, and finds out whether the library gave back what it took: descriptors, children,
 * signal mask. Says and exits as the hutch command does. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hutch/hutch.h"

enum { FDS = 256, EXIT_LEAK = 99 };

struct mine {
    bool open[FDS];
    sigset_t mask;
};

static void look(struct mine *mine)
{
    for (int fd = 0; fd < FDS; fd++)
        mine->open[fd] = fcntl(fd, F_GETFL) >= 0; /* F_GETFD is a mark: see trace.c */
    (void)sigprocmask(SIG_SETMASK, NULL, &mine->mask);
}

static int compare(const struct mine *before)
{
    struct mine after;
    char text[64];
    look(&after);
    for (int fd = 0; fd < FDS; fd++)
        if (before->open[fd] != after.open[fd]) {
            (void)snprintf(text, sizeof(text), "descriptor %d is %s\n", fd,
                           after.open[fd] ? "left open" : "gone");
            (void)!write(STDERR_FILENO, text, strlen(text));
            return EXIT_LEAK;
        }
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&before->mask, number) != sigismember(&after.mask, number)) {
            (void)snprintf(text, sizeof(text), "signal %d is masked otherwise\n", number);
            (void)!write(STDERR_FILENO, text, strlen(text));
            return EXIT_LEAK;
        }
    return EXIT_SUCCESS;
}

static void show(void *userdata, enum hutch_stream stream, const char *data, size_t length)
{
    bool *lost = userdata;
    int fd = stream == HUTCH_STDOUT ? STDOUT_FILENO : STDERR_FILENO;
    if (write(fd, data, length) != (ssize_t)length)
        *lost = true;
}

static int fill(struct hutch_spec *spec, int argc, char **argv, struct hutch_error *err)
{
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char *equals = strchr(argv[i], '=');
        *equals = '\0';
        int failed = hutch_spec_set(spec, argv[i], equals + 1, err);
        *equals = '=';
        if (failed)
            return failed;
    }
    return hutch_spec_set_command(spec, (size_t)(argc - i - 1), (const char *const *)(argv + i + 1),
                                  err);
}

static int run(int argc, char **argv)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    struct hutch_spec *spec = NULL;
    struct hutch_result *result = NULL;
    char *json = NULL;
    size_t length = 0;
    int code = EXIT_SUCCESS;
    bool lost = false;
    options.on_output = show;
    options.userdata = &lost;
    int failed = hutch_spec_new(&spec, &err);
    if (!failed)
        failed = fill(spec, argc, argv, &err);
    if (!failed)
        failed = hutch_run(spec, &options, &result, &err);
    if (!failed)
        failed = hutch_result_to_json(result, &json, &length, &err);
    if (!failed) {
        code = result->exit_code;
        err = result->error;
        if (!err.code && code == 128 + SIGKILL)
            (void)snprintf(err.msg, sizeof(err.msg), "the sandbox died under the command");
    }
    if (lost && !code) {
        code = hutch_code_exit_status(HUTCH_E_SYSTEM);
        (void)snprintf(err.msg, sizeof(err.msg), "output is lost");
    }
    if (err.msg[0]) {
        char line[600];
        int used = snprintf(line, sizeof(line), "hutch: %s\n", err.msg);
        (void)!write(STDERR_FILENO, line, (size_t)used);
    }
    if (failed)
        code = hutch_code_exit_status(err.code);
    free(json);
    hutch_result_free(result);
    hutch_spec_free(spec);
    return code;
}

int main(int argc, char **argv)
{
    struct mine before;
    look(&before);
    (void)close(open("/dev/null", O_RDONLY | O_CLOEXEC)); /* from here on calls may fail, ... */
    int code = run(argc, argv);
    (void)close(open("/end-of-torture", O_RDONLY | O_CLOEXEC)); /* ... and from here on no more */
    int leaked = compare(&before);
    if (!leaked && waitpid(-1, NULL, WNOHANG | __WALL) >= 0) {
        (void)!write(STDERR_FILENO, "a child is left\n", 16);
        leaked = EXIT_LEAK;
    }
    return leaked ? leaked : code;
}
