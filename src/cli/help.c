/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/output.h"

enum { PAGE_WIDTH = 80, TEXT_COLUMN = 28 };

/* Headings, in this order; a verb without fields of the spec has only the last. */
static const char *const groups[] = {"Root",    "Files",   "Environment", "Limits",
                                     "Network", "Sandbox", "Flags"};

/* Which heading a field's flag stands under; a field not named here is about the sandbox as a
 * whole. A name that ends in '.' stands for everything beneath it. */
static const struct {
    const char *field;
    const char *group;
} field_groups[] = {
    {"rootfs", "Root"},          {"backend", "Root"},
    {"hostname", "Root"},        {"user", "Root"},
    {"workdir", "Root"},         {"workspace", "Files"},
    {"mounts", "Files"},         {"tmpfs", "Files"},
    {"artifacts", "Files"},      {"env", "Environment"},
    {"pass_env", "Environment"}, {"env_files", "Environment"},
    {"secrets", "Environment"},  {"redact", "Environment"},
    {"limits.", "Limits"},       {"allow_missing", "Limits"},
    {"egress", "Network"},       {"egress_limits.", "Network"},
    {"read_only", "Files"},
};

static const char *group_of_field(const char *field)
{
    for (size_t i = 0; i < CLI_COUNT(field_groups); i++) {
        const char *name = field_groups[i].field;
        size_t length = strlen(name);
        bool prefix = name[length - 1] == '.';
        if (prefix ? !strncmp(field, name, length) : !strcmp(field, name))
            return field_groups[i].group;
    }
    return "Sandbox";
}

static const char *group_of(const struct cli_option *option)
{
    if (option->kind == CLI_OPTION_FIELD)
        return group_of_field(option->field);
    return option->group ? option->group : "Flags";
}

/* Prints words from the current column on, breaking lines before PAGE_WIDTH. */
static void print_wrapped(FILE *file, size_t *column, size_t indent, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, " ");
        if (*column > indent && *column + 1 + length > PAGE_WIDTH) {
            (void)fprintf(file, "\n%*s", (int)indent, "");
            *column = indent;
        } else if (*column > indent) {
            (void)fputc(' ', file);
            *column += 1;
        }
        (void)fwrite(text, 1, length, file);
        *column += length;
        text += length;
        text += strspn(text, " ");
    }
}

/* "-w, --workdir DIR": fits any buffer of twice the longest name and metavar together. */
static int format_flag(char *label, size_t size, const struct cli_option *option)
{
    char short_part[5] = "    ";
    if (option->short_name)
        (void)snprintf(short_part, sizeof(short_part), "-%c, ", option->short_name);
    return snprintf(label, size, "  %s--%s%s%s", short_part, option->name,
                    option->metavar ? " " : "", option->metavar ? option->metavar : "");
}

static void print_flag(FILE *file, const struct cli_option *option)
{
    char label[128];
    char note[160] = "";
    size_t column = (size_t)format_flag(label, sizeof(label), option);
    (void)fputs(label, file);
    if (column + 1 > TEXT_COLUMN) {
        (void)fputc('\n', file);
        column = 0;
    }
    (void)fprintf(file, "%*s", (int)(TEXT_COLUMN - column), "");
    column = TEXT_COLUMN;
    print_wrapped(file, &column, TEXT_COLUMN, option->help);
    if (option->default_text)
        (void)snprintf(note, sizeof(note), "[%s]", option->default_text);
    else if (option->repeats)
        (void)snprintf(note, sizeof(note), "[may repeat]");
    print_wrapped(file, &column, TEXT_COLUMN, note);
    (void)fputc('\n', file);
}

static void print_flags(FILE *file, const struct cli_options *options)
{
    for (size_t g = 0; g < CLI_COUNT(groups); g++) {
        bool titled = false;
        for (size_t i = 0; i < options->count; i++) {
            const struct cli_option *option = &options->items[i];
            if (!option->help || strcmp(group_of(option), groups[g]) != 0)
                continue;
            if (!titled)
                (void)fprintf(file, "\n%s\n", groups[g]);
            titled = true;
            print_flag(file, option);
        }
    }
}

static void print_inner(FILE *file, const struct cli_verb *verb)
{
    size_t count = 0;
    const struct cli_verb *const *inner = verb->inner ? verb->inner(&count) : NULL;
    if (count)
        (void)fputs("\nCommands\n", file);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(file, "  %-9s %s\n", cli_verb_word(inner[i]), inner[i]->summary);
    if (count)
        (void)fprintf(file, "\n'hutch %s COMMAND --help' tells more about one of them.\n",
                      verb->name);
}

static void print_verb(FILE *file, const struct cli_verb *verb, const struct cli_options *options)
{
    (void)fprintf(file, "Usage: hutch %s%s%s\n\n%s.\n", verb->name, *verb->usage ? " " : "",
                  verb->usage, verb->summary);
    print_inner(file, verb);
    print_flags(file, options);
    if (verb->details)
        (void)fprintf(file, "\n%s", verb->details);
}

/* scdoc gives '_' and '*' a meaning, also inside words: a backslash takes it away. */
static void print_escapedn(FILE *file, const char *text, size_t length)
{
    for (; *text && length; text++, length--) {
        if (strchr("_*\\<>#`[]", *text))
            (void)fputc('\\', file);
        (void)fputc(*text, file);
    }
}

static void print_escaped(FILE *file, const char *text)
{
    print_escapedn(file, text, SIZE_MAX);
}

static void print_scdoc_flag(FILE *file, const struct cli_option *option)
{
    (void)fputc('*', file);
    if (option->short_name)
        (void)fprintf(file, "-%c*, *", option->short_name);
    (void)fprintf(file, "--%s*", option->name);
    if (option->metavar) {
        (void)fputc(' ', file);
        print_escaped(file, option->metavar);
    }
    (void)fputs("\n\t", file);
    print_escaped(file, option->help);
    if (option->repeats)
        (void)fputs(" May be given many times.", file);
    if (option->default_text) {
        (void)fputs(" Default: ", file);
        print_escaped(file, option->default_text);
        (void)fputc('.', file);
    }
    (void)fputs("\n\n", file);
}

static void print_scdoc(FILE *file, const struct cli_verb *verb, const struct cli_options *options)
{
    for (size_t g = 0; g < CLI_COUNT(groups); g++) {
        bool titled = !verb->fields; /* a short list needs no headings */
        for (size_t i = 0; i < options->count; i++) {
            const struct cli_option *option = &options->items[i];
            if (!option->help || strcmp(group_of(option), groups[g]) != 0)
                continue;
            if (!titled)
                (void)fprintf(file, "## %s\n\n", groups[g]);
            titled = true;
            print_scdoc_flag(file, option);
        }
    }
}

/* The rest is examples, laid out for a terminal. */
static void print_first_paragraph(FILE *file, const char *text)
{
    const char *end = strstr(text, "\n\n");
    size_t length = end ? (size_t)(end - text) : strlen(text);
    while (length && text[length - 1] == '\n')
        length--;
    print_escapedn(file, text, length);
}

/* A command of a verb's own, as a chapter of the verb's page. */
static void print_scdoc_inner(FILE *file, const struct cli_verb *verb,
                              const struct cli_options *options)
{
    (void)fprintf(file, "## %s\n\n*hutch %s* ", cli_verb_word(verb), verb->name);
    print_escaped(file, verb->usage);
    (void)fputs("\n\n", file);
    print_escaped(file, verb->summary);
    (void)fputs(".\n", file);
    print_first_paragraph(file, verb->details ? verb->details : "");
    (void)fputs("\n\n", file);
    for (size_t i = 0; i < options->count; i++)
        if (options->items[i].help && options->items[i].kind != CLI_OPTION_HELP)
            print_scdoc_flag(file, &options->items[i]);
}

typedef void (*verb_printer)(FILE *file, const struct cli_verb *verb,
                             const struct cli_options *options);

static int show_verb(const struct cli_verb *verb, verb_printer print)
{
    struct cli_options options;
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (cli_text_open(&text, &err) < 0)
        return cli_report(&err);
    cli_options_init(&options, verb);
    print(text.file, verb, &options);
    return cli_text_send(&text, &err) < 0 ? cli_report(&err) : 0;
}

int cli_help_verb(const struct cli_verb *verb)
{
    return show_verb(verb, print_verb);
}

static int show_scdoc_inner(const struct cli_verb *const *inner, size_t count)
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (cli_text_open(&text, &err) < 0)
        return cli_report(&err);
    for (size_t i = 0; i < count; i++) {
        struct cli_options options;
        cli_options_init(&options, inner[i]);
        print_scdoc_inner(text.file, inner[i], &options);
    }
    return cli_text_send(&text, &err) < 0 ? cli_report(&err) : 0;
}

int cli_help_scdoc(const struct cli_verb *verb)
{
    size_t count = 0;
    const struct cli_verb *const *inner = verb->inner ? verb->inner(&count) : NULL;
    return count ? show_scdoc_inner(inner, count) : show_verb(verb, print_scdoc);
}

static void print_overview(FILE *file)
{
    size_t count = 0;
    const struct cli_verb *const *verbs = cli_verbs(&count);
    const char *group = "";
    (void)fputs("hutch runs a command in a sandbox and tells exactly what happened.\n\n"
                "Usage: hutch [--host DAEMON] COMMAND [FLAG]... [ARGUMENT]...\n",
                file);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(group, verbs[i]->group) != 0)
            (void)fprintf(file, "\n%s\n", verbs[i]->group);
        group = verbs[i]->group;
        (void)fprintf(file, "  %-9s %s\n", verbs[i]->name, verbs[i]->summary);
    }
    (void)fputs("\nTry\n"
                "  hutch run -- python3 -c 'print(6*7)'\n"
                "  hutch run --workspace . --memory 1g --timeout 60s -- make test\n"
                "  hutch create --name work && hutch exec work -- sh -c 'echo hello > kept'\n"
                "\nWith a daemon ('hutch serve') doing it, here or elsewhere\n"
                "  hutch --host unix:///run/hutch/serve.sock run -- echo hello\n"
                "  HUTCH_HOST=https://build.example:8888 HUTCH_TOKEN=... hutch ls\n"
                "\n'hutch COMMAND --help' tells more about one of them.\n",
                file);
}

/* Two verbs are explained by what is said about them here; the others have a page. */
static void print_overview_scdoc(FILE *file)
{
    size_t count = 0;
    const struct cli_verb *const *verbs = cli_verbs(&count);
    const char *group = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(group, verbs[i]->group) != 0)
            (void)fprintf(file, "## %s\n\n", verbs[i]->group);
        group = verbs[i]->group;
        (void)fprintf(file, "*%s*\n\t", verbs[i]->name);
        print_escaped(file, verbs[i]->summary);
        if (strcmp(group, "About") != 0)
            (void)fprintf(file, ". See *hutch-%s*(1)", verbs[i]->name);
        (void)fputs(".\n\n", file);
    }
}

static int show_overview(void (*print)(FILE *file))
{
    CLI_CLEANUP(cli_text_done) struct cli_text text = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (cli_text_open(&text, &err) < 0)
        return cli_report(&err);
    print(text.file);
    return cli_text_send(&text, &err) < 0 ? cli_report(&err) : 0;
}

int cli_help_overview(void)
{
    return show_overview(print_overview);
}

int cli_help_overview_scdoc(void)
{
    return show_overview(print_overview_scdoc);
}
