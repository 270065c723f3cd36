/* SPDX-License-Identifier: Apache-2.0 */
#include "core/document.h"

#include "core/json_in.h"
#include "util/own.h"

void hutch_document_done(struct hutch_document *document)
{
    hutch_value_done(&document->root);
    *document = (struct hutch_document){0};
}

int hutch_document_parse(const char *text, size_t length, enum hutch_format format,
                         struct hutch_document *ret_document, struct hutch_error *err)
{
    hutch_cleanup(hutch_value_done) struct hutch_value root = {0};
    bool is_yaml = format == HUTCH_FORMAT_YAML;
    int r = is_yaml ? hutch_yaml_parse(text, length, &root, err)
                    : hutch_json_parse(text, length, &root, err);
    if (r < 0)
        return r;
    if (root.type != HUTCH_VALUE_OBJECT)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the document is %s, it must be an object such as "
                          "{\"command\": [\"true\"]}",
                          hutch_value_kind(&root));
    *ret_document = (struct hutch_document){.root = root, .tells_lines = is_yaml};
    root = (struct hutch_value){0};
    return 0;
}

static struct hutch_node visit(struct hutch_document *document, const struct hutch_value *value)
{
    document->line = document->tells_lines ? value->line : 0;
    return (struct hutch_node){value, document};
}

struct hutch_node hutch_document_root(struct hutch_document *document)
{
    return visit(document, &document->root);
}

struct hutch_node hutch_node_item(struct hutch_node node, size_t index)
{
    return visit(node.document, &node.value->list.items[index]);
}
