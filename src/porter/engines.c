/* SPDX-License-Identifier: Apache-2.0 */
#include "porter/engines.h"

#include <string.h>

int engine_find(const char *backend, const struct container_ops **ret_ops, struct hutch_error *err)
{
    for (const struct container_ops *const *engine = porter_engines; *engine; engine++)
        if (!strcmp((*engine)->backend, backend)) {
            *ret_ops = *engine;
            return 0;
        }
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0, "there is no porter for backend '%.40s'",
                      backend);
}
