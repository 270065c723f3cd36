/* SPDX-License-Identifier: Apache-2.0 */
#include "tar/pax.h"

#include <errno.h>
#include <string.h>

#include "tar/number.h"

enum kind { TEXT, NUMBER, TIME, REGION_OFFSET, REGION_LENGTH, REGION_MAP };

struct key {
    const char *name;
    enum kind kind;
    enum tar_pax_key key;
    size_t field;
    bool local_only;
};

#define FIELD(member) offsetof(struct tar_pax, member)

static const struct key keys[] = {
    {"path", TEXT, TAR_PAX_PATH, FIELD(path), false},
    {"linkpath", TEXT, TAR_PAX_LINK, FIELD(link), false},
    {"size", NUMBER, TAR_PAX_SIZE, FIELD(size), false},
    {"uid", NUMBER, TAR_PAX_UID, FIELD(uid), false},
    {"gid", NUMBER, TAR_PAX_GID, FIELD(gid), false},
    {"mtime", TIME, TAR_PAX_MTIME, FIELD(mtime), false},
    {"GNU.sparse.major", NUMBER, TAR_PAX_SPARSE_MAJOR, FIELD(sparse_major), true},
    {"GNU.sparse.minor", NUMBER, TAR_PAX_SPARSE_MINOR, FIELD(sparse_minor), true},
    {"GNU.sparse.name", TEXT, TAR_PAX_SPARSE_NAME, FIELD(sparse_name), true},
    {"GNU.sparse.realsize", NUMBER, TAR_PAX_REAL_SIZE, FIELD(real_size), true},
    {"GNU.sparse.size", NUMBER, TAR_PAX_REAL_SIZE, FIELD(real_size), true},
    {"GNU.sparse.offset", REGION_OFFSET, TAR_PAX_REGIONS, FIELD(region_offset), true},
    {"GNU.sparse.numbytes", REGION_LENGTH, TAR_PAX_REGIONS, FIELD(regions), true},
    {"GNU.sparse.map", REGION_MAP, TAR_PAX_REGIONS, FIELD(regions), true},
};

static int malformed(void)
{
    errno = EBADMSG;
    return -1;
}

static int read_text(struct tar_text *to, const char *value, size_t length)
{
    if (memchr(value, '\0', length))
        return malformed();
    return tar_text_set(to, value, length);
}

/* offset,length,offset,length,... */
static int read_map(struct tar_regions *regions, const char *value, size_t length)
{
    const char *end = value + length;
    uint64_t numbers[2];
    unsigned have = 0;
    tar_regions_clear(regions);
    for (;;) {
        const char *comma = memchr(value, ',', (size_t)(end - value));
        const char *stop = comma ? comma : end;
        if (!tar_decimal_read(value, (size_t)(stop - value), &numbers[have]))
            return malformed();
        if (have && tar_regions_add(regions, numbers[0], numbers[1]) < 0)
            return -1;
        have = !have;
        if (!comma)
            return have ? malformed() : 0;
        value = comma + 1;
    }
}

static int read_region_length(struct tar_pax *pax, const char *value, size_t length)
{
    uint64_t bytes;
    if (!tar_decimal_read(value, length, &bytes))
        return malformed();
    return tar_regions_add(&pax->regions, pax->region_offset, bytes);
}

static int read_value(struct tar_pax *pax, const struct key *key, const char *value, size_t length)
{
    void *field = (char *)pax + key->field;
    switch (key->kind) {
    case TEXT:
        return read_text(field, value, length);
    case NUMBER:
    case REGION_OFFSET:
        return tar_decimal_read(value, length, field) ? 0 : malformed();
    case TIME:
        return tar_time_read(value, length, field) ? 0 : malformed();
    case REGION_LENGTH:
        return read_region_length(pax, value, length);
    case REGION_MAP:
        return read_map(field, value, length);
    }
    return malformed();
}

static const struct key *find_key(const char *name, size_t length)
{
    for (size_t i = 0; i < TAR_COUNT(keys); i++)
        if (strncmp(keys[i].name, name, length) == 0 && keys[i].name[length] == '\0')
            return &keys[i];
    return NULL;
}

/* ---- extended attributes ---- */

int tar_pax_add_xattr(struct tar_text *xattrs, const char *name, size_t name_length,
                      const char *value, size_t length)
{
    if (memchr(name, '\0', name_length))
        return malformed();
    if (tar_text_append(xattrs, name, name_length) < 0 || tar_text_append(xattrs, "", 1) < 0 ||
        tar_text_append(xattrs, (const char *)&length, sizeof(length)) < 0)
        return -1;
    return tar_text_append(xattrs, value, length);
}

bool tar_pax_next_xattr(const struct tar_text *xattrs, size_t *at, const char **ret_name,
                        const char **ret_value, size_t *ret_length)
{
    if (*at >= xattrs->length)
        return false;
    *ret_name = xattrs->data + *at;
    *at += strlen(*ret_name) + 1;
    memcpy(ret_length, xattrs->data + *at, sizeof(*ret_length));
    *ret_value = xattrs->data + *at + sizeof(*ret_length);
    *at += sizeof(*ret_length) + *ret_length;
    return true;
}

/* ---- records ---- */

/* An empty value takes back what was said before. */
static int read_record(struct tar_pax *pax, const char *name, const char *end, bool global)
{
    const char *equals = memchr(name, '=', (size_t)(end - name));
    if (!equals || equals == name)
        return malformed();
    size_t name_length = (size_t)(equals - name), length = (size_t)(end - equals - 1);
    size_t prefix = sizeof(TAR_XATTR_PREFIX) - 1;
    if (pax->wants_xattrs && name_length > prefix && memcmp(name, TAR_XATTR_PREFIX, prefix) == 0)
        return tar_pax_add_xattr(&pax->xattrs, name + prefix, name_length - prefix, equals + 1,
                                 length);
    const struct key *key = find_key(name, name_length);
    if (!key || (global && key->local_only))
        return 0;
    pax->has &= ~(1u << key->key);
    if (length == 0)
        return 0;
    pax->has |= 1u << key->key;
    return read_value(pax, key, equals + 1, length);
}

int tar_pax_read(struct tar_pax *pax, const struct tar_text *records, bool global)
{
    const char *at = tar_text_of(records), *end = at + records->length;
    while (at < end) {
        uint64_t length;
        const char *space = memchr(at, ' ', (size_t)(end - at));
        if (!space || !tar_decimal_read(at, (size_t)(space - at), &length))
            return malformed();
        if (length > (uint64_t)(end - at) || length < (uint64_t)(space - at) + 2 ||
            at[length - 1] != '\n')
            return malformed();
        if (read_record(pax, space + 1, at + length - 1, global) < 0)
            return -1;
        at += length;
    }
    return 0;
}

void tar_pax_clear(struct tar_pax *pax)
{
    pax->has = 0;
    pax->region_offset = 0;
    tar_regions_clear(&pax->regions);
    tar_text_cut(&pax->xattrs, 0);
}

void tar_pax_done(struct tar_pax *pax)
{
    tar_text_done(&pax->xattrs);
    tar_text_done(&pax->path);
    tar_text_done(&pax->link);
    tar_text_done(&pax->sparse_name);
    tar_regions_done(&pax->regions);
}
