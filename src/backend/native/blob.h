/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a struct, arrays and strings one after the other, for a process that maps them elsewhere
 * (init/protocol.h). */
#ifndef HUTCH_NATIVE_BLOB_H
#define HUTCH_NATIVE_BLOB_H

#include <stdint.h>

#include "util/buf.h"

#define BLOB_CEILING (64u << 20)

/* The first struct is at offset 0; everything else gets an offset above it. Failures show when the
 * memfd is made. */
uint32_t blob_add(struct hutch_buf *blob, const void *data, size_t length);
uint32_t blob_text(struct hutch_buf *blob, const char *text); /* NULL: 0 */
/* The array of offsets of these strings, in words of 64 bits and with a 0 at its end: the reader
 * turns them into pointers where they are. */
uint32_t blob_texts(struct hutch_buf *blob, char *const *texts, size_t count);
int blob_to_memfd(const struct hutch_buf *blob, struct hutch_error *err);

#endif
