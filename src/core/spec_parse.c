/* SPDX-License-Identifier: Apache-2.0 */
/* A document becomes a spec. */
#include <stdio.h>
#include <string.h>

#include "core/document.h"
#include "core/field.h"
#include "core/spec.h"
#include "util/own.h"

/* A key of a document, by its dotted path: a field, or a group whose keys follow. */
static int read_key(struct hutch_spec *spec, const char *group, struct hutch_node node,
                    struct hutch_error *err);

static int read_group(struct hutch_spec *spec, const char *group, struct hutch_node node,
                      struct hutch_error *err)
{
    if (node.value->type == HUTCH_VALUE_NULL) /* as with any field: not given */
        return 0;
    if (node.value->type != HUTCH_VALUE_OBJECT)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "%s: %s stands where an object must be", group,
                          hutch_value_kind(node.value));
    for (size_t i = 0; i < node.value->list.count; i++) {
        int r = read_key(spec, group, hutch_node_item(node, i), err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_key(struct hutch_spec *spec, const char *group, struct hutch_node node,
                    struct hutch_error *err)
{
    const char *key = node.value->key;
    char path[HUTCH_FIELD_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s%s%s", group, *group ? "." : "", key);
    int index = hutch_field_find(path);
    if (index >= 0 && strchr(key, '.'))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%s' is one key, write '%s' as a key inside '%.*s'", path,
                          strchr(path, '.') + 1, (int)strcspn(path, "."), path);
    if (index >= 0)
        return hutch_field_read(spec, (size_t)index, node, err);
    if (hutch_field_is_group(path))
        return read_group(spec, path, node, err);
    return hutch_field_fail_unknown(path, err);
}

int hutch_spec_parse(struct hutch_spec *spec, const char *text, size_t length,
                     enum hutch_format format, struct hutch_error *err)
{
    hutch_cleanup(hutch_document_done) struct hutch_document document = {0};
    int r = hutch_document_parse(text, length, format, &document, err);
    if (r < 0)
        return r;
    r = read_group(spec, "", hutch_document_root(&document), err);
    if (r < 0 && document.line)
        return hutch_wrap(err, "line %u: ", document.line);
    return r;
}
