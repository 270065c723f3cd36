/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of sessions, logs and files. */
#include "server/schemas.h"

const struct schema schemas_of_streams[] = {
    {0},
};
