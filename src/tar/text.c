/* SPDX-License-Identifier: Apache-2.0 */
#include "tar/text.h"

#include <stdlib.h>
#include <string.h>

static int make_room(struct tar_text *text, size_t length)
{
    size_t capacity = text->capacity ? text->capacity : 256;
    while (capacity - text->length <= length)
        capacity *= 2;
    if (capacity == text->capacity)
        return 0;
    char *data = realloc(text->data, capacity);
    if (!data)
        return -1;
    text->data = data;
    text->capacity = capacity;
    return 0;
}

int tar_text_append(struct tar_text *text, const char *data, size_t length)
{
    if (make_room(text, length) < 0)
        return -1;
    if (length)
        memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = '\0';
    return 0;
}

int tar_text_set(struct tar_text *text, const char *data, size_t length)
{
    tar_text_cut(text, 0);
    return tar_text_append(text, data, length);
}

void tar_text_cut(struct tar_text *text, size_t length)
{
    text->length = length;
    if (text->data)
        text->data[length] = '\0';
}

void tar_text_done(struct tar_text *text)
{
    free(text->data);
    *text = (struct tar_text){0};
}
