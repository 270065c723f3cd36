/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_IMAGE_CLOCK_H
#define HUTCH_IMAGE_CLOCK_H

#define CLOCK_TEXT_BYTES 32

/* Now, as configurations have times (RFC 3339, to the second). */
void clock_text(char ret_text[CLOCK_TEXT_BYTES]);

#endif
