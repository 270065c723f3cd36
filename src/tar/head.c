/* SPDX-License-Identifier: Apache-2.0 */
#include "tar/head.h"

#include <stdio.h>
#include <string.h>

#include "tar/number.h"
#include "tar/pax.h"

static size_t digits_of(size_t number)
{
    size_t digits = 1;
    while (number /= 10)
        digits++;
    return digits;
}

/* A record counts its own length, digits included. */
static int add_long_record(struct tar_text *records, const char *prefix, const char *key,
                           const char *value, size_t length)
{
    size_t rest = strlen(prefix) + strlen(key) + length + 3, total = rest;
    char digits[24];
    while (total != rest + digits_of(total))
        total = rest + digits_of(total);
    int begin = snprintf(digits, sizeof(digits), "%zu ", total);
    if (tar_text_append(records, digits, (size_t)begin) < 0 ||
        tar_text_append(records, prefix, strlen(prefix)) < 0 ||
        tar_text_append(records, key, strlen(key)) < 0 || tar_text_append(records, "=", 1) < 0 ||
        tar_text_append(records, value, length) < 0)
        return -1;
    return tar_text_append(records, "\n", 1);
}

static int add_record(struct tar_text *records, const char *key, const char *value, size_t length)
{
    return add_long_record(records, "", key, value, length);
}

static int add_xattrs(struct tar_text *records, const struct tar_text *xattrs)
{
    const char *name, *value;
    size_t at = 0, length;
    while (xattrs && tar_pax_next_xattr(xattrs, &at, &name, &value, &length))
        if (add_long_record(records, TAR_XATTR_PREFIX, name, value, length) < 0)
            return -1;
    return 0;
}

static int add_number(struct tar_text *records, const char *key, uint64_t value)
{
    char text[24];
    int length = snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return add_record(records, key, text, (size_t)length);
}

/* Octal into the field, or a record when it has too many digits for it. */
static int put_number(char *field, size_t size, const char *key, uint64_t value,
                      struct tar_text *records)
{
    return tar_number_write(field, size, value) ? 0 : add_number(records, key, value);
}

/* Bytes as they are: names need not be UTF-8, and all readers take them so. */
static int put_text(char *field, size_t size, const char *key, const char *text,
                    struct tar_text *records)
{
    size_t length = strlen(text);
    memcpy(field, text, TAR_MIN(length, size));
    return length <= size ? 0 : add_record(records, key, text, length);
}

static int put_time(struct tar_ustar *block, const struct timespec *time, struct tar_text *records)
{
    char text[TAR_TIME_BYTES];
    uint64_t seconds = time->tv_sec < 0 ? 0 : (uint64_t)time->tv_sec;
    bool fits = tar_number_write(block->mtime, sizeof(block->mtime), seconds);
    if (fits && time->tv_sec >= 0 && time->tv_nsec == 0)
        return 0;
    tar_time_write(text, time);
    return add_record(records, "mtime", text, strlen(text));
}

/* GNU's sparse format 1.0: who does not know it unpacks the map and the pieces under another name.
 */
static int put_sparse(struct tar_ustar *block, const struct tar_head *head,
                      struct tar_text *records)
{
    const char *slash = strrchr(head->name, '/');
    (void)snprintf(block->name, sizeof(block->name), "GNUSparseFile.0/%s",
                   slash ? slash + 1 : head->name);
    if (add_number(records, "GNU.sparse.major", 1) < 0 ||
        add_number(records, "GNU.sparse.minor", 0) < 0 ||
        add_record(records, "GNU.sparse.name", head->name, strlen(head->name)) < 0)
        return -1;
    return add_number(records, "GNU.sparse.realsize", head->real_size);
}

static int fill(struct tar_ustar *block, const struct tar_head *head, struct tar_text *records)
{
    const struct tar_attributes *attributes = &head->attributes;
    *block = (struct tar_ustar){.type = (char)head->type};
    (void)tar_number_write(block->mode, sizeof(block->mode), attributes->mode & 07777);
    if (head->sparse ? put_sparse(block, head, records) < 0
                     : put_text(block->name, sizeof(block->name), "path", head->name, records) < 0)
        return -1;
    if (head->link &&
        put_text(block->link, sizeof(block->link), "linkpath", head->link, records) < 0)
        return -1;
    if (put_number(block->uid, sizeof(block->uid), "uid", attributes->uid, records) < 0 ||
        put_number(block->gid, sizeof(block->gid), "gid", attributes->gid, records) < 0 ||
        put_number(block->size, sizeof(block->size), "size", head->size, records) < 0)
        return -1;
    if (put_time(block, &attributes->mtime, records) < 0)
        return -1;
    return add_xattrs(records, head->xattrs);
}

static int write_block(struct tar_out *out, struct tar_ustar *block)
{
    unsigned sum = 0;
    memcpy(block->magic, "ustar", 6);
    memcpy(block->version, "00", 2);
    memset(block->checksum, ' ', sizeof(block->checksum));
    const unsigned char *bytes = (const unsigned char *)block;
    for (size_t i = 0; i < sizeof(*block); i++)
        sum += bytes[i];
    (void)tar_number_write(block->checksum, sizeof(block->checksum) - 1, sum);
    return tar_out_write(out, block, sizeof(*block));
}

static int write_records(struct tar_out *out, const struct tar_text *records)
{
    struct tar_ustar block = {.name = "././@PaxHeader", .type = TAR_TYPE_PAX};
    (void)tar_number_write(block.mode, sizeof(block.mode), 0644);
    (void)tar_number_write(block.uid, sizeof(block.uid), 0);
    (void)tar_number_write(block.gid, sizeof(block.gid), 0);
    (void)tar_number_write(block.mtime, sizeof(block.mtime), 0);
    (void)tar_number_write(block.size, sizeof(block.size), records->length);
    if (write_block(out, &block) < 0 || tar_out_write(out, records->data, records->length) < 0)
        return -1;
    return tar_out_zeros(out, tar_padding(records->length));
}

int tar_head_write(struct tar_out *out, const struct tar_head *head, struct tar_text *scratch)
{
    struct tar_ustar block;
    tar_text_cut(scratch, 0);
    if (fill(&block, head, scratch) < 0)
        return -1;
    if (scratch->length && write_records(out, scratch) < 0)
        return -1;
    return write_block(out, &block);
}
