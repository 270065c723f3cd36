/* SPDX-License-Identifier: Apache-2.0 */
#include "store/git_name.h"

#include <string.h>

static bool is_odd(unsigned char byte)
{
    return byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\';
}

/* git leaves a space at the end as it is, but patch would take it for none. */
static bool needs_quotes(const char *path, const char *also_quoted)
{
    size_t length = strlen(path);
    if (length && path[length - 1] == ' ')
        return true;
    for (const char *next = path; *next; next++)
        if (is_odd((unsigned char)*next) || strchr(also_quoted, *next))
            return true;
    return false;
}

static void append_escaped(struct hutch_buf *out, unsigned char byte)
{
    static const char bytes[] = "\a\b\t\n\v\f\r\"\\", letters[] = "abtnvfr\"\\";
    const char *known = memchr(bytes, byte, sizeof(bytes) - 1);
    if (!is_odd(byte))
        hutch_buf_append(out, &byte, 1);
    else if (known)
        hutch_buf_printf(out, "\\%c", letters[known - bytes]);
    else
        hutch_buf_printf(out, "\\%03o", (unsigned)byte);
}

void store_git_name(struct hutch_buf *out, const char *prefix, const char *path,
                    const char *also_quoted)
{
    if (!needs_quotes(path, also_quoted)) {
        hutch_buf_puts(out, prefix);
        hutch_buf_puts(out, path);
        return;
    }
    hutch_buf_puts(out, "\"");
    hutch_buf_puts(out, prefix);
    for (const char *next = path; *next; next++)
        append_escaped(out, (unsigned char)*next);
    hutch_buf_puts(out, "\"");
}
