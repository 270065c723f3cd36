/* SPDX-License-Identifier: Apache-2.0 */
#include "porter/engines.h"

const struct container_ops *const porter_engines[] = {
    &docker_container_ops,
    &oci_container_ops,
    NULL,
};
