/* SPDX-License-Identifier: Apache-2.0 */
/* The first message of TLS, as far as the name in it. Pure, and believes nothing it reads. */
#ifndef HUTCH_EGRESS_HELLO_H
#define HUTCH_EGRESS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/egress.h"

#define HELLO_MAX_BYTES 20480 /* the message; records around it add to that */

enum hello_verdict {
    HELLO_MORE, /* it is not whole yet */
    HELLO_NAMED,
    HELLO_REFUSED, /* no name, two, none of a host, a hidden one, or no ClientHello at all */
};

/* data begins with a record of TLS. */
enum hello_verdict hello_read(const uint8_t *data, size_t length, char ret_name[EGRESS_NAME_BYTES]);

#endif
