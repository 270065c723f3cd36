/* SPDX-License-Identifier: Apache-2.0 */
#include "core/isolation.h"

#include <string.h>

#include "util/own.h"

/* Each level with the backends that give it, the one that is chosen first, and the runtime it takes
 * there; runtime NULL: any but those that another level names. */
static const struct {
    const char *level;
    const char *backends[2];
    const char *runtime;
} levels[] = {
    {"namespaces", {"native", NULL}, NULL},
    {"container", {"oci", "docker"}, NULL},
    {"gvisor", {"oci", NULL}, "runsc"},
};

static const char *const backends[] = {"native", "docker", "oci"};

const char *hutch_backend_name(const char *name)
{
    for (size_t i = 0; name && i < HUTCH_COUNT(backends); i++)
        if (!strcmp(name, backends[i]))
            return backends[i];
    return backends[0];
}

static size_t level_index(const char *name)
{
    for (size_t i = 0; name && i < HUTCH_COUNT(levels); i++)
        if (!strcmp(name, levels[i].level))
            return i;
    return 0;
}

const char *hutch_level_name(const char *name)
{
    return levels[level_index(name)].level;
}

const char *hutch_spec_backend(const struct hutch_spec *spec)
{
    if (hutch_spec_is_set(spec, "backend"))
        return spec->backend;
    if (spec->isolation)
        return levels[level_index(spec->isolation)].backends[0];
    return spec->runtime ? "oci" : spec->backend;
}

const char *hutch_spec_runtime(const struct hutch_spec *spec)
{
    if (spec->runtime || !spec->isolation)
        return spec->runtime;
    return levels[level_index(spec->isolation)].runtime;
}

static bool has_backend(size_t level, const char *backend)
{
    const char *const *names = levels[level].backends;
    return !strcmp(names[0], backend) || (names[1] && !strcmp(names[1], backend));
}

/* By the runtime where a level wants one of its own, else by the backend alone. */
static size_t level_of(const char *backend, const char *runtime)
{
    for (size_t i = HUTCH_COUNT(levels); i-- > 0;) {
        if (!has_backend(i, backend))
            continue;
        if (!levels[i].runtime || (runtime && !strcmp(runtime, levels[i].runtime)))
            return i;
    }
    return level_index("container"); /* a backend that is not known here is refused elsewhere */
}

const char *hutch_spec_level(const struct hutch_spec *spec)
{
    return levels[level_of(hutch_spec_backend(spec), hutch_spec_runtime(spec))].level;
}

int hutch_spec_check_isolation(const struct hutch_spec *spec, struct hutch_error *err)
{
    const char *backend = hutch_spec_backend(spec);
    const char *level = hutch_spec_level(spec);
    if (spec->isolation && strcmp(spec->isolation, level) != 0)
        return hutch_fail(
            err, HUTCH_E_INVALID, 0,
            "isolation '%.60s' is not what backend '%.60s'%s%.60s%s gives, which is '%s'; leave "
            "one of them",
            spec->isolation, backend, spec->runtime ? " with runtime '" : "",
            spec->runtime ? spec->runtime : "", spec->runtime ? "'" : "", level);
    if (spec->runtime && strcmp(backend, "oci") != 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "runtime '%.60s' is for backend 'oci', and the backend is '%.60s'; leave "
                          "one of them",
                          spec->runtime, backend);
    return 0;
}
