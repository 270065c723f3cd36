/* SPDX-License-Identifier: Apache-2.0 */
#include "core/field.h"

#include <stddef.h>
#include <string.h>

#include "core/egress.h"
#include "core/suggest.h"
#include "util/own.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define PIB (UINT64_C(1) << 50)
#define DAY_MS (UINT64_C(24) * 3600 * 1000)

/* What a field is for, as hutch_use says it. */
#define USES_ANY (HUTCH_USE_RUN | HUTCH_USE_CREATE)
#define USES_LIVE (USES_ANY | HUTCH_USE_UPDATE)
#define USES_ONLY_RUN HUTCH_USE_RUN
#define USES_STAYS HUTCH_USE_CREATE
#define USES_STAYS_LIVE (HUTCH_USE_CREATE | HUTCH_USE_UPDATE)
#define USES_OPERATOR 0 /* no request may give it */

/* The one list of names. In a row: type, uses, slot, name, least, most (for lists and maps:
 * entries), default, flag, short flag, may the flag repeat, what a value looks like, doc. The order
 * is that of --help and of documents that hutch writes; fields of a group are neighbours.
 */
/* clang-format off */
#define FIELDS(X)                                                                                  \
    X(ARGUMENTS, ANY, command, "command", 0, UINT32_MAX, NULL, NULL, 0, true, "ARG",               \
      "The program to run and its arguments.")                                                     \
    X(NAME, ANY, name, "name", 0, 0, NULL, "name", 0, false, "NAME",                               \
      "Name of the sandbox.")                                                                      \
    X(NAME, ANY, backend, "backend", 0, 0, "native", "backend", 0, false, "BACKEND",               \
      "What runs the sandbox: native, docker or oci.")                                             \
    X(NAME, ANY, runtime, "runtime", 0, 0, NULL, "runtime", 0, false, "RUNTIME",                   \
      "OCI runtime that makes the container of backend oci: runc, crun or runsc.")                 \
    X(ISOLATION, ANY, isolation, "isolation", 0, 0, NULL, "isolation", 0, false, "LEVEL",          \
      "Wall around the sandbox: namespaces, container or gvisor; it chooses the backend where none is given.") \
    X(HOST_PATH, ANY, rootfs, "rootfs", 0, 0, NULL, "rootfs", 0, false, "DIR",                     \
      "Directory that is the root of the sandbox, instead of the host's own programs.")            \
    X(IMAGE, ANY, image, "image", 0, 0, NULL, "image", 0, false, "IMAGE",                          \
      "Image that is the root of the sandbox, such as 'python:3.11-slim'.")                        \
    X(PULL, ANY, pull, "pull", 0, 0, "missing", "pull", 0, false, "WHEN",                          \
      "When to fetch the image from its registry: always, missing (when it is not there) or never.") \
    X(ARGUMENTS, ANY, entrypoint, "entrypoint", 0, UINT32_MAX, NULL, "entrypoint", 0, false,       \
      "PROGRAM",                                                                                   \
      "Program that takes the place of the image's entrypoint; an empty one takes it away.")       \
    X(HOSTNAME, ANY, hostname, "hostname", 0, 0, "hutch", "hostname", 0, false, "NAME",            \
      "Host name inside the sandbox.")                                                             \
    X(USER, ANY, user, "user", 0, 0, NULL, "user", 'u', false, "USER[:GROUP]",                     \
      "User inside the sandbox, by number or by name.")                                            \
    X(WORKDIR, ANY, workdir, "workdir", 0, 0, NULL, "workdir", 'w', false, "DIR",                  \
      "Directory inside the sandbox in which the command starts.")                                 \
    X(HOST_PATH, ANY, artifacts, "artifacts", 0, 0, NULL, "artifacts", 0, false, "DIR",       \
      "Directory that receives what the command leaves in /artifacts.")                            \
    X(WORKSPACE, ANY, workspace, "workspace", 0, 0, NULL, "workspace", 0, false,                   \
      "DIR[:ro|rw|overlay|copy]",                                                                  \
      "Directory that appears as /workspace; overlay and copy leave the original untouched.")      \
    X(MOUNTS, ANY, mounts, "mounts", 0, 256, NULL, "mount", 0, true, "SRC:DST[:ro|rw]",            \
      "Directory or file of the host that appears inside the sandbox.")                            \
    X(TMPFS, ANY, tmpfs, "tmpfs", 0, 256, NULL, "tmpfs", 0, true, "DST[:SIZE]",                    \
      "Empty directory in memory, of 64m unless a size is given.")                                 \
    X(SWITCH, ANY, read_only, "read_only", 0, 0, NULL, "read-only", 0, false, NULL,                \
      "Nothing can be written but in /tmp, /home, /workspace, /artifacts, /dev/shm and what is mounted for writing.") \
    X(VARIABLES, ANY, env, "env", 0, 16384, NULL, "env", 'e', true, "KEY=VALUE",                   \
      "Environment variable of the command.")                                                      \
    X(VARIABLE_NAMES, ANY, pass_env, "pass_env", 0, 16384, NULL, "pass-env", 0, true, "NAME",      \
      "Environment variable of the caller that the command gets too.")                             \
    X(HOST_PATHS, ANY, env_files, "env_files", 0, 64, NULL, "env-file", 0, true, "FILE",           \
      "File of KEY=VALUE lines that become environment variables.")                                \
    X(SECRETS, ANY, secrets, "secrets", 0, 64, NULL, "secret", 0, true,                            \
      "NAME[:env=VAR|:file=PATH]",                                                                 \
      "Secret that the command gets as a variable, as a file, or that is added to its requests outside.") \
    X(SWITCH, ANY, redact, "redact", 0, 0, NULL, "redact", 0, false, NULL,                         \
      "Replace values of secrets in the output by '[secret NAME]'.")                               \
    X(LABELS, ANY, labels, "labels", 0, 256, NULL, "label", 0, true, "KEY=VALUE",                  \
      "Label by which the sandbox can be found again.")                                            \
    X(PROMISES, ANY, allow_missing, "allow_missing", 0, 64, NULL, "allow-missing", 0, true,        \
      "LIMIT",                                                                                     \
      "Limit that may be missing where it cannot be enforced, or all of them.")                    \
    X(SIZE, LIVE, limits.memory_bytes, "limits.memory", 4 * MIB, PIB, "512m", "memory", 0, false,  \
      "SIZE", "Memory of all processes together, without swap.")                                   \
    X(CPUS, LIVE, limits.cpus_milli, "limits.cpus", 10, 4096000, "1", "cpus", 0, false, "NUMBER",  \
      "Processors' worth of time.")                                                                \
    X(COUNT, LIVE, limits.pids, "limits.pids", 1, 4194304, "256", "pids", 0, false, "COUNT",       \
      "Processes and threads at one time.")                                                        \
    X(SIZE, LIVE, limits.disk_bytes, "limits.disk", MIB, PIB, "256m", "disk", 0, false, "SIZE",    \
      "Bytes the command can write outside its mounts.")                                           \
    X(COUNT, LIVE, limits.inodes, "limits.inodes", 64, UINT32_MAX, "100000", "inodes", 0, false,   \
      "COUNT", "Files and directories the command can make outside its mounts.")                   \
    X(DURATION, ANY, limits.timeout_ms, "limits.timeout", 1, 30 * DAY_MS, "300s", "timeout", 0,    \
      false,                                                                                       \
      "DURATION", "Time after which the command is ended.")                                        \
    X(DURATION_OR_NONE, LIVE, limits.idle_timeout_ms, "limits.idle_timeout", 1, 30 * DAY_MS,       \
      "none", "idle-timeout", 0, false, "DURATION",                                                \
      "Time without output after which the command is ended; a sandbox that stays is stopped "     \
      "after that time without a command.")                                                        \
    X(SIZE, LIVE, limits.output_bytes, "limits.output", 0, GIB, "1m", "output-limit", 0, false,    \
      "SIZE",                                                                                      \
      "Output kept per stream: its beginning and its end.")                                        \
    X(SIZE_OR_NONE, ONLY_RUN, limits.output_max_bytes, "limits.output_max", 1, PIB, "none",        \
      "output-max", 0,                                                                             \
      false, "SIZE",                                                                               \
      "More than this on one stream ends the command with reason output_limit.")                   \
    X(COUNT, ANY, limits.open_files, "limits.open_files", 8, 1048576, "1024", "open-files", 0,     \
      false,                                                                                       \
      "COUNT", "Open descriptors per process.")                                                    \
    X(SIZE, STAYS, limits.log_bytes, "limits.log", MIB / 4, PIB, "2g", "log-limit", 0, false,      \
      "SIZE",                                                                                      \
      "Output that each log of a sandbox that stays keeps, and all its ended commands' logs together; beyond it the oldest goes.") \
    X(EGRESS, LIVE, egress, "egress", 0, EGRESS_MAX_RULES, NULL, "egress", 0, true,               \
      "HOST[:PORT]",                                                                               \
      "Host that may be reached by its name, or '*.HOST' for all names below it; ports 80 and 443 unless some are given; none takes all away.") \
    X(COUNT, LIVE, egress_limits.connections, "egress_limits.connections", 1, 65536, "256",        \
      "egress-connections", 0, false, "COUNT", "Connections out of the sandbox at one time.")      \
    X(SIZE_OR_NONE, LIVE, egress_limits.bytes, "egress_limits.bytes", 1, PIB, "none",              \
      "egress-bytes", 0, false, "SIZE",                                                            \
      "Bytes out of and into the sandbox in all; beyond it no connection goes on.")                \
    X(SIZE_OR_NONE, LIVE, egress_limits.rate_bytes, "egress_limits.rate", 1024, PIB, "none",       \
      "egress-rate", 0, false, "SIZE",                                                             \
      "Bytes per second out of and into the sandbox.")                                             \
    X(RANGES, OPERATOR, egress_policy.opened, "egress_policy.opened", 0, 64, NULL, NULL, 0, true,  \
      "RANGE",                                                                                     \
      "Private addresses that names may lead to all the same; the policy gives it.")               \
    X(PROXY, OPERATOR, egress_policy.proxy, "egress_policy.proxy", 0, 0, NULL, NULL, 0, false,     \
      "URL", "Proxy through which everything goes; the policy gives it.")                          \
    X(SECRET_NAME, OPERATOR, egress_policy.login, "egress_policy.login", 0, 0, NULL, NULL, 0,      \
      false, "SECRET", "Secret that has the proxy's user and password; the policy gives it.")      \
    X(NAME, OPERATOR, policy.tenant, "policy.tenant", 0, 0, NULL, NULL, 0, false, "NAME",          \
      "Tenant of the policy whose the sandbox is; the policy gives it.")                           \
    X(DIGEST, OPERATOR, policy.hash, "policy.hash", 0, 0, NULL, NULL, 0, false, "DIGEST",          \
      "What the policy was when the sandbox was allowed; the policy gives it.")                    \
    X(NAME, OPERATOR, policy.audit, "policy.audit", 0, 0, NULL, NULL, 0, false, "HOW",             \
      "How much of it is recorded: digest, for sums of command lines, or off; the policy gives it.") \
    X(DURATION_OR_NONE, STAYS_LIVE, ttl_ms, "ttl", 1, 3650 * DAY_MS, "none", "ttl", 0, false,      \
      "DURATION",                                                                                  \
      "Time after its creation at which a sandbox that stays is removed.")                         \
    X(DURATION_OR_NONE, STAYS_LIVE, max_lifetime_ms, "max_lifetime", 1, 3650 * DAY_MS, "none",     \
      "max-lifetime", 0, false, "DURATION",                                                        \
      "Time after its start at which a sandbox that stays is stopped.")
/* clang-format on */

static const struct hutch_field public_rows[] = {
#define X(type, uses, slot, name, min, max, default_text, flag, short_flag, repeats, metavar, doc) \
    {name, flag, short_flag, repeats, metavar, default_text, doc, USES_##uses},
    FIELDS(X)
#undef X
};

static const struct hutch_field_row rows[] = {
#define X(type, uses, slot, name, min, max, default_text, flag, short_flag, repeats, metavar, doc) \
    {name, HUTCH_TYPE_##type, offsetof(struct hutch_spec, slot), min, max},
    FIELDS(X)
#undef X
};

_Static_assert(HUTCH_COUNT(rows) <= 64, "set_fields holds a bit for every field");

const struct hutch_field *hutch_fields(size_t *ret_count)
{
    *ret_count = HUTCH_COUNT(public_rows);
    return public_rows;
}

size_t hutch_field_count(void)
{
    return HUTCH_COUNT(rows);
}

const struct hutch_field_row *hutch_field_row(size_t index)
{
    return &rows[index];
}

int hutch_field_find(const char *name)
{
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++)
        if (!strcmp(rows[i].name, name))
            return (int)i;
    return -1;
}

bool hutch_field_is_for(const char *name, enum hutch_use use)
{
    int index = hutch_field_find(name);
    return index >= 0 && public_rows[index].uses & use;
}

bool hutch_field_is_group(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++)
        if (!strncmp(rows[i].name, name, length) && rows[i].name[length] == '.')
            return true;
    return false;
}

/* A field's last word is offered too: "memory" at the top was meant to be "limits.memory". */
int hutch_field_fail_unknown(const char *name, struct hutch_error *err)
{
    struct hutch_suggestion suggestion = HUTCH_SUGGESTION(name);
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++) {
        const char *dot = strchr(rows[i].name, '.');
        hutch_suggestion_offer(&suggestion, rows[i].name, rows[i].name);
        if (dot)
            hutch_suggestion_offer(&suggestion, dot + 1, rows[i].name);
    }
    if (suggestion.nearest)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "unknown field '%.80s', did you mean '%s'?",
                          name, suggestion.nearest);
    return hutch_fail(err, HUTCH_E_INVALID, 0, "unknown field '%.80s'", name);
}

static const struct hutch_field_type *type_of(size_t index)
{
    return &hutch_field_types[rows[index].type];
}

static void *slot_of(struct hutch_spec *spec, size_t index)
{
    return (char *)spec + rows[index].offset;
}

void hutch_field_done(struct hutch_spec *spec, size_t index)
{
    type_of(index)->done(slot_of(spec, index));
    memset(slot_of(spec, index), 0, type_of(index)->slot_size);
}

/* Every type fits. */
union any_slot {
    char *text;
    uint64_t quantity;
    struct hutch_strlist texts;
    struct hutch_map pairs;
    struct hutch_workspace workspace;
    struct hutch_mounts mounts;
    struct hutch_tmpfs_list tmpfs;
    struct hutch_secrets secrets;
    bool is_on;
};

/* What was read moves into the spec; on failure it is released and the spec keeps what it had. */
static int settle(struct hutch_spec *spec, size_t index, union any_slot *fresh, int r,
                  struct hutch_error *err)
{
    if (r < 0) {
        type_of(index)->done(fresh);
        return hutch_wrap(err, "%s: ", rows[index].name);
    }
    hutch_field_done(spec, index);
    memcpy(slot_of(spec, index), fresh, type_of(index)->slot_size);
    return 0;
}

static int replace_by_text(struct hutch_spec *spec, size_t index, const char *text,
                           struct hutch_error *err)
{
    union any_slot fresh = {0};
    int r = type_of(index)->add_text(&rows[index], &fresh, text, err);
    return settle(spec, index, &fresh, r, err);
}

bool hutch_field_is_default(const struct hutch_spec *spec, size_t index)
{
    union any_slot fresh = {0};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    const char *text = public_rows[index].default_text;
    if (text && type_of(index)->add_text(&rows[index], &fresh, text, &ignored) < 0)
        return false;
    bool same = !memcmp((const char *)spec + rows[index].offset, &fresh, type_of(index)->slot_size);
    type_of(index)->done(&fresh);
    return same;
}

int hutch_field_set_default(struct hutch_spec *spec, size_t index, struct hutch_error *err)
{
    spec->set_fields &= ~(UINT64_C(1) << index);
    if (public_rows[index].default_text)
        return replace_by_text(spec, index, public_rows[index].default_text, err);
    hutch_field_done(spec, index);
    return 0;
}

int hutch_field_add_text(struct hutch_spec *spec, size_t index, const char *text,
                         struct hutch_error *err)
{
    int r;
    if (public_rows[index].repeats) {
        r = type_of(index)->add_text(&rows[index], slot_of(spec, index), text, err);
        if (r < 0)
            return hutch_wrap(err, "%s: ", rows[index].name);
    } else {
        r = replace_by_text(spec, index, text, err);
        if (r < 0)
            return r;
    }
    spec->set_fields |= UINT64_C(1) << index;
    return 0;
}

int hutch_field_read(struct hutch_spec *spec, size_t index, struct hutch_node node,
                     struct hutch_error *err)
{
    union any_slot fresh = {0};
    if (node.value->type == HUTCH_VALUE_NULL)
        return hutch_field_set_default(spec, index, err);
    int r = type_of(index)->read(&rows[index], &fresh, node, err);
    r = settle(spec, index, &fresh, r, err);
    if (r >= 0)
        spec->set_fields |= UINT64_C(1) << index;
    return r;
}

int hutch_field_write(const struct hutch_spec *spec, size_t index, const char *key,
                      struct hutch_json_out *out, struct hutch_error *err)
{
    const void *slot = (const char *)spec + rows[index].offset;
    if (type_of(index)->write(&rows[index], slot, key, out, err) < 0)
        return hutch_wrap(err, "%s: ", rows[index].name);
    return 0;
}

/* A limit that is none is written as null, which read back is a limit that was not given. */
int hutch_field_write_set(const struct hutch_spec *spec, size_t index, const char *key,
                          struct hutch_json_out *out, struct hutch_error *err)
{
    const void *slot = (const char *)spec + rows[index].offset;
    if (!type_of(index)->may_be_none || *(const uint64_t *)slot)
        return hutch_field_write(spec, index, key, out, err);
    hutch_json_string(out, key, "none");
    return 0;
}
