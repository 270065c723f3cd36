/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server.h"

int serve_main(const struct serve_options *options, struct hutch_error *err)
{
    (void)options, (void)err;
    return 0;
}
