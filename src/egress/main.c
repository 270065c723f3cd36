/* SPDX-License-Identifier: Apache-2.0 */
/* hutch-gateway without TLS of its own: what nearly every sandbox has. */
#include "egress/gateway.h"

int main(void)
{
    return gateway_main(NULL);
}
