/* SPDX-License-Identifier: Apache-2.0 */
/* A command as a request describes it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/server.h"
#include "server/streams.h"
#include "server/text.h"

/* The largest pipe that a kernel gives without being asked for more. */
#define PIPE_BYTES (1 << 20)

/* A shell that is there, the script as one word whatever it contains. */
static const char any_shell[] =
    "if command -v bash >/dev/null; then exec bash -c \"$1\"; else exec sh -c \"$1\"; fi";

static int fail_memory(struct api_call *call)
{
    api_problem(call, 503, "no_memory", "out of memory");
    return -1;
}

static int read_words(struct api_call *call, struct command *command)
{
    const json_t *list = json_object_get(api_body(call), "command");
    const char *script = api_body_text(call, "script");
    size_t count = json_array_size(list);
    if (!script && !count) {
        api_problem(call, 400, "invalid", "command: there is no word; write [\"ls\", \"-l\"]");
        return -1;
    }
    command->argv = calloc(count + 6, sizeof(*command->argv));
    if (!command->argv)
        return fail_memory(call);
    const char *const shell[] = {"sh", "-c", any_shell, "sh", script};
    for (size_t i = 0; script && i < SERVER_COUNT(shell); i++)
        command->argv[command->argc++] = shell[i];
    for (size_t i = 0; i < count; i++)
        command->argv[command->argc++] = json_string_value(json_array_get(list, i));
    return 0;
}

static int read_env(struct api_call *call, struct command *command)
{
    json_t *map = json_object_get(api_body(call), "env");
    const char *key;
    json_t *value;
    size_t count = 0;
    if (!json_object_size(map))
        return 0;
    command->env = calloc(json_object_size(map) + 1, sizeof(*command->env));
    if (!command->env)
        return fail_memory(call);
    command->options.env = (const char *const *)command->env;
    json_object_foreach(map, key, value)
    {
        if (!*key || strchr(key, '=')) {
            api_problem(call, 400, "invalid", "env: '%.80s' is no name of a variable", key);
            return -1;
        }
        if (asprintf(&command->env[count], "%s=%s", key, json_string_value(value)) < 0) {
            command->env[count] = NULL;
            return fail_memory(call);
        }
        count++;
    }
    return 0;
}

int command_read(struct api_call *call, struct command *ret_command)
{
    *ret_command = (struct command){.input = SERVER_NO_FD, .options = HUTCH_EXEC_OPTIONS_INIT};
    ret_command->options.user = api_body_text(call, "user");
    ret_command->options.workdir = api_body_text(call, "workdir");
    ret_command->options.timeout_ms = api_body_ms(call, "timeout", 0);
    if (read_words(call, ret_command) < 0)
        return -1;
    return read_env(call, ret_command);
}

void command_done(struct command *command)
{
    for (char **pair = command->env; pair && *pair; pair++)
        free(*pair);
    free(command->env);
    free(command->argv);
    server_closep(&command->input);
}

/* ---- input ----------------------------------------------------------------------------------- */

/* What did not fit into the pipe at once. */
struct rest {
    int fd;
    size_t length;
    char data[];
};

/* The command may read all of it or go: both end this. */
static void write_rest(void *argument)
{
    struct rest *rest = argument;
    (void)fcntl(rest->fd, F_SETFL, 0);
    (void)!server_write_all(rest->fd, rest->data, rest->length);
    (void)close(rest->fd);
    free(rest);
}

/* Takes fd over. */
static int write_later(struct api_call *call, int fd, const char *data, size_t length)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct rest *rest = malloc(sizeof(*rest) + length);
    if (!rest) {
        (void)close(fd);
        return fail_memory(call);
    }
    rest->fd = fd;
    rest->length = length;
    memcpy(rest->data, data, length);
    if (server_work(api_server(call), write_rest, rest, &err) == 0)
        return 0;
    (void)close(fd);
    free(rest);
    api_fail(call, &err);
    return -1;
}

/* Mostly all of it fits into a pipe, and nobody has to wait for the command to read it. */
static int fill_pipe(struct api_call *call, struct command *command, const char *data,
                     size_t length)
{
    int ends[2];
    size_t done = 0;
    ssize_t written = 0;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        api_problem(call, 503, "unavailable", "make a pipe: %s", strerror(errno));
        return -1;
    }
    command->input = command->options.stdin_fd = ends[0];
    if (length > 65536)
        (void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (done < length && (written = write(ends[1], data + done, length - done)) > 0)
        done += (size_t)written;
    if (done < length)
        return write_later(call, ends[1], data + done, length - done);
    (void)close(ends[1]);
    return 0;
}

int command_read_input(struct api_call *call, struct command *command)
{
    const json_t *value = json_object_get(api_body(call), "stdin");
    const char *encoding = api_body_text(call, "stdin_encoding");
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    server_autofree char *decoded = NULL;
    if (encoding && strcmp(encoding, "base64") != 0 && strcmp(encoding, "utf-8") != 0) {
        api_problem(call, 400, "invalid", "stdin_encoding: write \"base64\", or leave it out");
        return -1;
    }
    if (!text)
        return 0;
    if (encoding && *encoding == 'b') {
        if (!text_from_base64(text, length, &decoded, &length)) {
            api_problem(call, 400, "invalid", "stdin: that is not base64");
            return -1;
        }
        text = decoded;
    }
    return fill_pipe(call, command, text, length);
}
