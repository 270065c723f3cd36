/* SPDX-License-Identifier: Apache-2.0 */
/* Every byte here may be an attacker's. Sizes are believed only as far as bytes really come, and no
 * memory is taken for a size that was merely claimed. */
#include "tar/read.h"

#include <errno.h>
#include <string.h>

#include "tar/number.h"

/* Extended attributes and maps of sparse files are the largest that is found in practice. */
#define MAX_RECORDS_BYTES (8u << 20)
/* Headers that only prepare the next entry do not count as entries, so they have a ceiling too. */
#define MAX_EXTENSIONS 16

int tar_reader_fail(struct tar_reader *reader, enum tar_what what, int os_errno)
{
    return tar_fail(reader->failure, what, os_errno, tar_text_of(&reader->entry.name));
}

int tar_reader_init(struct tar_reader *reader, const struct tar_unpack_options *options, int fd,
                    struct tar_failure *failure)
{
    *reader = (struct tar_reader){.failure = failure, .is_layer = options->rules};
    reader->local.wants_xattrs = reader->is_layer;
    if (tar_in_init(&reader->in, fd, options->lend, options->context) < 0)
        return tar_reader_fail(reader, TAR_MEMORY, errno);
    return 0;
}

void tar_reader_done(struct tar_reader *reader)
{
    tar_in_done(&reader->in);
    tar_pax_done(&reader->global);
    tar_pax_done(&reader->local);
    tar_text_done(&reader->entry.name);
    tar_text_done(&reader->entry.link);
    tar_text_done(&reader->entry.xattrs);
    tar_regions_done(&reader->entry.regions);
    tar_text_done(&reader->gnu_name);
    tar_text_done(&reader->gnu_link);
    tar_text_done(&reader->records);
}

long tar_reader_content(struct tar_reader *reader, uint64_t max, const char **ret_data)
{
    max = TAR_MIN(max, reader->left);
    if (max == 0)
        return 0;
    long got = tar_in_some(&reader->in, max, ret_data);
    if (got <= 0)
        return tar_reader_fail(reader, got < 0 ? TAR_STREAM : TAR_TRUNCATED, got < 0 ? errno : 0);
    reader->left -= (uint64_t)got;
    return got;
}

int tar_reader_fill(struct tar_reader *reader, char *to, size_t length)
{
    if (length > reader->left)
        return tar_reader_fail(reader, TAR_TRUNCATED, 0);
    int got = tar_in_fill(&reader->in, to, length);
    if (got <= 0)
        return tar_reader_fail(reader, got < 0 ? TAR_STREAM : TAR_TRUNCATED, got < 0 ? errno : 0);
    reader->left -= length;
    return 0;
}

static int skip_content(struct tar_reader *reader)
{
    const char *data;
    long got;
    while ((got = tar_reader_content(reader, UINT64_MAX, &data)) > 0)
        continue;
    reader->left = got < 0 ? 0 : reader->padding;
    reader->padding = 0;
    while (got >= 0 && (got = tar_reader_content(reader, UINT64_MAX, &data)) > 0)
        continue;
    return (int)got;
}

/* The content of an extension header. */
static int read_records(struct tar_reader *reader, struct tar_text *to)
{
    const char *data;
    long got;
    tar_text_cut(to, 0);
    if (reader->left > MAX_RECORDS_BYTES)
        return tar_reader_fail(reader, TAR_TOO_LONG, 0);
    while ((got = tar_reader_content(reader, UINT64_MAX, &data)) > 0)
        if (tar_text_append(to, data, (size_t)got) < 0)
            return tar_reader_fail(reader, TAR_MEMORY, errno);
    return (int)got;
}

/* A name that is the content of a header, with a NUL at its end. */
static int read_gnu_name(struct tar_reader *reader, struct tar_text *to, bool *ret_has)
{
    if (read_records(reader, to) < 0)
        return -1;
    tar_text_cut(to, strnlen(tar_text_of(to), to->length));
    *ret_has = true;
    return 0;
}

static int read_pax(struct tar_reader *reader, bool global)
{
    struct tar_pax *pax = global ? &reader->global : &reader->local;
    if (read_records(reader, &reader->records) < 0)
        return -1;
    if (tar_pax_read(pax, &reader->records, global) == 0)
        return 0;
    return tar_reader_fail(reader, errno == ENOMEM ? TAR_MEMORY : TAR_MALFORMED, 0);
}

static bool is_zero(const char *block)
{
    return block[0] == '\0' && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

/* Some old programs summed signed characters. */
static bool is_checksum_right(const struct tar_ustar *block)
{
    const char *bytes = (const char *)block;
    const size_t begin = offsetof(struct tar_ustar, checksum);
    int64_t expected, sum = 0, signed_sum = 0;
    for (size_t i = 0; i < sizeof(*block); i++) {
        bool inside = i >= begin && i < begin + sizeof(block->checksum);
        sum += inside ? ' ' : (unsigned char)bytes[i];
        signed_sum += inside ? ' ' : (signed char)bytes[i];
    }
    return tar_number_read(block->checksum, sizeof(block->checksum), &expected) &&
           (expected == sum || expected == signed_sum);
}

/* ustar's long names are in two pieces; GNU has other things in the second one's place. */
static int read_header_name(struct tar_entry *entry, const struct tar_ustar *block)
{
    tar_text_cut(&entry->name, 0);
    if (memcmp(block->magic, "ustar", 6) == 0 && block->prefix[0] &&
        (tar_text_append(&entry->name, block->prefix,
                         strnlen(block->prefix, sizeof(block->prefix))) < 0 ||
         tar_text_append(&entry->name, "/", 1) < 0))
        return -1;
    if (tar_text_append(&entry->name, block->name, strnlen(block->name, sizeof(block->name))) < 0)
        return -1;
    return tar_text_set(&entry->link, block->link, strnlen(block->link, sizeof(block->link)));
}

static bool take_id(const char *field, size_t size, unsigned *ret_id)
{
    int64_t value;
    if (!tar_number_read(field, size, &value) || value < 0 || value > UINT32_MAX)
        return false;
    *ret_id = (unsigned)value;
    return true;
}

static int read_header(struct tar_reader *reader, const struct tar_ustar *block)
{
    struct tar_attributes *attributes = &reader->entry.attributes;
    int64_t mode, size, mtime;
    if (read_header_name(&reader->entry, block) < 0)
        return tar_reader_fail(reader, TAR_MEMORY, errno);
    if (!is_checksum_right(block))
        return tar_reader_fail(reader, TAR_CHECKSUM, 0);
    if (!tar_number_read(block->mode, sizeof(block->mode), &mode) ||
        !tar_number_read(block->size, sizeof(block->size), &size) || size < 0 ||
        !tar_number_read(block->mtime, sizeof(block->mtime), &mtime) ||
        !take_id(block->uid, sizeof(block->uid), &attributes->uid) ||
        !take_id(block->gid, sizeof(block->gid), &attributes->gid))
        return tar_reader_fail(reader, TAR_MALFORMED, 0);
    attributes->mode = (mode_t)mode & 07777;
    attributes->mtime = (struct timespec){mtime, 0};
    reader->entry.type = block->type ? (enum tar_type)block->type : TAR_TYPE_FILE;
    reader->left = (uint64_t)size;
    reader->padding = tar_padding(reader->left);
    return 0;
}

static int apply_pax(struct tar_reader *reader, const struct tar_pax *pax)
{
    struct tar_entry *entry = &reader->entry;
    if ((tar_pax_has(pax, TAR_PAX_UID) && pax->uid > UINT32_MAX) ||
        (tar_pax_has(pax, TAR_PAX_GID) && pax->gid > UINT32_MAX))
        return tar_reader_fail(reader, TAR_MALFORMED, 0);
    if (tar_pax_has(pax, TAR_PAX_UID))
        entry->attributes.uid = (uid_t)pax->uid;
    if (tar_pax_has(pax, TAR_PAX_GID))
        entry->attributes.gid = (gid_t)pax->gid;
    if (tar_pax_has(pax, TAR_PAX_MTIME))
        entry->attributes.mtime = pax->mtime;
    if (tar_pax_has(pax, TAR_PAX_SIZE))
        reader->left = pax->size;
    if (tar_pax_has(pax, TAR_PAX_PATH) &&
        tar_text_set(&entry->name, pax->path.data, pax->path.length) < 0)
        return tar_reader_fail(reader, TAR_MEMORY, errno);
    if (tar_pax_has(pax, TAR_PAX_LINK) &&
        tar_text_set(&entry->link, pax->link.data, pax->link.length) < 0)
        return tar_reader_fail(reader, TAR_MEMORY, errno);
    return 0;
}

static int apply_gnu_names(struct tar_reader *reader)
{
    const struct tar_text *name = &reader->gnu_name, *link = &reader->gnu_link;
    if (reader->has_gnu_name &&
        tar_text_set(&reader->entry.name, tar_text_of(name), name->length) < 0)
        return tar_reader_fail(reader, TAR_MEMORY, errno);
    if (reader->has_gnu_link &&
        tar_text_set(&reader->entry.link, tar_text_of(link), link->length) < 0)
        return tar_reader_fail(reader, TAR_MEMORY, errno);
    reader->has_gnu_name = reader->has_gnu_link = false;
    return 0;
}

/* Files in v7 archives are directories when their name says so. Only files have content, whatever
 * a size says: old programs wrote those of links and directories without meaning it. */
static void settle_type(struct tar_reader *reader)
{
    struct tar_entry *entry = &reader->entry;
    size_t length = entry->name.length;
    if (entry->type == TAR_TYPE_CONTIGUOUS)
        entry->type = TAR_TYPE_FILE;
    if (entry->type == TAR_TYPE_FILE && length && entry->name.data[length - 1] == '/')
        entry->type = TAR_TYPE_DIRECTORY;
    if (entry->type != TAR_TYPE_FILE && entry->type != TAR_TYPE_GNU_SPARSE)
        reader->left = 0;
    reader->padding = tar_padding(reader->left);
    entry->file_size = reader->left;
}

static int finish_entry(struct tar_reader *reader, const char *block)
{
    reader->entry.sparse = false;
    tar_regions_clear(&reader->entry.regions);
    if (apply_pax(reader, &reader->global) < 0 || apply_gnu_names(reader) < 0 ||
        apply_pax(reader, &reader->local) < 0)
        return -1;
    settle_type(reader);
    int status = reader->entry.type == TAR_TYPE_GNU_SPARSE ? tar_read_gnu_sparse(reader, block)
                                                           : tar_read_pax_sparse(reader);
    struct tar_text former = reader->entry.xattrs;
    reader->entry.xattrs = reader->local.xattrs;
    reader->local.xattrs = former;
    tar_pax_clear(&reader->local);
    return status < 0 ? -1 : 1;
}

/* A header that is about the next one. Returns 1 when it was, 0 when it is an entry's own. */
static int read_extension(struct tar_reader *reader)
{
    int status;
    switch ((char)reader->entry.type) {
    case TAR_TYPE_GLOBAL:
        status = read_pax(reader, true);
        break;
    case TAR_TYPE_PAX:
        status = read_pax(reader, false);
        break;
    case TAR_TYPE_GNU_NAME:
        status = read_gnu_name(reader, &reader->gnu_name, &reader->has_gnu_name);
        break;
    case TAR_TYPE_GNU_LINK:
        status = read_gnu_name(reader, &reader->gnu_link, &reader->has_gnu_link);
        break;
    case TAR_TYPE_GNU_LABEL:
        status = 0;
        break;
    default:
        return 0;
    }
    return status < 0 ? -1 : 1;
}

/* At a block of zeros. Who wrote into a pipe is heard out. A layer has to end so that no other
 * program finds more files in it than we do. */
static int finish_archive(struct tar_reader *reader)
{
    const char *block;
    if (!reader->is_layer) {
        tar_in_drain(&reader->in);
        return 0;
    }
    int got = tar_in_block(&reader->in, &block);
    if (got < 0)
        return tar_reader_fail(reader, TAR_STREAM, errno);
    return got == 0 || is_zero(block) ? 0 : tar_reader_fail(reader, TAR_MALFORMED, 0);
}

int tar_reader_next(struct tar_reader *reader)
{
    for (unsigned i = 0; i < MAX_EXTENSIONS; i++) {
        const char *block;
        if (skip_content(reader) < 0)
            return -1;
        int got = tar_in_block(&reader->in, &block);
        if (got <= 0)
            return tar_reader_fail(reader, got < 0 ? TAR_STREAM : TAR_TRUNCATED,
                                   got < 0 ? errno : 0);
        if (is_zero(block))
            return finish_archive(reader);
        struct tar_ustar header;
        memcpy(&header, block, sizeof(header));
        if (read_header(reader, &header) < 0)
            return -1;
        int extension = read_extension(reader);
        if (extension <= 0)
            return extension < 0 ? -1 : finish_entry(reader, (const char *)&header);
    }
    return tar_reader_fail(reader, TAR_MALFORMED, 0);
}
