/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pretty.h"

#include <stdlib.h>
#include <string.h>

#include "cli/plain.h"

/* The end of a string that starts here, past its closing quote. */
static const char *string_end(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1])
            at++;
    return *at ? at + 1 : at;
}

static void break_line(FILE *file, int depth)
{
    (void)fprintf(file, "\n%*s", depth * 2, "");
}

/* One sign of the structure, or a piece of a number or a word. */
static void write_sign(FILE *file, const char *at, int *depth)
{
    if (strchr("]}", *at))
        break_line(file, --*depth);
    (void)fputc(*at, file);
    if (*at == ':')
        (void)fputc(' ', file);
    if (strchr("[{", *at))
        ++*depth;
    if (strchr("[{,", *at))
        break_line(file, *depth);
}

void cli_json_pretty(FILE *file, const char *json)
{
    char *plain = cli_plain(json);
    int depth = 0;
    for (const char *at = plain; at && *at;) {
        if (*at == '"') {
            const char *end = string_end(at);
            (void)fwrite(at, 1, (size_t)(end - at), file);
            at = end;
        } else if (!strncmp(at, "{}", 2) || !strncmp(at, "[]", 2)) {
            (void)fwrite(at, 1, 2, file);
            at += 2;
        } else {
            write_sign(file, at++, &depth);
        }
    }
    (void)fputc('\n', file);
    free(plain);
}
