/* SPDX-License-Identifier: Apache-2.0 */
#include "tar/name.h"

#include <string.h>

bool tar_name_is_component(const char *name)
{
    return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/');
}

static bool is(const char *component, size_t length, const char *text)
{
    return length == strlen(text) && memcmp(component, text, length) == 0;
}

/* A name never becomes longer by this: the result is written over what was read already. */
static enum tar_what clean(char *name, size_t *length, unsigned max_depth, enum tar_names names)
{
    char *to = name;
    const char *from = name;
    unsigned depth = 0;
    while (*(from += strspn(from, "/"))) {
        size_t part = strcspn(from, "/");
        bool is_up = is(from, part, "..");
        if (is_up && names == TAR_NAMES_REFUSE)
            return TAR_NAME;
        if (is_up) {
            to = name;
            depth = 0;
        } else if (!is(from, part, ".")) {
            if (to != name)
                *to++ = '/';
            memmove(to, from, part);
            to += part;
            depth++;
        }
        from += part;
    }
    *length = (size_t)(to - name);
    return depth > max_depth ? TAR_TOO_DEEP : TAR_FINE;
}

enum tar_what tar_name_clean(struct tar_text *name, const struct tar_unpack_options *options)
{
    size_t length = name->length;
    unsigned max_depth = options->max_depth ? options->max_depth : TAR_DEFAULT_DEPTH;
    size_t max = options->max_name_bytes ? options->max_name_bytes : TAR_DEFAULT_NAME_BYTES;
    if (length == 0 || memchr(name->data, '\0', length))
        return TAR_NAME;
    if (length > max)
        return TAR_TOO_LONG;
    if (name->data[0] == '/' && options->names == TAR_NAMES_REFUSE)
        return TAR_NAME;
    enum tar_what what = clean(name->data, &length, max_depth, options->names);
    if (what == TAR_FINE)
        tar_text_cut(name, length);
    return what;
}
