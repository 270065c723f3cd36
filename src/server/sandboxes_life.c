/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a sandbox, and its ways from running to removed. */
#include <stdio.h>

#include "server/sandboxes.h"
#include "server/util.h"

#define GRACE_MS 10000

void handle_get(struct api_call *call)
{
    struct hutch_sandbox *sandbox = NULL;
    if (api_sandbox(call, &sandbox) == 0)
        sandbox_reply(call, 200, sandbox);
}

void handle_remove(struct api_call *call)
{
    struct hutch_sandbox *sandbox = NULL;
    struct hutch_sandbox_info info = {0};
    struct hutch_error err = HUTCH_ERROR_INIT, damaged = HUTCH_ERROR_INIT;
    bool force = !api_query(call, "force") || api_query_flag(call, "force");
    if (api_sandbox(call, &sandbox) < 0)
        return;
    (void)snprintf(info.name, sizeof(info.name), "%s", hutch_sandbox_name(sandbox));
    (void)!hutch_sandbox_info(sandbox, &info, &damaged); /* one that is damaged can be removed */
    int status = hutch_sandbox_remove(sandbox, force, &err);
    hutch_sandbox_free(sandbox);
    if (status < 0)
        api_fail(call, &err);
    else
        api_reply(call, 200,
                  json_pack("{s:s,s:s,s:s,s:s}", "id", info.id, "sandbox_id", info.id, "name",
                            info.name, "status", "removed"));
}

static void answer_after(struct api_call *call, struct hutch_sandbox *sandbox, int status,
                         const struct hutch_error *err)
{
    if (status == 0) {
        sandbox_reply(call, 200, sandbox);
        return;
    }
    hutch_sandbox_free(sandbox);
    api_fail(call, err);
}

static void act(struct api_call *call, int (*fn)(struct hutch_sandbox *, struct hutch_error *))
{
    struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (api_sandbox(call, &sandbox) == 0)
        answer_after(call, sandbox, fn(sandbox, &err), &err);
}

void handle_start(struct api_call *call)
{
    act(call, hutch_sandbox_start);
}

void handle_kill(struct api_call *call)
{
    act(call, hutch_sandbox_kill);
}

void handle_pause(struct api_call *call)
{
    act(call, hutch_sandbox_pause);
}

void handle_resume(struct api_call *call)
{
    act(call, hutch_sandbox_resume);
}

void handle_stop(struct api_call *call)
{
    struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    uint64_t grace_ms = api_body_ms(call, "grace", GRACE_MS);
    if (api_sandbox(call, &sandbox) == 0)
        answer_after(call, sandbox, hutch_sandbox_stop(sandbox, grace_ms, &err), &err);
}
