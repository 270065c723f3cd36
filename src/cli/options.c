/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/suggest.h"
#include "hutch/spec.h"

/* A sandbox that stays begins with other limits; a change begins with what there is. */
static const char *default_text(const struct hutch_field *field, unsigned use)
{
    if (use == HUTCH_USE_UPDATE)
        return NULL;
    if (use == HUTCH_USE_CREATE && !strcmp(field->name, "limits.disk"))
        return "10g";
    if (use == HUTCH_USE_CREATE && !strcmp(field->name, "limits.timeout"))
        return "none";
    return field->default_text;
}

static struct cli_option option_of_field(const struct hutch_field *field, unsigned use)
{
    return (struct cli_option){
        .name = field->flag,
        .short_name = field->short_flag,
        .kind = CLI_OPTION_FIELD,
        .field = field->name,
        .metavar = field->metavar,
        .default_text = default_text(field, use),
        .help = field->doc,
        .repeats = field->repeats,
    };
}

static void add_option(struct cli_options *options, const struct cli_option *option)
{
    if (options->count == CLI_OPTIONS_MAX)
        abort(); /* the tables are part of the program */
    options->items[options->count++] = *option;
}

void cli_options_init(struct cli_options *options, const struct cli_verb *verb)
{
    static const struct cli_option help = {
        .name = "help",
        .short_name = 'h',
        .kind = CLI_OPTION_HELP,
        .help = "Show this help.",
    };
    size_t field_count = 0;
    const struct hutch_field *fields = hutch_fields(&field_count);
    options->verb = verb->name;
    options->count = 0;
    for (size_t i = 0; i < field_count; i++)
        if (fields[i].flag && fields[i].uses & verb->fields) {
            struct cli_option option = option_of_field(&fields[i], verb->fields);
            add_option(options, &option);
        }
    for (size_t i = 0; i < verb->option_count; i++)
        add_option(options, &verb->options[i]);
    add_option(options, &help);
}

static const struct cli_option *find_long(const struct cli_options *options, const char *name,
                                          size_t length)
{
    for (size_t i = 0; i < options->count; i++) {
        const char *candidate = options->items[i].name;
        if (strlen(candidate) == length && !memcmp(candidate, name, length))
            return &options->items[i];
    }
    return NULL;
}

static const struct cli_option *find_short(const struct cli_options *options, char name)
{
    for (size_t i = 0; i < options->count; i++)
        if (options->items[i].short_name == name)
            return &options->items[i];
    return NULL;
}

/* A flag of the right name for the wrong verb. */
static int fail_elsewhere(const struct cli_options *options, const char *word,
                          struct hutch_error *err)
{
    size_t field_count = 0, verb_count = 0, used = 0;
    const struct hutch_field *fields = hutch_fields(&field_count);
    const struct cli_verb *const *verbs = cli_verbs(&verb_count);
    char names[64] = "";
    for (size_t i = 0; i < field_count; i++)
        for (size_t v = 0; fields[i].flag && !strcmp(fields[i].flag, word) && v < verb_count; v++)
            if (fields[i].uses & verbs[v]->fields && used < sizeof(names))
                used += (size_t)snprintf(names + used, sizeof(names) - used, "%s'hutch %s'",
                                         used ? ", " : "", verbs[v]->name);
    if (!used)
        return 0;
    return cli_fail(err, HUTCH_E_INVALID, "'hutch %s' has no flag '--%s'; it belongs to %s",
                    options->verb, word, names);
}

static int fail_unknown_long(const struct cli_options *options, const char *name, size_t length,
                             struct hutch_error *err)
{
    char word[64];
    int shown = length < sizeof(word) ? (int)length : (int)sizeof(word) - 1;
    struct cli_suggestion suggestion = {.word = word};
    memcpy(word, name, (size_t)shown);
    word[shown] = '\0';
    int failed = fail_elsewhere(options, word, err);
    if (failed)
        return failed;
    for (size_t i = 0; i < options->count; i++)
        if (options->items[i].help)
            cli_suggestion_offer(&suggestion, options->items[i].name);
    if (!suggestion.best)
        return cli_fail(err, HUTCH_E_INVALID, "unknown flag '--%s'; '--help' lists them", word);
    return cli_fail(err, HUTCH_E_INVALID, "unknown flag '--%s'; did you mean '--%s'?", word,
                    suggestion.best);
}

static int fail_unknown_short(const struct cli_options *options, const char *word, char name,
                              struct hutch_error *err)
{
    size_t length = strcspn(word + 1, "=");
    if (find_long(options, word + 1, length))
        return cli_fail(err, HUTCH_E_INVALID, "unknown flag '%.64s'; did you mean '-%.64s'?", word,
                        word);
    if (word[2])
        return cli_fail(err, HUTCH_E_INVALID, "unknown flag '-%c' in '%.64s'; '--help' lists them",
                        name, word);
    return cli_fail(err, HUTCH_E_INVALID, "unknown flag '%s'; '--help' lists them", word);
}

/* The value of a flag: what was attached to it, or the next word. */
static int take_value(struct cli_cursor *cursor, const struct cli_option *option,
                      const char *attached, const char **ret_value, struct hutch_error *err)
{
    if (!option->metavar) {
        if (attached)
            return cli_fail(err, HUTCH_E_INVALID, "flag '--%s' takes no value", option->name);
        *ret_value = NULL;
    } else if (attached) {
        *ret_value = attached;
    } else if (cursor->index < cursor->argc) {
        *ret_value = cursor->argv[cursor->index++];
    } else {
        return cli_fail(err, HUTCH_E_INVALID, "flag '--%s' needs a value: --%s %s", option->name,
                        option->name, option->metavar);
    }
    return 0;
}

static int next_long(struct cli_cursor *cursor, const char *word,
                     const struct cli_option **ret_option, const char **ret_value,
                     struct hutch_error *err)
{
    const char *name = word + 2;
    size_t length = strcspn(name, "=");
    const struct cli_option *option = find_long(cursor->options, name, length);
    if (!option)
        return fail_unknown_long(cursor->options, name, length, err);
    *ret_option = option;
    return take_value(cursor, option, name[length] ? name + length + 1 : NULL, ret_value, err);
}

/* One flag of a word such as "-it" or "-eK=V"; cluster points at it. */
static int next_short(struct cli_cursor *cursor, const char *word,
                      const struct cli_option **ret_option, const char **ret_value,
                      struct hutch_error *err)
{
    char name = *cursor->cluster++;
    const struct cli_option *option = find_short(cursor->options, name);
    const char *attached = *cursor->cluster ? cursor->cluster : NULL;
    if (!option)
        return fail_unknown_short(cursor->options, word, name, err);
    if (option->metavar || !attached)
        cursor->cluster = NULL;
    *ret_option = option;
    return take_value(cursor, option, option->metavar ? attached : NULL, ret_value, err);
}

int cli_cursor_next(struct cli_cursor *cursor, const struct cli_option **ret_option,
                    const char **ret_value, struct hutch_error *err)
{
    if (cursor->cluster)
        return next_short(cursor, cursor->argv[cursor->index - 1], ret_option, ret_value, err);
    const char *word = cursor->index < cursor->argc ? cursor->argv[cursor->index] : "";
    if (word[0] != '-' || !word[1]) {
        *ret_option = NULL;
        return 0;
    }
    cursor->index++;
    if (!strcmp(word, "--")) {
        *ret_option = NULL;
        return 0;
    }
    if (word[1] == '-')
        return next_long(cursor, word, ret_option, ret_value, err);
    cursor->cluster = word + 1;
    return next_short(cursor, word, ret_option, ret_value, err);
}

void cli_list_done(struct cli_list *list)
{
    free(list->items);
    *list = (struct cli_list){0};
}

static int add_to_list(struct cli_list *list, const char *value, struct hutch_error *err)
{
    const char **items = reallocarray(list->items, list->count + 2, sizeof(*items));
    if (!items)
        return cli_fail_errno(err, ENOMEM, "read the flags");
    items[list->count++] = value;
    items[list->count] = NULL;
    list->items = items;
    return 0;
}

static int store_value(const struct cli_option *option, const char *value, void *target,
                       bool *ret_help, struct hutch_error *err)
{
    void *place = (char *)target + option->offset;
    if (option->kind == CLI_OPTION_LIST)
        return add_to_list(place, value, err);
    if (option->kind == CLI_OPTION_BOOL)
        *(bool *)place = true;
    else if (option->kind == CLI_OPTION_TEXT)
        memcpy(place, &value, sizeof(value));
    else if (option->kind == CLI_OPTION_HELP)
        *ret_help = true;
    return 0;
}

int cli_options_parse(const struct cli_options *options, int argc, char **argv, int *index,
                      void *target, bool *ret_help, struct hutch_error *err)
{
    struct cli_cursor cursor = {.options = options, .argc = argc, .argv = argv, .index = *index};
    bool help = false;
    for (;;) {
        const struct cli_option *option = NULL;
        const char *value = NULL;
        int failed = cli_cursor_next(&cursor, &option, &value, err);
        if (!failed && option)
            failed = store_value(option, value, target, &help, err);
        if (failed)
            return failed;
        if (!option)
            break;
    }
    *index = cursor.index;
    *ret_help = help;
    return 0;
}
