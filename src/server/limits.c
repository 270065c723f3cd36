/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of limits: what --limit may name and --list-limits shows. */
#include "server/limits.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "server/util.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)

struct row {
    struct serve_limit told;
    size_t offset;
    uint64_t least;
    uint64_t most;
};

#define OWN(member) offsetof(struct server_limits, member)
#define HTTP(member) offsetof(struct server_limits, http.member)

static const struct serve_limit told[] = {
    {"body_bytes", "Bytes of a JSON body.", 8 * MIB},
};

const struct serve_limit *serve_limits(size_t *ret_count)
{
    *ret_count = SERVER_COUNT(told);
    return told;
}
