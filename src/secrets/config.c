/* SPDX-License-Identifier: Apache-2.0 */
/* The document that says where values come from. */
#include <stdlib.h>
#include <string.h>

#include "core/check.h"
#include "core/document.h"
#include "core/quantity.h"
#include "core/secret_spec.h"
#include "secrets/provider.h"
#include "util/own.h"

#define MAX_PROVIDERS 1024
#define MAX_WORDS 64
#define DEFAULT_TIMEOUT_MS 10000

static const struct hutch_range timeout_range = {HUTCH_QUANTITY_DURATION, 1, 60000, false};

struct reader {
    struct provider_config *config;
    bool tells_lines;
    struct hutch_error *err;
};

static int fail_at(const struct reader *reader, const struct hutch_value *value, const char *what,
                   const char *problem)
{
    if (reader->tells_lines)
        return hutch_fail(reader->err, HUTCH_E_INVALID, 0, "line %u: '%.80s' %s", value->line, what,
                          problem);
    return hutch_fail(reader->err, HUTCH_E_INVALID, 0, "'%.80s' %s", what, problem);
}

static int take_text(const struct reader *reader, const struct hutch_value *value,
                     struct provider *provider, enum provider_kind kind)
{
    const char *text = hutch_value_text(value);
    if (!text || !*text)
        return fail_at(reader, value, value->key, "must be a text");
    if (kind != PROVIDER_ENV && *text != '/')
        return fail_at(reader, value, value->key, "must be an absolute path");
    provider->kind = kind;
    return hutch_strlist_add(&provider->source, text, reader->err);
}

static int take_file(const struct reader *reader, const struct hutch_value *value,
                     struct provider *provider)
{
    return take_text(reader, value, provider, PROVIDER_FILE);
}

static int take_env(const struct reader *reader, const struct hutch_value *value,
                    struct provider *provider)
{
    return take_text(reader, value, provider, PROVIDER_ENV);
}

static int take_directory(const struct reader *reader, const struct hutch_value *value,
                          struct provider *provider)
{
    return take_text(reader, value, provider, PROVIDER_DIRECTORY);
}

static int take_command(const struct reader *reader, const struct hutch_value *value,
                        struct provider *provider)
{
    if (value->type != HUTCH_VALUE_ARRAY || !value->list.count || value->list.count > MAX_WORDS)
        return fail_at(reader, value, value->key,
                       "must be a list of words such as [\"/usr/bin/pass\", \"show\", \"x\"]");
    provider->kind = PROVIDER_COMMAND;
    for (size_t i = 0; i < value->list.count; i++) {
        const char *word = hutch_value_text(&value->list.items[i]);
        if (!word)
            return fail_at(reader, value, value->key, "must have words that are texts");
        if (!i && *word != '/')
            return fail_at(reader, value, word, "must be the absolute path of a program");
        if (hutch_strlist_add(&provider->source, word, reader->err) < 0)
            return -(int)reader->err->code;
    }
    return 0;
}

static int take_timeout(const struct reader *reader, const struct hutch_value *value,
                        struct provider *provider)
{
    const char *text = hutch_value_text(value);
    if (!text)
        return fail_at(reader, value, value->key, "must be a duration such as \"10s\"");
    if (hutch_range_parse(&timeout_range, text, &provider->timeout_ms, reader->err) < 0)
        return hutch_wrap(reader->err, "timeout: ");
    return 0;
}

static int take_newline(const struct reader *reader, const struct hutch_value *value,
                        struct provider *provider)
{
    if (value->type != HUTCH_VALUE_BOOL)
        return fail_at(reader, value, value->key, "must be true or false");
    provider->keeps_newline = value->boolean;
    return 0;
}

static const struct {
    const char *key;
    int (*take)(const struct reader *reader, const struct hutch_value *value,
                struct provider *provider);
    bool is_source;
} keys[] = {
    {"file", take_file, true},        {"env", take_env, true},
    {"command", take_command, true},  {"directory", take_directory, true},
    {"timeout", take_timeout, false}, {"keep_newline", take_newline, false},
};

static int read_members(const struct reader *reader, const struct hutch_value *entry,
                        struct provider *provider)
{
    size_t sources = 0;
    if (entry->type != HUTCH_VALUE_OBJECT)
        return fail_at(reader, entry, entry->key,
                       "must be an object such as {\"file\": \"/path\"}");
    for (size_t i = 0; i < entry->list.count; i++) {
        const struct hutch_value *member = &entry->list.items[i];
        size_t row = 0;
        while (row < HUTCH_COUNT(keys) && strcmp(keys[row].key, member->key) != 0)
            row++;
        if (row == HUTCH_COUNT(keys))
            return fail_at(reader, member, member->key,
                           "is none of file, env, command, directory, timeout and keep_newline");
        sources += keys[row].is_source;
        if (sources > 1)
            return fail_at(reader, entry, entry->key, "has more than one source, leave one");
        if (keys[row].take(reader, member, provider) < 0)
            return -(int)reader->err->code;
    }
    if (!sources)
        return fail_at(reader, entry, entry->key,
                       "has no source, give it a file, env, command or directory");
    if (provider->kind != PROVIDER_COMMAND && provider->timeout_ms != DEFAULT_TIMEOUT_MS)
        return fail_at(reader, entry, entry->key, "has a timeout and no command");
    return 0;
}

static int add(const struct reader *reader, struct provider *provider)
{
    return provider_config_add(reader->config, provider, reader->err);
}

static int read_secret(const struct reader *reader, const struct hutch_value *entry)
{
    struct provider provider = {.timeout_ms = DEFAULT_TIMEOUT_MS};
    if (!hutch_secret_name_is_valid(entry->key))
        return fail_at(reader, entry, entry->key,
                       "is not the name of a secret, use up to 64 letters, digits, '.', '_' and "
                       "'-'");
    int status = read_members(reader, entry, &provider);
    provider.name = status == 0 ? strdup(entry->key) : NULL;
    if (status == 0 && !provider.name)
        status = hutch_fail_nomem(reader->err);
    if (status < 0) {
        hutch_strlist_done(&provider.source);
        return status;
    }
    return add(reader, &provider);
}

static int read_secrets(const struct reader *reader, const struct hutch_value *value)
{
    if (value->type != HUTCH_VALUE_OBJECT || value->list.count > MAX_PROVIDERS)
        return fail_at(reader, value, "secrets",
                       "must be an object of at most 1024 secrets by their names");
    for (size_t i = 0; i < value->list.count; i++)
        if (read_secret(reader, &value->list.items[i]) < 0)
            return -(int)reader->err->code;
    return 0;
}

static int read_directories(const struct reader *reader, const struct hutch_value *value)
{
    if (value->type != HUTCH_VALUE_ARRAY || value->list.count > MAX_WORDS)
        return fail_at(reader, value, "directories", "must be a list of at most 64 paths");
    for (size_t i = 0; i < value->list.count; i++) {
        struct provider provider = {.kind = PROVIDER_DIRECTORY};
        const char *path = hutch_value_text(&value->list.items[i]);
        if (!path || *path != '/')
            return fail_at(reader, &value->list.items[i], path ? path : "directories",
                           "must be an absolute path");
        if (hutch_strlist_add(&provider.source, path, reader->err) < 0)
            return -(int)reader->err->code;
        if (add(reader, &provider) < 0)
            return -(int)reader->err->code;
    }
    return 0;
}

/* A name comes before what a directory has of it, so all names come first. */
int provider_config_parse(struct provider_config *config, const char *text, size_t length,
                          bool is_yaml, struct hutch_error *err)
{
    hutch_cleanup(hutch_document_done) struct hutch_document document = {0};
    if (hutch_document_parse(text, length, is_yaml ? HUTCH_FORMAT_YAML : HUTCH_FORMAT_JSON,
                             &document, err) < 0)
        return -(int)err->code;
    struct reader reader = {config, document.tells_lines, err};
    const struct hutch_value *root = &document.root;
    for (size_t i = 0; i < root->list.count; i++) {
        const char *key = root->list.items[i].key;
        if (strcmp(key, "secrets") != 0 && strcmp(key, "directories") != 0)
            return fail_at(&reader, &root->list.items[i], key,
                           "is unknown here, there are secrets and directories");
    }
    const struct hutch_value *secrets = hutch_value_get(root, "secrets");
    const struct hutch_value *directories = hutch_value_get(root, "directories");
    if (secrets && read_secrets(&reader, secrets) < 0)
        return -(int)err->code;
    return directories ? read_directories(&reader, directories) : 0;
}
