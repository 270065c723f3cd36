/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/outcome.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "hutch/spec.h"

/* What a person is told about an end: a sentence, and the limit that was met. */
static const struct {
    const char *text; /* NULL: the exit status says it all */
    const char *field;
    bool with_duration;
} endings[HUTCH_REASON_COUNT] = {
    [HUTCH_REASON_TIMEOUT] = {"timeout", "limits.timeout", true},
    [HUTCH_REASON_IDLE_TIMEOUT] = {"no output for too long, ended", "limits.idle_timeout", true},
    [HUTCH_REASON_OOM] = {"out of memory: the memory limit was reached", "limits.memory", false},
    [HUTCH_REASON_PIDS_LIMIT] = {"the process limit was reached", "limits.pids", false},
    [HUTCH_REASON_DISK_LIMIT] = {"the disk limit was reached", "limits.disk", false},
    [HUTCH_REASON_OUTPUT_LIMIT] = {"the output limit was reached", "limits.output_max", false},
    [HUTCH_REASON_SANDBOX_DIED] = {"the sandbox died under the command", NULL, false},
};

static const char *flag_of(const char *field)
{
    size_t count = 0;
    const struct hutch_field *fields = hutch_fields(&count);
    for (size_t i = 0; field && i < count; i++)
        if (!strcmp(fields[i].name, field))
            return fields[i].flag;
    return NULL;
}

/* " after 300 s", in the unit a person would choose. */
static void format_duration(char *text, size_t size, uint64_t duration_us)
{
    uint64_t tenths = (duration_us + 50000) / 100000;
    if (duration_us < 100000)
        (void)snprintf(text, size, " after %" PRIu64 " ms", (duration_us + 500) / 1000);
    else if (duration_us < 1000000)
        (void)snprintf(text, size, " after %" PRIu64 " ms", (duration_us + 5000) / 10000 * 10);
    else if (tenths >= 100 || tenths % 10 == 0)
        (void)snprintf(text, size, " after %" PRIu64 " s", (tenths + 5) / 10);
    else
        (void)snprintf(text, size, " after %" PRIu64 ".%" PRIu64 " s", tenths / 10, tenths % 10);
}

void cli_outcome_say(const struct hutch_result *result)
{
    char duration[48] = "";
    if (result->error.code)
        cli_say("%s", result->error.msg);
    if (!endings[result->reason].text)
        return;
    const char *flag = flag_of(endings[result->reason].field);
    if (endings[result->reason].with_duration)
        format_duration(duration, sizeof(duration), result->duration_us);
    cli_say("%s%s%s%s%s", endings[result->reason].text, duration, flag ? " (--" : "",
            flag ? flag : "", flag ? ")" : "");
}
