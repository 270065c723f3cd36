/* SPDX-License-Identifier: Apache-2.0 */
/* Commands, sessions, logs and files: their routes. */
#include "server/routes.h"
#include "server/streams.h"

#define AT "/api/sandboxes/{id}"

#define COMMAND_FIELDS                                                                         \
    {"workdir", API_TEXT, false, "Where it runs, instead of the sandbox's own directory.", 0}, \
        {"env", API_TEXT_MAP, false, "Variables beside the sandbox's own.", 0},                \
        {"user", API_TEXT, false, "As whom, by name or number.", 0},                           \
    {                                                                                          \
        "timeout", API_DURATION, false, "After which it is ended.", 0                          \
    }

#define INPUT_FIELDS                                                                         \
    {"stdin", API_TEXT, false, "What it reads.", 0},                                         \
    {                                                                                        \
        "stdin_encoding", API_TEXT, false, "base64, where stdin is written so; or utf-8.", 0 \
    }

#define WORDS                                                               \
    {                                                                       \
        "command", API_TEXTS, true, "Its words; no shell looks at them.", 0 \
    }

static const struct api_field execute_fields[] = {WORDS, COMMAND_FIELDS, INPUT_FIELDS, {0}};

static const struct api_field shell_fields[] = {
    {"script", API_TEXT, true, "For bash, or for sh where that is not there.", 0},
    COMMAND_FIELDS,
    INPUT_FIELDS,
    {0},
};

static const struct api_field session_fields[] = {
    WORDS,
    COMMAND_FIELDS,
    {"tty", API_BOOLEAN, false, "Give it a terminal.", 0},
    {"rows", API_INTEGER, false, "Of the terminal; 24.", 0},
    {"cols", API_INTEGER, false, "Of the terminal; 80.", 0},
    {"stdin", API_BOOLEAN, false, "Its input stays open, to be written to.", 0},
    {0},
};

static const struct api_field size_fields[] = {
    {"rows", API_INTEGER, true, "1 to 65535.", 0},
    {"cols", API_INTEGER, true, "1 to 65535.", 0},
    {0},
};

static const struct api_field signal_fields[] = {
    {"signal", API_OBJECT, true, "A name such as INT, or a number.", 0},
    {0},
};

static const struct api_field form_query[] = {
    {"stream", API_FORM, false, "sse or ndjson, instead of an Accept header.", 0},
    {0},
};

static const struct api_field wait_query[] = {
    {"wait", API_BOOLEAN, false, "Answer when it has ended.", 0},
    {0},
};

static const struct api_field attach_query[] = {
    {"from", API_INTEGER, false, "The offset to go on at. Last-Event-ID is stronger.", 0},
    {"stream", API_FORM, false, "sse or ndjson, instead of an Accept header.", 0},
    {0},
};

static const struct api_field stdin_query[] = {
    {"close", API_BOOLEAN, false, "That was all: it reads its end.", 0},
    {0},
};

static const struct api_field logs_query[] = {
    {"follow", API_BOOLEAN, false, "Go on until the command has ended.", 0},
    {"from", API_INTEGER, false, "The offset to go on at. Last-Event-ID is stronger.", 0},
    {"tail", API_INTEGER, false, "The last so many lines.", 0},
    {"since", API_TEXT, false, "What was said in the last so much time, such as 10m.", 0},
    {"stream", API_TEXT, false, "stdout or stderr: only this one.", 0},
    {"exec", API_TEXT, false, "Of this command, instead of the sandbox's own.", 0},
    {0},
};

#define PATH_QUERY                                              \
    {                                                           \
        "path", API_TEXT, true, "Where inside, from '/' on.", 0 \
    }

static const struct api_field get_query[] = {
    PATH_QUERY,
    {"list", API_BOOLEAN, false, "What the directory holds: a FileList.", 0},
    {"stat", API_BOOLEAN, false, "What it is: a FileStat.", 0},
    {0},
};

static const struct api_field put_query[] = {
    PATH_QUERY,
    {"mode", API_TEXT, false, "Octal digits; 644.", 0},
    {0},
};

static const struct api_field delete_query[] = {
    PATH_QUERY,
    {"recursive", API_BOOLEAN, false, "Also a directory that is not empty.", 0},
    {0},
};

static const struct api_field path_query[] = {PATH_QUERY, {0}};

const struct api_route routes_of_streams[] = {
    {"POST", AT "/execute", "execute", "Runs a command and tells how it ended.", API_WRITE,
     API_STREAMS, form_query, execute_fields, 200, "Result", handle_execute, NULL},
    {"POST", AT "/shell", "shell", "Runs a script and tells how it ended.", API_WRITE, API_STREAMS,
     form_query, shell_fields, 200, "Result", handle_execute, NULL},
    {"GET", AT "/ps", "listCommands", "The commands that it runs, whoever started them.", API_READ,
     0, NULL, NULL, 200, "CommandList", handle_processes, NULL},
    {"POST", AT "/exec", "startSession", "Starts a command that goes on by itself.", API_WRITE, 0,
     NULL, session_fields, 201, "Session", handle_session_start, NULL},
    {"GET", AT "/exec", "listSessions", "Sessions that run or whose logs are still there.",
     API_READ, 0, NULL, NULL, 200, "SessionList", handle_session_list, NULL},
    {"GET", AT "/exec/{exec}", "getSession", "One session.", API_READ, 0, wait_query, NULL, 200,
     "Session", handle_session_get, NULL},
    {"GET", AT "/exec/{exec}/attach", "attachSession",
     "What it says, from any offset on; by a WebSocket it is also written to.", API_READ,
     API_STREAMS | API_WEBSOCKET, attach_query, NULL, 200, NULL, handle_session_attach,
     handle_session_websocket},
    {"POST", AT "/exec/{exec}/stdin", "writeSession", "Writes to it.", API_WRITE, API_BODY_PIPE,
     stdin_query, NULL, 204, NULL, handle_session_stdin, NULL},
    {"POST", AT "/exec/{exec}/resize", "resizeSession", "Gives its terminal another size.",
     API_WRITE, 0, NULL, size_fields, 204, NULL, handle_session_resize, NULL},
    {"POST", AT "/exec/{exec}/signal", "signalSession", "Sends it a signal.", API_WRITE, 0, NULL,
     signal_fields, 204, NULL, handle_session_signal, NULL},
    {"GET", AT "/logs", "logs", "What its own command, or a session, has said.", API_READ,
     API_STREAMS | API_BYTES, logs_query, NULL, 200, NULL, handle_logs, NULL},
    {"GET", AT "/files", "readFile", "The bytes of a file, or what a path is.", API_READ, API_BYTES,
     get_query, NULL, 200, "FileStat|FileList", handle_file_get, NULL},
    {"PUT", AT "/files", "writeFile", "Makes a file, which is there when it is whole.", API_WRITE,
     API_BODY_PIPE, put_query, NULL, 201, "FileStat", handle_file_put, NULL},
    {"DELETE", AT "/files", "removeFile", "Removes a file or a directory.", API_WRITE, 0,
     delete_query, NULL, 204, NULL, handle_file_delete, NULL},
    {"GET", AT "/archive", "readArchive", "A directory with all it holds, as a tar archive.",
     API_READ, API_BYTES, path_query, NULL, 200, NULL, handle_archive_get, NULL},
    {"PUT", AT "/archive", "writeArchive", "Unpacks a tar archive into a directory.", API_WRITE,
     API_BODY_PIPE, path_query, NULL, 204, NULL, handle_archive_put, NULL},
    {0},
};
