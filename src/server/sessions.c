/* SPDX-License-Identifier: Apache-2.0 */
/* What handlers of sessions share. */
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "server/streams.h"
#include "server/text.h"

#define LAST_SIGNAL 64

static json_t *readable(const char *data)
{
    server_autofree char *text = text_readable(data, strlen(data));
    return text ? json_string(text) : NULL;
}

static json_t *result_json(const struct hutch_result *result)
{
    server_autofree char *text = events_result_text(result);
    return text ? json_loads(text, 0, NULL) : NULL;
}

json_t *session_json(const struct hutch_session *session)
{
    json_t *command = json_array();
    int failed = 0;
    for (const char *const *word = session->argv; *word; word++)
        failed |= json_array_append_new(command, readable(*word));
    json_t *started =
        session->started_us ? json_integer((json_int_t)(session->started_us / 1000)) : json_null();
    json_t *whole = json_pack("{s:s,s:s,s:o,s:b,s:b,s:o}", "id", session->id, "state",
                              session->state, "command", command, "tty", session->has_terminal,
                              "stdin", session->reads_input, "started_ms", started);
    if (session->result)
        failed |= json_object_set_new(whole, "result", result_json(session->result));
    if (!failed)
        return whole;
    json_decref(whole);
    return NULL;
}

static int is_there(void *userdata, const struct hutch_session *session)
{
    *(bool *)userdata = session->result != NULL;
    return 0;
}

int session_check(struct api_call *call, struct hutch_sandbox *sandbox, const char *id)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    bool has_ended = false;
    int status = hutch_sandbox_sessions(sandbox, id, is_there, &has_ended, &err);
    if (status < 0)
        api_fail(call, &err);
    return status;
}

void session_fail(struct api_call *call, struct hutch_sandbox *sandbox, const char *id,
                  const struct hutch_error *err)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    bool has_ended = false;
    if (err->code == HUTCH_E_NOT_FOUND &&
        hutch_sandbox_sessions(sandbox, id, is_there, &has_ended, &ignored) == 0 && has_ended)
        api_problem(call, 409, "conflict", "command '%.40s' has ended", id);
    else
        api_fail(call, err);
}

static int number_of_name(const char *name)
{
    uint64_t number = 0;
    if (server_number(name, LAST_SIGNAL, &number))
        return (int)number;
    name += strncasecmp(name, "SIG", 3) ? 0 : 3;
    for (int i = 1; i <= LAST_SIGNAL; i++) {
        const char *known = sigabbrev_np(i);
        if (known && !strcasecmp(known, name))
            return i;
    }
    return 0;
}

int signal_number(const json_t *value)
{
    json_int_t number = json_integer_value(value);
    if (json_is_integer(value))
        return number > 0 && number <= LAST_SIGNAL ? (int)number : 0;
    return json_is_string(value) ? number_of_name(json_string_value(value)) : 0;
}
