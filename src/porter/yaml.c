/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "yaml": what comes on standard input as YAML goes to standard output as JSON, for the
 * small program, which has no reader of it. Each value begins in the line in which it began, so
 * that a message about it names the right one. */
#include <stdlib.h>
#include <unistd.h>

#include "core/document.h"
#include "core/json_value.h"
#include "porter/keep.h"
#include "util/fs.h"
#include "util/own.h"

#define JSON_MAX_BYTES (16u << 20)

struct writer {
    struct hutch_json_out out;
    unsigned line;
};

/* The depth of a tree is bounded where it was read (HUTCH_DOCUMENT_MAX_DEPTH). */
static void write_value(struct writer *writer, const struct hutch_value *value)
{
    bool is_object = value->type == HUTCH_VALUE_OBJECT;
    for (; writer->line < value->line; writer->line++)
        hutch_buf_puts(writer->out.buf, "\n");
    if (!is_object && value->type != HUTCH_VALUE_ARRAY) {
        hutch_json_value(&writer->out, value->key, value);
        return;
    }
    hutch_json_open(&writer->out, value->key, is_object ? '{' : '[');
    for (size_t i = 0; i < value->list.count; i++)
        write_value(writer, &value->list.items[i]);
    hutch_json_close(&writer->out, is_object ? '}' : ']');
}

int porter_yaml(struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    size_t length = 0;
    struct hutch_value root = {0};
    hutch_cleanup(hutch_buf_done) struct hutch_buf json = HUTCH_BUF(JSON_MAX_BYTES);
    struct writer writer = {.out = {.buf = &json}, .line = 1};
    if (hutch_read_file("/proc/self/fd/0", HUTCH_DOCUMENT_MAX_BYTES, &text, &length, err) < 0 ||
        hutch_yaml_parse(text, length, &root, err) < 0)
        return -(int)err->code;
    write_value(&writer, &root);
    hutch_value_done(&root);
    if (json.failed)
        return hutch_fail_nomem(err);
    return hutch_write_all(STDOUT_FILENO, json.data, json.length) == 0
               ? 0
               : hutch_fail_errno(err, errno, "write the document");
}
