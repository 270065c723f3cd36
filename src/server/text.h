/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of commands and files in JSON: as text where they are text, as base64 where they are not.
 */
#ifndef HUTCH_SERVER_TEXT_H
#define HUTCH_SERVER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* How much of it is whole characters of UTF-8: all, or all but up to three bytes which may yet
 * become one. TEXT_NONE when it is no text. */
#define TEXT_NONE ((size_t)-1)
size_t text_whole(const char *data, size_t length);

/* With U+FFFD for each byte that is of no character. Allocated with malloc(); NULL without memory.
 */
char *text_readable(const char *data, size_t length);

/* A string of JSON without its quotes. Each returns how many bytes that takes, and writes them
 * unless target is NULL; nothing is added at the end. */
size_t text_escape(char *target, const char *data, size_t length);
size_t text_base64(char *target, const char *data, size_t length);
/* Refuses what is no base64. The result is allocated with malloc(). */
bool text_from_base64(const char *text, size_t length, char **ret_data, size_t *ret_length);

#endif
