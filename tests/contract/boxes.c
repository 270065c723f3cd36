/* SPDX-License-Identifier: Apache-2.0 */
#include "boxes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct hutch_sandbox *box_create_with(const char *name, const char *const *fields)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_sandbox *box = NULL;
    struct hutch_spec *spec = NULL;
    assert_int_equal(hutch_spec_new(&spec, &err), 0);
    contract_prepare(spec);
    contract_set(spec, "name", name);
    contract_set(spec, "limits.disk", "64m");
    for (; fields && *fields; fields += 2)
        contract_set(spec, fields[0], fields[1]);
    if (hutch_sandbox_create(spec, &box, &err) < 0)
        fail_msg("create '%s': %s", name, err.msg);
    hutch_spec_free(spec);
    return box;
}

struct hutch_sandbox *box_create(const char *name)
{
    return box_create_with(name, NULL);
}

struct hutch_sandbox *box_reopen(const char *name)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_sandbox *box = NULL;
    if (hutch_sandbox_open(name, &box, &err) < 0)
        fail_msg("open '%s': %s", name, err.msg);
    return box;
}

void box_destroy(struct hutch_sandbox *box)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (hutch_sandbox_remove(box, true, &err) < 0)
        fail_msg("remove: %s", err.msg);
    hutch_sandbox_free(box);
}

struct hutch_result *box_shell(struct hutch_sandbox *box, const char *script,
                               const struct hutch_exec_options *options)
{
    const char *const command[] = {"sh", "-c", script};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    if (hutch_sandbox_exec(box, COUNT(command), command, options, &result, &err) < 0)
        fail_msg("exec '%s': %s", script, err.msg);
    return result;
}

void box_says(struct hutch_sandbox *box, const char *script, const char *output)
{
    struct hutch_result *result = box_shell(box, script, NULL);
    if (result->exit_code != 0)
        print_message("%s: %s", script, result->err.data);
    assert_reason(result, HUTCH_REASON_EXITED, 0);
    assert_output(&result->out, output);
    hutch_result_free(result);
}

const char *box_spawn(struct hutch_sandbox *box, const char *script)
{
    static char id[33];
    const char *const command[] = {"sh", "-c", script};
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (hutch_sandbox_spawn(box, COUNT(command), command, NULL, id, &err) < 0)
        fail_msg("spawn '%s': %s", script, err.msg);
    return id;
}

const char *box_state(const struct hutch_sandbox *box)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_sandbox_info info;
    if (hutch_sandbox_info(box, &info, &err) < 0)
        fail_msg("info: %s", err.msg);
    return info.state; /* a literal of the library's */
}

struct text {
    char *data;
    size_t length;
};

static int add_piece(void *userdata, const struct hutch_log_piece *piece)
{
    struct text *text = userdata;
    char *data = realloc(text->data, text->length + piece->length + 1);
    if (!data)
        return -1;
    memcpy(data + text->length, piece->data, piece->length);
    text->data = data;
    text->length += piece->length;
    data[text->length] = '\0';
    return 0;
}

char *box_log(struct hutch_sandbox *box, const char *id)
{
    struct hutch_log_options options = HUTCH_LOG_OPTIONS_INIT;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct text text = {NULL, 0};
    options.exec_id = id;
    if (hutch_sandbox_logs(box, &options, add_piece, &text, &err) < 0)
        fail_msg("logs: %s", err.msg);
    return text.data ? text.data : calloc(1, 1);
}

void box_await_log(struct hutch_sandbox *box, const char *id, size_t bytes)
{
    int64_t deadline = now_ms() + 20000;
    size_t length = 0;
    do {
        char *text = box_log(box, id);
        length = strlen(text);
        free(text);
        if (length >= bytes)
            return;
        (void)usleep(20000);
    } while (now_ms() < deadline);
    fail_msg("%zu of %zu bytes were recorded", length, bytes);
}
