/* SPDX-License-Identifier: Apache-2.0 */
#include "store/names.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/own.h"

/* Appends every name with its NUL, and counts them. */
static int append_names(DIR *directory, struct hutch_buf *text, size_t *count)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (!entry)
            return errno ? -1 : 0;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        size_t length = strlen(entry->d_name) + 1;
        if (text->length + length > text->ceiling) {
            errno = E2BIG;
            return -1;
        }
        hutch_buf_append(text, entry->d_name, length);
        ++*count;
    }
}

static int read_directory(int fd, struct hutch_buf *text, size_t *count)
{
    if (fd < 0)
        return 0;
    int copy = dup(fd);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    if (!directory) {
        hutch_fd_close(&copy);
        return -1;
    }
    rewinddir(directory);
    int status = append_names(directory, text, count);
    int saved = errno;
    (void)closedir(directory);
    errno = saved;
    return status;
}

static int compare_names(const void *one, const void *other)
{
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static size_t drop_repeated(const char **items, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(items[kept - 1], items[i]) != 0)
            items[kept++] = items[i];
    return kept;
}

int store_names_read(int one, int other, size_t ceiling_bytes, struct store_names *ret_names)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf text = HUTCH_BUF(ceiling_bytes);
    size_t count = 0;
    if (read_directory(one, &text, &count) < 0 || read_directory(other, &text, &count) < 0)
        return -1;
    size_t size = text.length + count * sizeof(char *);
    if (size > ceiling_bytes) {
        errno = E2BIG;
        return -1;
    }
    const char **items = calloc(count + 1, sizeof(*items));
    if (text.failed || !items) {
        free(items);
        errno = ENOMEM;
        return -1;
    }
    const char *next = text.data;
    for (size_t i = 0; i < count; i++, next += strlen(next) + 1)
        items[i] = next;
    qsort(items, count, sizeof(*items), compare_names);
    *ret_names = (struct store_names){
        .items = items, .count = drop_repeated(items, count), .size_bytes = size};
    ret_names->text = HUTCH_TAKE_PTR(text.data);
    return 0;
}

void store_names_done(struct store_names *names)
{
    free(names->items);
    free(names->text);
    *names = (struct store_names){0};
}
