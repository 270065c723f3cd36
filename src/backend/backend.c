/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

#include <string.h>

#include "backend/container/container.h"
#include "backend/native/native.h"
#include "core/isolation.h"

const struct hutch_backend_ops *const hutch_backends[] = {
    &hutch_native_backend, &hutch_docker_backend, &hutch_oci_backend, NULL};

static const struct hutch_backend_ops *find(const char *name)
{
    for (size_t i = 0; hutch_backends[i]; i++)
        if (!strcmp(hutch_backends[i]->name, name))
            return hutch_backends[i];
    return NULL;
}

const struct hutch_backend_ops *hutch_backend_find(const char *name, struct hutch_error *err)
{
    const struct hutch_backend_ops *found = find(name);
    if (!found)
        (void)hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                         "backend '%.100s' is not known; this build has: native, docker, oci",
                         name);
    return found;
}

bool hutch_backend_has_own_images(const struct hutch_spec *spec)
{
    const struct hutch_backend_ops *backend = find(hutch_spec_backend(spec));
    return backend && backend->has_own_images;
}
