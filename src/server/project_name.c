/* SPDX-License-Identifier: Apache-2.0 */
#include "server/project_name.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 48 /* there is room for "-" and eight digits behind it */

static bool is_plain(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

static char lower(char byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return (char)(byte - 'A' + 'a');
    return byte;
}

/* Of every run of bytes that a name cannot have, one hyphen stays; none at either end. */
bool project_name(const char *given, char ret_name[PROJECT_NAME_BYTES])
{
    size_t length = 0;
    for (; *given && length < LONGEST; given++) {
        char byte = lower(*given);
        bool stays = is_plain(byte) || byte == '_' || byte == '.';
        if (is_plain(byte) || (stays && length))
            ret_name[length++] = byte;
        else if (!stays && length && ret_name[length - 1] != '-')
            ret_name[length++] = '-';
    }
    while (length && !is_plain(ret_name[length - 1]))
        length--;
    ret_name[length] = '\0';
    return length > 0;
}

void project_name_with(const char *name, uint32_t number, char ret_name[PROJECT_NAME_BYTES])
{
    (void)snprintf(ret_name, PROJECT_NAME_BYTES, "%.*s-%08x", LONGEST, name, (unsigned)number);
}
