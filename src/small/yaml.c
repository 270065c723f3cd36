/* SPDX-License-Identifier: Apache-2.0 */
/* YAML without its library: the complete program reads it and says the same as JSON. Calls whose
 * --spec may be YAML are handed over whole (handover.c); this is for what the operator has written,
 * which a keeper has to read, too. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/document.h"
#include "core/json_in.h"
#include "porter/order.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/program.h"

#define SENTENCE_BYTES 400

static int start(const int fds[3], pid_t *ret_pid, struct hutch_error *err)
{
    char *const argv[] = {PORTER_NAME, PORTER_VERB_YAML, "json", NULL};
    char *environment[HUTCH_PROGRAM_VARIABLES];
    char buffer[PATH_MAX];
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return hutch_fail_nomem(err);
    for (int i = 0; i < 3; i++)
        (void)posix_spawn_file_actions_adddup2(&actions, fds[i], i);
    int failed = hutch_program_spawn(hutch_program_complete(buffer), &actions, argv,
                                     hutch_program_environment(environment), ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, failed,
                          "YAML needs the program 'hutch-full' beside 'hutch' or in libexec/hutch, "
                          "and it cannot be started (%s); build or install hutch again, or write "
                          "JSON in a file that ends in '.json'",
                          strerror(failed));
    return 0;
}

/* All that was written into a memory file; free it with free(). */
static char *content(int fd, size_t *ret_length)
{
    off_t length = lseek(fd, 0, SEEK_END);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (!text || pread(fd, text, (size_t)length, 0) != length) {
        free(text);
        return NULL;
    }
    text[length] = '\0';
    *ret_length = (size_t)length;
    return text;
}

static int convert(const int fds[3], struct hutch_value *ret_value, struct hutch_error *err)
{
    pid_t pid = 0;
    int status = 0;
    size_t length = 0;
    if (start(fds, &pid, err) < 0)
        return -(int)err->code;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return hutch_fail_errno(err, errno, "wait for the reader of YAML");
    bool is_read = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    hutch_autofree char *text = content(fds[is_read ? 1 : 2], &length);
    if (!text)
        return hutch_fail_nomem(err);
    if (is_read)
        return hutch_json_parse(text, length, ret_value, err);
    text[strcspn(text, "\n")] = '\0';
    return hutch_fail(err, HUTCH_E_INVALID, 0, "%.*s", SENTENCE_BYTES,
                      *text ? text : "the reader of YAML was killed");
}

int hutch_yaml_parse(const char *text, size_t length, struct hutch_value *ret_value,
                     struct hutch_error *err)
{
    int fds[3];
    int status = 0;
    /* above the numbers that they are to have */
    for (size_t i = 0; i < HUTCH_COUNT(fds); i++) {
        hutch_autofd int low = memfd_create("hutch-yaml", MFD_CLOEXEC);
        fds[i] = low < 0 ? low : fcntl(low, F_DUPFD_CLOEXEC, 3);
        if (fds[i] < 0 && status == 0)
            status = hutch_fail_errno(err, errno, "make a memory file");
    }
    if (status == 0 &&
        (hutch_write_all(fds[0], text, length) < 0 || lseek(fds[0], 0, SEEK_SET) < 0))
        status = hutch_fail_errno(err, errno, "write a memory file");
    if (status == 0)
        status = convert(fds, ret_value, err);
    for (size_t i = 0; i < HUTCH_COUNT(fds); i++)
        hutch_fd_close(&fds[i]);
    return status;
}
