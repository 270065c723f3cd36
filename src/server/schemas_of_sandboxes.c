/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a sandbox, of a command in it and of a run. */
#include "server/schemas.h"

static const struct schema_property usage_of_sandbox[] = {
    {"cpu_ms", "integer?", "Processor time of all its commands.", false},
    {"memory_bytes", "integer?", "Memory in use now.", false},
    {"memory_peak_bytes", "integer?", "The most that was in use.", false},
    {"pids", "integer?", "Processes and threads now.", false},
    {"pids_peak", "integer?", "The most there were.", false},
    {"disk_bytes", "integer?", "Bytes written outside its mounts.", false},
    {"oom_kills", "integer?", "Processes that were ended for want of memory.", false},
    {"running", "integer?", "Commands that run.", false},
    {0},
};

static const struct schema_property sandbox[] = {
    {"id", "string", "Its id, which nothing else ever has.", false},
    {"sandbox_id", "string", "The same as id.", false},
    {"name", "string", "Its name.", false},
    {"state", "string",
     "starting, running, paused, stopped, dead, unresponsive when its keeper does not answer, or "
     "damaged when its record cannot be read.",
     false},
    {"status", "string", "The same as state.", false},
    {"created", "string?", "When it was made: UTC, as RFC 3339 has it.", false},
    {"reason", "string?", "Why it stopped.", true},
    {"created_ms", "integer?", "When it was made: milliseconds since 1970.", true},
    {"started_ms", "integer?", "When it was started last.", true},
    {"ended_ms", "integer?", "When it ended.", true},
    {"writable_layer", "string", "What holds the files that are written: memory or disk.", true},
    {"backend", "string", "What runs it.", true},
    {"isolation", "string", "The wall around it.", true},
    {"tenant", "string?", "Whose it is.", true},
    {"labels", "{string}", "Its labels.", true},
    {"usage", "SandboxUsage", "What it uses, while it runs.", true},
    {"egress", "EgressFigures", "What has gone out of it.", true},
    {"egress_denied", "[EgressDenial]", "Attempts to go out that led nowhere, the latest.", true},
    {"spec", "object", "The spec it was made from, defaults included.", true},
    {0},
};

static const struct schema_property sandbox_list[] = {
    {"sandboxes", "[Sandbox]", "In the order of their names.", false},
    {0},
};

static const struct schema_property removed[] = {
    {"id", "string", "Its id.", false},
    {"sandbox_id", "string", "The same as id.", false},
    {"name", "string", "Its name, which is free now.", false},
    {"status", "string", "removed.", false},
    {0},
};

static const struct schema_property egress_host[] = {
    {"name", "string", "Its name.", false},
    {"port", "integer", "The port.", false},
    {"connections", "integer", "How often it was reached.", false},
    {"bytes_out", "integer", "Bytes out of the sandbox.", false},
    {"bytes_in", "integer", "Bytes into the sandbox.", false},
    {0},
};

static const struct schema_property egress_denial[] = {
    {"time", "string", "When: UTC, as RFC 3339 has it.", false},
    {"name", "string", "A host, or an address.", false},
    {"port", "integer", "The port; 0 where only the name's address was asked for.", false},
    {"why", "string", "A stable word such as name, port, range or sni.", false},
    {"times", "integer", "How often within that second.", false},
    {0},
};

#define EGRESS_FIGURES                                                        \
    {"connections", "integer", "Connections that were made.", false},         \
        {"connections_open", "integer", "Connections that are open.", false}, \
        {"bytes_out", "integer", "Bytes out of the sandbox.", false},         \
        {"bytes_in", "integer", "Bytes into the sandbox.", false},            \
        {"denied", "integer", "Attempts that led nowhere.", false},           \
        {"gateways", "integer", "How many gateways have served.", false},     \
    {                                                                         \
        "hosts", "[EgressHost]", "Hosts and ports that were reached.", false  \
    }

static const struct schema_property egress_figures[] = {EGRESS_FIGURES, {0}};

static const struct schema_property egress[] = {
    EGRESS_FIGURES,
    {"denials", "[EgressDenial]", "Attempts that led nowhere, the latest.", false},
    {0},
};

static const struct schema_property usage_of_command[] = {
    {"cpu_ms", "integer", "Processor time.", false},
    {"memory_peak_bytes", "integer?", "The most memory that was in use.", false},
    {"pids_peak", "integer?", "The most processes and threads.", false},
    {"disk_peak_bytes", "integer", "The most bytes in the writable layer.", false},
    {"oom_kills", "integer", "Processes that were ended for want of memory.", false},
    {0},
};

static const struct schema_property isolation[] = {
    {"backend", "string?", "What ran it.", false},
    {"level", "string?", "The wall around it.", false},
    {"writable_layer", "string?", "What held the files that were written.", false},
    {"missing", "[string]", "Limits that this host cannot enforce, and the request did without.",
     false},
    {0},
};

static const struct schema_property failure[] = {
    {"code", "string", "A stable word such as no_command.", false},
    {"message", "string", "One sentence.", false},
    {0},
};

static const struct schema_property result[] = {
    {"id", "string", "Id of the run or of the command.", false},
    {"reason", "string",
     "Why it ended: exited, signaled, timeout, idle_timeout, oom, pids_limit, disk_limit, "
     "output_limit, cancelled, sandbox_died or setup_failed.",
     false},
    {"exit_code", "integer",
     "The command's own; 124 after a timeout, 126 and 127 when it cannot be executed or is not "
     "there, 128 + N when signal N ended it.",
     false},
    {"signal", "integer?", "The signal that ended it.", false},
    {"ok", "boolean", "It exited by itself with 0.", false},
    {"stdout", "string", "What was kept of its standard output.", false},
    {"stderr", "string", "What was kept of its standard error.", false},
    {"output", "string", "Both in the order in which they came.", false},
    {"encoding", "string", "base64, where the three are not text.", true},
    {"truncated", "boolean", "Not all of it was kept.", false},
    {"stdout_bytes", "integer", "How much there was.", false},
    {"stderr_bytes", "integer", "How much there was.", false},
    {"dropped_bytes", "integer", "How much was not kept.", false},
    {"stdout_head_bytes", "integer", "Where the missing piece was.", true},
    {"stderr_head_bytes", "integer", "Where the missing piece was.", true},
    {"duration_ms", "integer", "How long it took.", false},
    {"usage", "CommandUsage", "What it used.", false},
    {"isolation", "Isolation", "What it was kept in by.", false},
    {"held_pipes", "boolean", "A background process still held an output pipe at its end.", false},
    {"egress", "EgressFigures", "What went out of a run.", true},
    {"egress_denied", "[EgressDenial]", "Attempts to go out that led nowhere.", false},
    {"error", "Failure", "Why it could not be set up, or what else went wrong.", true},
    {0},
};

static const struct schema_property stats[] = {
    {"id", "string", "Id of the sandbox.", false},
    {"name", "string", "Its name.", false},
    {"state", "string", "What it is now.", false},
    {"time_us", "integer", "When, by the host's monotonic clock.", false},
    {"cpu_us", "integer?", "Processor time of all its commands.", false},
    {"cpu_percent", "number?", "Share of one processor since the look before.", false},
    {"cpus_limit", "number?", "Processors' worth of time it may use.", false},
    {"memory_bytes", "integer?", "Memory in use now.", false},
    {"memory_peak_bytes", "integer?", "The most that was in use.", false},
    {"memory_limit_bytes", "integer?", "The most it may use.", false},
    {"pids", "integer?", "Processes and threads now.", false},
    {"pids_peak", "integer?", "The most there were.", false},
    {"pids_limit", "integer?", "The most there may be.", false},
    {"disk_bytes", "integer?", "Bytes written outside its mounts.", false},
    {"disk_limit_bytes", "integer?", "The most that can be written.", false},
    {"oom_kills", "integer?", "Processes that were ended for want of memory.", false},
    {"running", "integer?", "Commands that run.", false},
    {0},
};

static const struct schema_property change[] = {
    {"kind", "string", "added, modified, deleted, type or metadata.", false},
    {"path", "string", "Below the root; bytes that are no text are written as U+FFFD.", false},
    {0},
};

static const struct schema_property changes[] = {
    {"changes", "[Change]", "What differs from the root it began with.", false},
    {0},
};

static const struct schema_property left_alone[] = {
    {"path", "string", "Below the workspace.", false},
    {"why", "string", "Half a sentence.", false},
    {0},
};

static const struct schema_property applied[] = {
    {"added", "integer", "Files that were made.", false},
    {"modified", "integer", "Files that were changed.", false},
    {"deleted", "integer", "Files that were removed.", false},
    {"conflicts", "integer", "Paths that were left alone.", false},
    {"left_alone", "[LeftAlone]", "Which, for they were changed since the sandbox was made.",
     false},
    {"dry_run", "boolean", "Nothing was done.", false},
    {0},
};

static const struct schema_property egress_event[] = {
    {"event", "string", "reached or denied.", false},
    {"time", "string", "When: UTC, as RFC 3339 has it.", false},
    {"name", "string", "A host, or an address.", false},
    {"port", "integer", "The port; 0 where only the name's address was asked for.", false},
    {"why", "string?", "Of a denied one: a stable word such as name, port, range or sni.", false},
    {"times", "integer", "How often since the event before.", false},
    {0},
};

static const struct schema_property snapshot[] = {
    {"name", "string", "The sandbox or image that holds the files now.", false},
    {"kind", "string", "sandbox: one that is stopped, to be forked; or image.", false},
    {0},
};

static const struct schema_property batch_line[] = {
    {"index", "integer", "Which line of the request, counted from 0.", false},
    {"id", "any", "What that line gave as its id.", true},
    {"result", "Result", "How it went.", true},
    {"error", "Failure", "Why there is no result.", true},
    {0},
};

const struct schema schemas_of_sandboxes[] = {
    {"Sandbox", "A sandbox that stays.", sandbox},
    {"SandboxUsage", "What a sandbox uses.", usage_of_sandbox},
    {"SandboxList", "Sandboxes.", sandbox_list},
    {"Removed", "A sandbox that is no more.", removed},
    {"EgressHost", "A host and port that was reached.", egress_host},
    {"EgressDenial", "An attempt that led nowhere.", egress_denial},
    {"EgressFigures", "What has gone out.", egress_figures},
    {"Egress", "What has gone out of a sandbox, and what has not.", egress},
    {"CommandUsage", "What a command used.", usage_of_command},
    {"Isolation", "What a command was kept in by.", isolation},
    {"Failure", "Why something could not be done.", failure},
    {"Result", "How a command ended.", result},
    {"Stats", "What a sandbox uses and may use.", stats},
    {"Change", "A path that differs.", change},
    {"Changes", "What a sandbox has changed.", changes},
    {"LeftAlone", "A path that was not written to.", left_alone},
    {"Applied", "What was written to the real workspace.", applied},
    {"EgressEvent", "Something that went out, or did not, in a stream.", egress_event},
    {"Snapshot", "Files that are kept under a name.", snapshot},
    {"BatchLine", "One line of a batch's answer.", batch_line},
    {0},
};
