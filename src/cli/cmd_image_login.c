/* SPDX-License-Identifier: Apache-2.0 */
/* hutch image login and logout. The password never is a word of a command line, which every process
 * of the machine could read. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/handles.h"
#include "cli/image.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "hutch/image.h"

#define DEFAULT_REGISTRY "docker.io"

enum { MOST_PASSWORD_BYTES = 64 * 1024 };

struct login_request {
    bool password_stdin;
    const char *user;
};

struct secret {
    char bytes[MOST_PASSWORD_BYTES];
};

static void secret_done(struct secret *secret)
{
    explicit_bzero(secret->bytes, sizeof(secret->bytes));
}

/* All there is, without the end of its line. */
static int read_secret(int fd, bool is_line, struct secret *secret, struct hutch_error *err)
{
    size_t length = 0;
    for (;;) {
        if (length == sizeof(secret->bytes) - 1)
            return cli_fail(err, HUTCH_E_INVALID, "the password is longer than %d bytes",
                            MOST_PASSWORD_BYTES - 1);
        ssize_t got = read(fd, secret->bytes + length, sizeof(secret->bytes) - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cli_fail_errno(err, errno, "read the password");
        length += (size_t)got;
        if (got == 0 || (is_line && secret->bytes[length - 1] == '\n'))
            break;
    }
    if (memchr(secret->bytes, '\0', length))
        return cli_fail(err, HUTCH_E_INVALID, "the password holds a NUL byte");
    secret->bytes[length] = '\0';
    secret->bytes[strcspn(secret->bytes, "\r\n")] = '\0';
    if (!secret->bytes[0])
        return cli_fail(err, HUTCH_E_INVALID, "the password is empty");
    return 0;
}

static int ask_secret(struct secret *secret, struct hutch_error *err)
{
    struct cli_terminal terminal = CLI_TERMINAL_INIT;
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return cli_fail(err, HUTCH_E_INVALID,
                        "there is no terminal to ask for the password; give '--password-stdin'");
    (void)dprintf(fd, "Password: ");
    int failed = cli_terminal_hide_input(&terminal, fd, err);
    if (!failed)
        failed = read_secret(fd, true, secret, err);
    cli_terminal_restore(&terminal);
    (void)close(fd);
    return failed;
}

static int ask_user(char **ret_user, struct hutch_error *err)
{
    size_t size = 0;
    if (isatty(STDIN_FILENO) != 1)
        return cli_fail(err, HUTCH_E_INVALID, "give the user's name with '--username NAME'");
    (void)fputs("Username: ", stderr);
    ssize_t length = getline(ret_user, &size, stdin);
    if (length > 0)
        (*ret_user)[strcspn(*ret_user, "\r\n")] = '\0';
    if (length <= 0 || !**ret_user)
        return cli_fail(err, HUTCH_E_INVALID, "the user's name is empty");
    return 0;
}

static int login(const struct login_request *request, const char *registry, struct hutch_error *err)
{
    CLI_CLEANUP(cli_free) char *asked = NULL;
    CLI_CLEANUP(secret_done) struct secret secret;
    int failed = request->user || request->password_stdin ? 0 : ask_user(&asked, err);
    const char *user = request->user ? request->user : asked;
    if (!failed && !user)
        failed = cli_fail(err, HUTCH_E_INVALID,
                          "'--password-stdin' needs the user's name too: --username NAME");
    if (!failed)
        failed = request->password_stdin ? read_secret(STDIN_FILENO, false, &secret, err)
                                         : ask_secret(&secret, err);
    return failed ? failed : hutch_image_login(registry, user, secret.bytes, err);
}

static int cmd_login(const struct cli_verb *verb, int argc, char **argv)
{
    struct login_request request = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, &request, (struct cli_count){0, 1}, &index, &status))
        return status;
    const char *registry = argv[index] ? argv[index] : DEFAULT_REGISTRY;
    return login(&request, registry, &err) < 0 ? cli_report(&err) : 0;
}

static int cmd_logout(const struct cli_verb *verb, int argc, char **argv)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, NULL, (struct cli_count){0, 1}, &index, &status))
        return status;
    const char *registry = argv[index] ? argv[index] : DEFAULT_REGISTRY;
    return hutch_image_logout(registry, &err) < 0 ? cli_report(&err) : 0;
}

static const struct cli_option login_options[] = {
    {.name = "username",
     .short_name = 'u',
     .kind = CLI_OPTION_TEXT,
     .offset = offsetof(struct login_request, user),
     .metavar = "NAME",
     .help = "Who; asked for on a terminal when it is not given."},
    {.name = "password-stdin",
     .kind = CLI_OPTION_BOOL,
     .offset = offsetof(struct login_request, password_stdin),
     .help = "Read the password from standard input instead of the terminal."},
};

const struct cli_verb cli_image_login = {
    .name = "image login",
    .summary = "Check the credentials for a registry and keep them where docker does",
    .usage = "[FLAG]... [REGISTRY]",
    .details = "Without REGISTRY it is " DEFAULT_REGISTRY ".\n",
    .options = login_options,
    .option_count = CLI_COUNT(login_options),
    .run = cmd_login,
};

const struct cli_verb cli_image_logout = {
    .name = "image logout",
    .summary = "Forget the credentials for a registry",
    .usage = "[REGISTRY]",
    .details = "Without REGISTRY it is " DEFAULT_REGISTRY ".\n",
    .run = cmd_logout,
};
