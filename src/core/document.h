/* SPDX-License-Identifier: Apache-2.0 */
/* JSON and YAML become one kind of tree. The document remembers which of its values was looked at
 * last, so that a message about a value can name the line. */
#ifndef HUTCH_CORE_DOCUMENT_H
#define HUTCH_CORE_DOCUMENT_H

#include "core/value.h"
#include "hutch/spec.h"

struct hutch_document {
    struct hutch_value root; /* an object */
    bool tells_lines;        /* not of JSON, which programs write, often as a single line */
    unsigned line;           /* of the node visited last, 0 when lines are not told */
};

/* A value of a document. Borrowed from it. */
struct hutch_node {
    const struct hutch_value *value;
    struct hutch_document *document;
};

int hutch_document_parse(const char *text, size_t length, enum hutch_format format,
                         struct hutch_document *ret_document, struct hutch_error *err);
void hutch_document_done(struct hutch_document *document);

struct hutch_node hutch_document_root(struct hutch_document *document);
/* The node's index-th item. The document remembers that it was visited. */
struct hutch_node hutch_node_item(struct hutch_node node, size_t index);

/* For document.c: in document_yaml.c, or a stand-in where there is no libyaml (src/small). */
int hutch_yaml_parse(const char *text, size_t length, struct hutch_value *ret_value,
                     struct hutch_error *err);

#endif
