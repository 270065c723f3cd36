/* SPDX-License-Identifier: Apache-2.0 */
/* The complete program as a gateway: the one that can intercept TLS. */
#ifndef HUTCH_EGRESS_PROGRAM_H
#define HUTCH_EGRESS_PROGRAM_H

#define EGRESS_PROGRAM_NAME "hutch-gateway" /* as it is called then */

/* Returns its exit status. */
int egress_program_main(void);

#endif
