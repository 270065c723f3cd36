/* SPDX-License-Identifier: Apache-2.0 */
/* Four ways in which GNU tar has written down where a file's holes are: the old header 'S', pax 0.0
 * and 0.1 with the map in records, pax 1.0 with the map in front of the content. */
#include <errno.h>
#include <string.h>

#include "tar/number.h"
#include "tar/read.h"

#define OLD_IN_HEADER 4
#define OLD_IN_BLOCK 21
#define OLD_FIELD 12

/* Where in the block the pieces begin, how many there are, where it says that another block
 * follows. */
#define OLD_HEADER_BEGIN 386
#define OLD_HEADER_MORE 482
#define OLD_HEADER_SIZE 483
#define OLD_BLOCK_MORE 504

static int fail_malformed(struct tar_reader *reader)
{
    return tar_reader_fail(reader, TAR_MALFORMED, 0);
}

static int add_region(struct tar_reader *reader, uint64_t offset, uint64_t length)
{
    if (tar_regions_add(&reader->entry.regions, offset, length) == 0)
        return 0;
    return tar_reader_fail(reader, errno == ENOMEM ? TAR_MEMORY : TAR_MALFORMED, 0);
}

/* The content has to be exactly the pieces, and these have to lie within the file. */
static int settle(struct tar_reader *reader, uint64_t real_size)
{
    struct tar_entry *entry = &reader->entry;
    entry->sparse = true;
    entry->file_size = real_size;
    if (entry->regions.bytes != reader->left || !tar_regions_fit(&entry->regions, real_size))
        return fail_malformed(reader);
    return 0;
}

/* ---- the old header ---- */

static int read_old_regions(struct tar_reader *reader, const char *at, unsigned count)
{
    for (unsigned i = 0; i < count; i++, at += OLD_FIELD + OLD_FIELD) {
        int64_t offset, length;
        if (at[0] == '\0')
            break;
        if (!tar_number_read(at, OLD_FIELD, &offset) ||
            !tar_number_read(at + OLD_FIELD, OLD_FIELD, &length) || offset < 0 || length < 0)
            return fail_malformed(reader);
        if (add_region(reader, (uint64_t)offset, (uint64_t)length) < 0)
            return -1;
    }
    return 0;
}

int tar_read_gnu_sparse(struct tar_reader *reader, const char *block)
{
    int64_t real_size;
    bool more = block[OLD_HEADER_MORE];
    if (!tar_number_read(block + OLD_HEADER_SIZE, OLD_FIELD, &real_size) || real_size < 0)
        return fail_malformed(reader);
    if (read_old_regions(reader, block + OLD_HEADER_BEGIN, OLD_IN_HEADER) < 0)
        return -1;
    while (more) {
        int got = tar_in_block(&reader->in, &block);
        if (got <= 0)
            return tar_reader_fail(reader, got < 0 ? TAR_STREAM : TAR_TRUNCATED,
                                   got < 0 ? errno : 0);
        size_t before = reader->entry.regions.count;
        if (read_old_regions(reader, block, OLD_IN_BLOCK) < 0)
            return -1;
        more = block[OLD_BLOCK_MORE];
        if (more && reader->entry.regions.count == before)
            return fail_malformed(reader); /* blocks that say nothing could go on for ever */
    }
    reader->entry.type = TAR_TYPE_FILE;
    return settle(reader, (uint64_t)real_size);
}

/* ---- pax ---- */

/* A line of the map: digits and a newline. */
static int read_line(struct tar_reader *reader, uint64_t *ret_value)
{
    char digits[24];
    size_t length = 0;
    for (;;) {
        const char *data;
        long got = tar_reader_content(reader, 1, &data);
        if (got < 0)
            return -1;
        if (got == 0 || length == sizeof(digits))
            return fail_malformed(reader);
        if (*data == '\n')
            break;
        digits[length++] = *data;
    }
    return tar_decimal_read(digits, length, ret_value) ? 0 : fail_malformed(reader);
}

static int skip_to_block(struct tar_reader *reader, uint64_t begin)
{
    const char *data;
    uint64_t left = tar_padding(begin - reader->left);
    while (left) {
        long got = tar_reader_content(reader, left, &data);
        if (got <= 0)
            return got < 0 ? -1 : fail_malformed(reader);
        left -= (uint64_t)got;
    }
    return 0;
}

/* Format 1.0: the number of pieces, then their offsets and lengths, filled up to a block. */
static int read_map(struct tar_reader *reader)
{
    uint64_t begin = reader->left, count = 0, offset = 0, length = 0;
    if (read_line(reader, &count) < 0)
        return -1;
    for (; count; count--)
        if (read_line(reader, &offset) < 0 || read_line(reader, &length) < 0 ||
            add_region(reader, offset, length) < 0)
            return -1;
    return skip_to_block(reader, begin);
}

static int take_regions(struct tar_reader *reader, const struct tar_pax *pax)
{
    for (size_t i = 0; i < pax->regions.count; i++)
        if (add_region(reader, pax->regions.items[i].offset, pax->regions.items[i].length) < 0)
            return -1;
    return 0;
}

int tar_read_pax_sparse(struct tar_reader *reader)
{
    const struct tar_pax *pax = &reader->local;
    bool in_content = tar_pax_has(pax, TAR_PAX_SPARSE_MAJOR);
    if (reader->entry.type != TAR_TYPE_FILE ||
        (!in_content && !tar_pax_has(pax, TAR_PAX_REAL_SIZE)))
        return 0;
    if (!tar_pax_has(pax, TAR_PAX_REAL_SIZE) ||
        (in_content && (pax->sparse_major != 1 || pax->sparse_minor != 0)))
        return fail_malformed(reader);
    if (tar_pax_has(pax, TAR_PAX_SPARSE_NAME) &&
        tar_text_set(&reader->entry.name, pax->sparse_name.data, pax->sparse_name.length) < 0)
        return tar_reader_fail(reader, TAR_MEMORY, errno);
    if ((in_content ? read_map(reader) : take_regions(reader, pax)) < 0)
        return -1;
    return settle(reader, pax->real_size);
}
