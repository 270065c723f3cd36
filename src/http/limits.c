/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of what a client may take: defaults, flags and documentation are made of it. */
#include <inttypes.h>
#include <string.h>

#include "http/http.h"
#include "util/error.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define SECONDS UINT64_C(1000)
#define HOURS (3600 * SECONDS)

/* member, name, unit, default, least, most, what it is for */
#define LIMITS(row)                                                                                \
    row(head_bytes, "head-bytes", "bytes", 32 * KIB, 512, MIB,                                     \
        "The request line and all header fields together; more is answered with 431.")             \
        row(head_fields, "head-fields", "", 100, 8, 1000,                                          \
            "How many header fields a request may have; more is answered with 431.")               \
            row(target_bytes, "target-bytes", "bytes", 8 * KIB, 64, MIB,                           \
                "Path and query of a request; more is answered with 414.")                         \
                row(connections, "connections", "", 8192, 1, MIB,                                  \
                    "Connections of all clients together; the next one is refused.")               \
                    row(connections_per_client, "connections-per-client", "", 4096, 1, MIB,        \
                        "Connections of one client, by its address or, on a unix socket, by its "  \
                        "uid.") row(pipelined_bytes, "pipelined-bytes", "bytes", 16 * KIB, 0, MIB, \
                                    "What is read ahead of the request that is being answered; "   \
                                    "the rest waits in the kernel.")                               \
                        row(head_ms, "head-ms", "ms", 10 * SECONDS, 10, HOURS,                     \
                            "Until the head of a request is whole; later it is answered with "     \
                            "408.") row(body_stall_ms, "body-stall-ms", "ms", 30 * SECONDS, 10,    \
                                        HOURS,                                                     \
                                        "Without a byte of a body that is waited for; then it is " \
                                        "answered with 408.")                                      \
                            row(write_stall_ms, "write-stall-ms", "ms", 30 * SECONDS, 10, HOURS,   \
                                "Without the client taking a byte of its answer; then the "        \
                                "connection is closed.")                                           \
                                row(idle_ms, "idle-ms", "ms", 75 * SECONDS, 10, 24 * HOURS,        \
                                    "Between two requests; then the connection is closed. A "      \
                                    "WebSocket is asked for a pong.")                              \
                                    row(linger_ms, "linger-ms", "ms", 2 * SECONDS, 10, HOURS,      \
                                        "That a client whose request was refused may go on "       \
                                        "sending before it is cut off.")                           \
                                        row(message_bytes, "message-bytes", "bytes", MIB, 128,     \
                                            64 * MIB,                                              \
                                            "One message of a WebSocket; a longer one closes it "  \
                                            "with 1009.")

#define DEFAULT_OF(member, name, unit, value, least, most, doc) .member = (value),
#define ROW_OF(member, name, unit, value, least, most, doc) \
    {name, unit, offsetof(struct http_limits, member), value, least, most, doc},

const struct http_limits http_default_limits = {LIMITS(DEFAULT_OF)};
const struct http_limit http_limit_table[] = {LIMITS(ROW_OF){0}};

int http_limit_set(struct http_limits *limits, const char *name, uint64_t value,
                   struct hutch_error *err)
{
    for (const struct http_limit *row = http_limit_table; row->name; row++) {
        if (strcmp(row->name, name) != 0)
            continue;
        if (value < row->least || value > row->most)
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "the limit '%s' is %" PRIu64 ", give one of %" PRIu64 " to %" PRIu64,
                              name, value, row->least, row->most);
        memcpy((char *)limits + row->offset, &value, sizeof(value));
        return 0;
    }
    return hutch_fail(err, HUTCH_E_INVALID, 0, "there is no limit '%s', see hutch-serve --help",
                      name);
}
