/* SPDX-License-Identifier: Apache-2.0 */
#include "tar/format.h"

#include <string.h>

static const char *const texts[] = {
#define X(name, text) [TAR_##name] = (text),
    TAR_FAILURES(X)
#undef X
};

const char *tar_failure_text(enum tar_what what)
{
    size_t index = (size_t)what; /* it may have come through a pipe */
    return index < sizeof(texts) / sizeof(texts[0]) ? texts[index] : texts[TAR_MALFORMED];
}

static char printable(char character)
{
    if ((unsigned char)character < ' ' || character == 0x7f)
        return '?';
    return character;
}

int tar_fail(struct tar_failure *failure, enum tar_what what, int os_errno, const char *path)
{
    size_t length = path ? strnlen(path, sizeof(failure->path) - 1) : 0;
    failure->what = what;
    failure->os_errno = os_errno;
    for (size_t i = 0; i < length; i++)
        failure->path[i] = printable(path[i]);
    failure->path[length] = '\0';
    return -1;
}
