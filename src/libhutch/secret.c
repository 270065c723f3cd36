/* SPDX-License-Identifier: Apache-2.0 */
#include "hutch/secret.h"

#include "libhutch/scratch.h"
#include "secrets/secrets.h"

int hutch_secret_list(hutch_secret_fn on_secret, void *userdata, struct hutch_error *err)
{
    OR_SCRATCH(err);
    return secret_list(on_secret, userdata, err);
}
