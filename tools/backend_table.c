/* SPDX-License-Identifier: Apache-2.0 */
/* backend_table [FILE]: what each backend enforces, as a Markdown table on standard output; with a
 * FILE, fails unless that table is in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/enforcement.h"
#include "util/buf.h"

#define TEXT_MAX_BYTES (1u << 20)

static void write_row(struct hutch_buf *text, enum hutch_promise promise)
{
    size_t count;
    const struct hutch_enforcement *rows = hutch_enforcements(&count);
    hutch_buf_printf(text, "| `%s` | %s |", hutch_promise_name(promise),
                     hutch_promise_doc(promise));
    for (size_t i = 0; i < count; i++) {
        const char *where = rows[i].where[promise];
        hutch_buf_printf(text, " %s |", !where ? "**no**" : *where ? where : "yes");
    }
    hutch_buf_puts(text, "\n");
}

static void write_table(struct hutch_buf *text)
{
    size_t count;
    const struct hutch_enforcement *rows = hutch_enforcements(&count);
    hutch_buf_puts(text, "| limit | what it bounds |");
    for (size_t i = 0; i < count; i++)
        hutch_buf_printf(text, " %s |", rows[i].backend);
    hutch_buf_puts(text, "\n|---|---|");
    for (size_t i = 0; i < count; i++)
        hutch_buf_puts(text, "---|");
    hutch_buf_puts(text, "\n");
    for (unsigned i = 0; i < HUTCH_PROMISE_COUNT; i++)
        write_row(text, (enum hutch_promise)i);
}

static bool holds(const char *path, const char *table)
{
    static char text[TEXT_MAX_BYTES];
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (!file || fclose(file) != 0)
        return false;
    text[length] = '\0';
    return strstr(text, table) != NULL;
}

int main(int argc, char **argv)
{
    struct hutch_buf text = HUTCH_BUF(TEXT_MAX_BYTES);
    write_table(&text);
    hutch_buf_append(&text, "", 1);
    if (text.failed)
        return EXIT_FAILURE;
    bool good = argc < 2 || holds(argv[1], text.data);
    if (argc < 2 || !good)
        (void)fputs(text.data, stdout);
    if (!good)
        (void)fprintf(stderr, "the table in '%s' is not this one: put it in place of that\n",
                      argv[1]);
    hutch_buf_done(&text);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
