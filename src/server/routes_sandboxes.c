/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of sandboxes and runs. */
#include "server/request.h"
#include "server/routes.h"
#include "server/sandboxes.h"

#define BASE "/api/sandboxes"
#define ONE BASE "/{id}"

/* ---- queries ---- */

static const struct api_field list_query[] = {
    {"label", API_TEXT, false, "Only those with this label: KEY or KEY=VALUE.", 0},
    {0},
};

static const struct api_field remove_query[] = {
    {"force", API_BOOLEAN, false, "0: one that runs is left alone (409).", 0},
    {0},
};

static const struct api_field stats_query[] = {
    {"interval", API_DURATION, false, "Of a stream: how often, from 100ms to 1h; 1s otherwise.", 0},
    {"stream", API_FORM, false, "sse or ndjson, as an Accept of its type says.", 0},
    {0},
};

static const struct api_field diff_query[] = {
    {"workspace", API_BOOLEAN, false, "1: of the workspace, as a patch.", 0},
    {0},
};

static const struct api_field egress_query[] = {
    {"follow", API_BOOLEAN, false, "1: what happens from now on, until the sandbox ends.", 0},
    {"stream", API_FORM, false, "sse or ndjson, as an Accept of its type says.", 0},
    {0},
};

static const struct api_field run_query[] = {
    {"stream", API_FORM, false, "sse or ndjson, as an Accept of its type says.", 0},
    {0},
};

static const struct api_field batch_query[] = {
    {"parallel", API_INTEGER, false,
     "How many run at the same time: as many as there are processors, or fewer where the daemon "
     "allows fewer.",
     0},
    {0},
};

/* ---- bodies ---- */

static const struct api_field stop_fields[] = {
    {"grace", API_DURATION, false, "How long commands may take to end by themselves: 10s.", 0},
    {0},
};

static const struct api_field update_fields[] = {
    REQUEST_LIMIT_FIELDS,
    {"spec", API_SPEC, false, "", HUTCH_USE_UPDATE},
    {0},
};

static const struct api_field fork_fields[] = {
    {"name", API_TEXT, false, "Name of the new sandbox; one is made up otherwise.", 0},
    {0},
};

static const struct api_field snapshot_fields[] = {
    {"reference", API_TEXT, false, "Name of an image that the files become.", 0},
    {"name", API_TEXT, false, "Name of a stopped sandbox that keeps the files, to be forked.", 0},
    {0},
};

static const struct api_field apply_fields[] = {
    {"dry_run", API_BOOLEAN, false, "Only tell what would be done.", 0},
    {0},
};

/* ---- routes ---- */

const struct api_route routes_of_sandboxes[] = {
    {.method = "POST",
     .path = BASE "/",
     .operation = "createSandbox",
     .doc = "Makes a sandbox that stays; it is ready when it is answered.",
     .scope = API_WRITE,
     .flags = API_CREATES,
     .fields = create_fields,
     .status = 201,
     .schema = "Sandbox",
     .handle = handle_create},
    {.method = "GET",
     .path = BASE "/",
     .operation = "listSandboxes",
     .doc = "The sandboxes there are.",
     .scope = API_READ,
     .query = list_query,
     .status = 200,
     .schema = "SandboxList",
     .handle = handle_list},
    {.method = "GET",
     .path = ONE,
     .operation = "getSandbox",
     .doc = "Everything about a sandbox.",
     .scope = API_READ,
     .status = 200,
     .schema = "Sandbox",
     .handle = handle_get},
    {.method = "DELETE",
     .path = ONE,
     .operation = "removeSandbox",
     .doc = "Removes a sandbox and everything it holds.",
     .scope = API_WRITE,
     .query = remove_query,
     .status = 200,
     .schema = "Removed",
     .handle = handle_remove},
    {.method = "POST",
     .path = ONE "/start",
     .operation = "startSandbox",
     .doc = "Starts a stopped sandbox again, with its files and its spec.",
     .scope = API_WRITE,
     .flags = API_CREATES,
     .status = 200,
     .schema = "Sandbox",
     .handle = handle_start},
    {.method = "POST",
     .path = ONE "/stop",
     .operation = "stopSandbox",
     .doc = "Tells every command to end, ends them after the grace, and keeps the files.",
     .scope = API_WRITE,
     .fields = stop_fields,
     .status = 200,
     .schema = "Sandbox",
     .handle = handle_stop},
    {.method = "POST",
     .path = ONE "/kill",
     .operation = "killSandbox",
     .doc = "Ends every command without a warning, and keeps the files.",
     .scope = API_WRITE,
     .status = 200,
     .schema = "Sandbox",
     .handle = handle_kill},
    {.method = "POST",
     .path = ONE "/pause",
     .operation = "pauseSandbox",
     .doc = "Holds everything in the sandbox.",
     .scope = API_WRITE,
     .status = 200,
     .schema = "Sandbox",
     .handle = handle_pause},
    {.method = "POST",
     .path = ONE "/resume",
     .operation = "resumeSandbox",
     .doc = "Lets a paused sandbox go on.",
     .scope = API_WRITE,
     .status = 200,
     .schema = "Sandbox",
     .handle = handle_resume},
    {.method = "POST",
     .path = ONE "/update",
     .operation = "updateSandbox",
     .doc = "Changes limits of a living sandbox, or the hosts it may reach: all of them or none.",
     .scope = API_WRITE,
     .fields = update_fields,
     .status = 200,
     .schema = "Sandbox",
     .handle = handle_update},
    {.method = "POST",
     .path = ONE "/fork",
     .operation = "forkSandbox",
     .doc = "Makes a second sandbox with the same files, which it shares until either writes.",
     .scope = API_WRITE,
     .flags = API_CREATES,
     .fields = fork_fields,
     .status = 201,
     .schema = "Sandbox",
     .handle = handle_fork},
    {.method = "POST",
     .path = ONE "/snapshot",
     .operation = "snapshotSandbox",
     .doc = "Keeps the files of a sandbox as an image, or as a stopped sandbox.",
     .scope = API_WRITE,
     .flags = API_CREATES,
     .fields = snapshot_fields,
     .status = 201,
     .schema = "Snapshot",
     .handle = handle_snapshot},
    {.method = "POST",
     .path = ONE "/apply",
     .operation = "applySandbox",
     .doc = "Writes what a sandbox changed in its workspace to the real one.",
     .scope = API_WRITE,
     .fields = apply_fields,
     .status = 200,
     .schema = "Applied",
     .handle = handle_apply},
    {.method = "GET",
     .path = ONE "/stats",
     .operation = "getSandboxStats",
     .doc = "What a sandbox uses and may use; as a stream again and again.",
     .scope = API_READ,
     .flags = API_STREAMS,
     .query = stats_query,
     .status = 200,
     .schema = "Stats",
     .handle = handle_stats},
    {.method = "GET",
     .path = ONE "/diff",
     .operation = "getSandboxDiff",
     .doc = "What a sandbox has changed: paths that differ, or a patch of the workspace.",
     .scope = API_READ,
     .query = diff_query,
     .status = 200,
     .schema = "Changes",
     .handle = handle_diff},
    {.method = "GET",
     .path = ONE "/egress",
     .operation = "getSandboxEgress",
     .doc = "What went out of a sandbox and what was denied; as a stream as it happens.",
     .scope = API_READ,
     .flags = API_STREAMS,
     .query = egress_query,
     .status = 200,
     .schema = "Egress",
     .handle = handle_egress},
    {.method = "POST",
     .path = "/api/run",
     .operation = "run",
     .doc = "Runs a command in a sandbox of its own, and answers with how it ended.",
     .scope = API_WRITE,
     .flags = API_RUNS | API_STREAMS,
     .query = run_query,
     .fields = run_fields,
     .status = 200,
     .schema = "Result",
     .handle = handle_run},
    {.method = "POST",
     .path = "/api/batch",
     .operation = "batch",
     .doc = "Runs what each line asks for, and answers each line when its run has ended.",
     .scope = API_WRITE,
     .flags = API_RUNS | API_STREAMS | API_BODY_PIPE,
     .query = batch_query,
     .status = 200,
     .schema = "BatchLine",
     .handle = handle_batch},
    {0},
};
