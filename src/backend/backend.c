/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

#include <string.h>

#include "backend/native/native.h"

const struct hutch_backend_ops *const hutch_backends[] = {&hutch_native_backend, NULL};

const struct hutch_backend_ops *hutch_backend_find(const char *name, struct hutch_error *err)
{
    for (size_t i = 0; hutch_backends[i]; i++)
        if (!strcmp(hutch_backends[i]->name, name))
            return hutch_backends[i];
    (void)hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                     "backend '%.100s' is not known; this build has: native", name);
    return NULL;
}
