/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of the internet, and which of them a gateway never dials. */
#ifndef HUTCH_EGRESS_ADDRESS_H
#define HUTCH_EGRESS_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "egress/link.h"

#define ADDRESS_TEXT_BYTES 46

struct address {
    uint16_t family; /* AF_INET or AF_INET6 */
    uint8_t bytes[16];
};

/* "192.0.2.1", "2001:db8::1". Nothing of the forms that only some C libraries read. */
bool address_parse(const char *text, struct address *ret_address);
void address_format(const struct address *address, char ret_text[ADDRESS_TEXT_BYTES]);
socklen_t address_socket(const struct address *address, uint16_t port,
                         struct sockaddr_storage *ret_socket);

/* Private, loopback, link-local, shared, multicast, reserved, a documentation's or a metadata
 * service's, or an IPv6 form of such an address; and in none of the opened ranges. */
bool address_is_refused(const struct address *address, const struct egress_range *opened,
                        size_t opened_count);

#endif
