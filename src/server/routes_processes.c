/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that a sandbox runs, whoever started them: sessions, its own, those of a request. */
#include <string.h>

#include "server/streams.h"
#include "server/text.h"

static json_t *words_of(const char *const *argv)
{
    json_t *words = json_array();
    for (; *argv; argv++) {
        server_autofree char *text = text_readable(*argv, strlen(*argv));
        if (!text || json_array_append_new(words, json_string(text)) < 0) {
            json_decref(words);
            return NULL;
        }
    }
    return words;
}

static int list_one(void *userdata, const struct hutch_process *process)
{
    json_t *words = words_of(process->argv);
    return json_array_append_new(
        userdata, words ? json_pack("{s:s?,s:s,s:b,s:I,s:o}", "id", process->session, "state",
                                    process->phase ? process->phase : "running", "recorded",
                                    process->recorded, "age_ms",
                                    (json_int_t)(process->age_us / 1000), "command", words)
                        : NULL);
}

void handle_processes(struct api_call *call)
{
    server_autosandbox struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (api_sandbox(call, &sandbox) < 0)
        return;
    json_t *commands = json_array();
    int status = hutch_sandbox_ps(sandbox, list_one, commands, &err);
    if (status == 0) {
        api_reply(call, 200, json_pack("{s:o}", "commands", commands));
        return;
    }
    json_decref(commands);
    if (err.code)
        api_fail(call, &err);
    else
        api_problem(call, 503, "no_memory", "out of memory");
}
