/* SPDX-License-Identifier: Apache-2.0 */
/* A growing piece of memory, always ended by NUL. */
#ifndef HUTCH_TAR_TEXT_H
#define HUTCH_TAR_TEXT_H

#include <stddef.h>

struct tar_text {
    char *data; /* NULL until something was appended */
    size_t length;
    size_t capacity;
};

/* Returns 0, or -1 with errno and the text as it was. */
int tar_text_append(struct tar_text *text, const char *data, size_t length);
int tar_text_set(struct tar_text *text, const char *data, size_t length);
void tar_text_cut(struct tar_text *text, size_t length);
void tar_text_done(struct tar_text *text);

static inline const char *tar_text_of(const struct tar_text *text)
{
    return text->data ? text->data : "";
}

#endif
