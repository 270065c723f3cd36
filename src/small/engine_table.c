/* SPDX-License-Identifier: Apache-2.0 */
/* A porter of the small program: for the engines that need no network library. */
#include "porter/engines.h"

const struct container_ops *const porter_engines[] = {
    &oci_container_ops,
    NULL,
};
