/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of sessions, logs and files. */
#include "server/schemas.h"

static const struct schema_property session[] = {
    {"id", "string", "Its id.", false},
    {"state", "string", "starting, running or ended.", false},
    {"command", "[string]",
     "Its words. Empty where they are not kept: when they are very long, or the audit keeps no "
     "command lines.",
     false},
    {"tty", "boolean", "It has a terminal.", false},
    {"stdin", "boolean", "It can be written to while it runs.", false},
    {"started_ms", "integer?", "When it was started: milliseconds since 1970.", false},
    {"result", "Result", "How it ended. Its output is in the log.", true},
    {0},
};

static const struct schema_property session_list[] = {
    {"sessions", "[Session]", "The oldest first.", false},
    {0},
};

static const struct schema_property command[] = {
    {"id", "string?", "Its id; null where it is not known.", false},
    {"state", "string", "running or ended.", false},
    {"recorded", "boolean", "What it says is kept: it is a session, or the sandbox's own command.",
     false},
    {"age_ms", "integer", "How long ago it was started.", false},
    {"command", "[string]", "Its words.", false},
    {0},
};

static const struct schema_property command_list[] = {
    {"commands", "[Command]", "In no order.", false},
    {0},
};

static const struct schema_property file_stat[] = {
    {"name", "string", "Its name; bytes that are no text are written as U+FFFD.", false},
    {"type", "string", "file, directory, link, fifo, socket or device.", false},
    {"size", "integer", "In bytes.", false},
    {"mode", "string", "Who may do what, as three octal digits.", false},
    {"uid", "integer", "Its owner, inside.", false},
    {"gid", "integer", "Its group, inside.", false},
    {"modified", "string", "When it was changed: UTC, as RFC 3339 has it.", false},
    {"target", "string", "Of a link: where it leads.", true},
    {0},
};

static const struct schema_property file_list[] = {
    {"entries", "[FileStat]", "What the directory holds, in no order.", false},
    {0},
};

const struct schema schemas_of_streams[] = {
    {"Session", "A command that goes on by itself.", session},
    {"SessionList", "Sessions.", session_list},
    {"Command", "A command that runs.", command},
    {"CommandList", "Commands.", command_list},
    {"FileStat", "What a path is.", file_stat},
    {"FileList", "What a directory holds.", file_list},
    {0},
};
