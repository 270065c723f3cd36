/* SPDX-License-Identifier: Apache-2.0 */
/* What no single field can know. A field's own rules were checked when it was set. */
#include <string.h>

#include "core/check.h"
#include "core/field.h"
#include "core/isolation.h"
#include "core/secret_spec.h"
#include "core/spec.h"
#include "util/own.h"

/* The kernel's: execve fails with E2BIG beyond them (MAX_ARG_STRLEN; a quarter of the usual 8 MiB
 * of stack, in which each pointer counts too). */
#define ARGUMENT_MAX_BYTES (128u << 10)
#define ARGUMENTS_MAX_BYTES (2u << 20)

static int check_target(const char *target, struct hutch_error *err)
{
    static const char *const reserved[] = {"/proc", "/dev", "/sys"};
    if (!hutch_path_is_normal(target))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "target '%.120s' is not an absolute path without '.', '..' and '//', "
                          "write it like '/data'",
                          target);
    if (!target[1])
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "target '/' is the sandbox's root, choose a directory below it or use "
                          "rootfs");
    for (size_t i = 0; i < HUTCH_COUNT(reserved); i++)
        if (hutch_path_is_within(target, reserved[i]))
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "target '%.120s' lies in %s, which hutch sets up itself, choose "
                              "another such as '/data'",
                              target, reserved[i]);
    return 0;
}

/* Of the secrets that are files, number index. */
static const char *secret_target_at(const struct hutch_spec *spec, size_t index)
{
    for (size_t i = 0; i < spec->secrets.count; i++)
        if (spec->secrets.items[i].file && !index--)
            return spec->secrets.items[i].file;
    return NULL;
}

/* Every target in the order mounts, tmpfs, workspace, artifacts, secrets; NULL after the last. */
static const char *target_at(const struct hutch_spec *spec, size_t index)
{
    const char *fixed[] = {spec->workspace.path ? "/workspace" : NULL,
                           spec->artifacts ? "/artifacts" : NULL};
    if (index < spec->mounts.count)
        return spec->mounts.items[index].target;
    index -= spec->mounts.count;
    if (index < spec->tmpfs.count)
        return spec->tmpfs.items[index].target;
    index -= spec->tmpfs.count;
    for (size_t i = 0; i < HUTCH_COUNT(fixed); i++)
        if (fixed[i] && !index--)
            return fixed[i];
    return secret_target_at(spec, index);
}

static int check_targets(const struct hutch_spec *spec, struct hutch_error *err)
{
    const char *target;
    for (size_t i = 0; (target = target_at(spec, i)); i++) {
        int r = check_target(target, err);
        if (r < 0)
            return r;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(target, target_at(spec, k)))
                return hutch_fail(err, HUTCH_E_INVALID, 0,
                                  "target '%.120s' is given twice (mounts, tmpfs, workspace, "
                                  "artifacts and secrets together), leave one of them",
                                  target);
    }
    return 0;
}

/* Adds to *total what a string of this length takes in the new program's stack. */
static int count_argument(const char *what, const char *shown, size_t length, size_t *total,
                          struct hutch_error *err)
{
    if (length >= ARGUMENT_MAX_BYTES)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "%s '%.40s...' has %zu bytes, the most is %u; pass it in a file or on "
                          "standard input",
                          what, shown, length, ARGUMENT_MAX_BYTES - 1);
    *total += length + 1 + sizeof(char *);
    if (*total > ARGUMENTS_MAX_BYTES)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "command and environment together exceed %u bytes; pass some of it in a "
                          "file or on standard input",
                          ARGUMENTS_MAX_BYTES);
    return 0;
}

static int check_sizes(const struct hutch_spec *spec, struct hutch_error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < spec->command.count; i++) {
        const char *argument = spec->command.items[i];
        int r = count_argument("argument", argument, strlen(argument), &total, err);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < spec->env.count; i++) {
        const struct hutch_map_entry *entry = &spec->env.items[i];
        size_t length = strlen(entry->key) + 1 + strlen(entry->value);
        int r = count_argument("variable", entry->key, length, &total, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Only one of them can be the root. What is about an image would be ignored without one. */
static int check_root(const struct hutch_spec *spec, struct hutch_error *err)
{
    const char *about_images = spec->entrypoint.count          ? "entrypoint"
                               : strcmp(spec->pull, "missing") ? "pull"
                                                               : NULL;
    if (spec->image && spec->rootfs)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "image '%.100s' and rootfs '%.100s' are both given and exclude each "
                          "other, leave one of them",
                          spec->image, spec->rootfs);
    if (about_images && !spec->image)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "%s is about an image and there is none, give one such as 'python:3.11'",
                          about_images);
    return 0;
}

/* Limits of what is not there would be ignored. */
static int check_egress(const struct hutch_spec *spec, struct hutch_error *err)
{
    static const char *const limits[] = {"egress_limits.connections", "egress_limits.bytes",
                                         "egress_limits.rate"};
    if (hutch_spec_has_egress(spec))
        return hutch_check_egress_rules(&spec->egress, err);
    for (size_t i = 0; i < HUTCH_COUNT(limits); i++)
        if (hutch_spec_is_set(spec, limits[i]) &&
            !hutch_field_is_default(spec, (size_t)hutch_field_find(limits[i])))
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "%s limits what goes out and nothing may, name a host in egress "
                              "such as 'pypi.org'",
                              limits[i]);
    return 0;
}

int hutch_spec_check(const struct hutch_spec *spec, bool needs_command, struct hutch_error *err)
{
    if (hutch_spec_check_isolation(spec, err) < 0 || check_root(spec, err) < 0 ||
        check_egress(spec, err) < 0)
        return -(int)err->code;
    if (!spec->command.count && needs_command && !spec->image)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "there is no command to run, give one such as 'sh -c \"echo hello\"'");
    /* behind an image's entrypoint it is an argument like any other */
    if (spec->command.count && !spec->command.items[0][0] && !spec->image)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the command '' is empty, its first word must be a program such as 'sh'");
    int r = check_targets(spec, err);
    if (r >= 0)
        r = hutch_secrets_check(spec, err);
    return r < 0 ? r : check_sizes(spec, err);
}

int hutch_spec_check_use(const struct hutch_spec *spec, enum hutch_use use, struct hutch_error *err)
{
    size_t count = 0;
    const struct hutch_field *fields = hutch_fields(&count);
    for (size_t i = 0; i < count; i++)
        if (spec->set_fields >> i & 1 && !(fields[i].uses & use) &&
            !hutch_field_is_default(spec, i)) /* a whole document names every field */
            return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0, "%s: this is only for %s",
                              fields[i].name,
                              !fields[i].uses        ? "the operator, who gives it in the policy"
                              : use == HUTCH_USE_RUN ? "sandboxes that stay: 'hutch create'"
                                                     : "sandboxes of one command: 'hutch run'");
    return 0;
}

int hutch_spec_validate(const struct hutch_spec *spec, struct hutch_error *err)
{
    int r = hutch_spec_check_use(spec, HUTCH_USE_RUN, err);
    return r < 0 ? r : hutch_spec_check(spec, true, err);
}

uint64_t hutch_spec_disk_bytes(const struct hutch_spec *spec)
{
    const struct hutch_limits *limits = &spec->limits;
    if (hutch_spec_is_set(spec, "limits.disk") || limits->disk_bytes < limits->memory_bytes)
        return limits->disk_bytes;
    return limits->memory_bytes;
}
