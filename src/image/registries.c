/* SPDX-License-Identifier: Apache-2.0 */
#include "image/registries.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/document.h"
#include "core/quantity.h"
#include "core/suggest.h"
#include "util/fs.h"
#include "util/own.h"

enum { FILE_CEILING = 1 << 20, PATH_BYTES = 4096 };

struct reading {
    const char *path;
    unsigned line; /* of the value that is read */
};

static int wrong_kind(const struct hutch_value *value, const char *wanted, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_INVALID, 0, "%s stands where %s must be",
                      hutch_value_kind(value), wanted);
}

static int read_mirrors(const struct reading *reading, const struct hutch_value *value,
                        struct registry_settings *settings, struct hutch_error *err)
{
    (void)reading;
    if (value->type != HUTCH_VALUE_ARRAY)
        return wrong_kind(value, "a list of URLs", err);
    for (size_t i = 0; i < value->list.count; i++) {
        const char *url = hutch_value_text(&value->list.items[i]);
        if (!url)
            return wrong_kind(&value->list.items[i], "a URL", err);
        if (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0)
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "'%.200s' is no mirror; write https://HOST or https://HOST:PORT",
                              url);
        int r = hutch_strlist_add(&settings->mirrors, url, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_insecure(const struct reading *reading, const struct hutch_value *value,
                         struct registry_settings *settings, struct hutch_error *err)
{
    (void)reading;
    if (value->type != HUTCH_VALUE_BOOL)
        return wrong_kind(value, "true or false", err);
    settings->is_insecure = value->boolean;
    return 0;
}

static int read_ca(const struct reading *reading, const struct hutch_value *value,
                   struct registry_settings *settings, struct hutch_error *err)
{
    const char *text = hutch_value_text(value);
    if (!text || !*text)
        return wrong_kind(value, "the path of a PEM file", err);
    const char *slash = strrchr(reading->path, '/');
    int directory = *text == '/' || !slash ? 0 : (int)(slash - reading->path) + 1;
    if (asprintf(&settings->ca, "%.*s%s", directory, reading->path, text) < 0) {
        settings->ca = NULL;
        return hutch_fail_nomem(err);
    }
    if (access(settings->ca, R_OK) < 0)
        return hutch_fail_errno(err, errno, "read the certificate authority '%.200s'",
                                settings->ca);
    return 0;
}

static int read_stall(const struct reading *reading, const struct hutch_value *value,
                      struct registry_settings *settings, struct hutch_error *err)
{
    static const struct hutch_range range = {HUTCH_QUANTITY_DURATION, 1000, 3600000, false};
    uint64_t milliseconds = 0;
    int r;
    (void)reading;
    if (value->type == HUTCH_VALUE_INTEGER)
        r = hutch_range_from_real(&range, (double)value->integer, &milliseconds, err);
    else if (hutch_value_text(value))
        r = hutch_range_parse(&range, hutch_value_text(value), &milliseconds, err);
    else
        r = wrong_kind(value, "a duration such as 30s", err);
    if (r == 0)
        settings->stall_seconds = (unsigned)(milliseconds / 1000);
    return r;
}

static const struct {
    const char *key;
    int (*read)(const struct reading *reading, const struct hutch_value *value,
                struct registry_settings *settings, struct hutch_error *err);
} keys[] = {
    {"mirrors", read_mirrors},
    {"insecure", read_insecure},
    {"ca", read_ca},
    {"stall", read_stall},
};

static int read_key(struct reading *reading, const struct hutch_value *value,
                    struct registry_settings *settings, struct hutch_error *err)
{
    struct hutch_suggestion near = HUTCH_SUGGESTION(value->key);
    reading->line = value->line;
    for (size_t i = 0; i < HUTCH_COUNT(keys); i++) {
        if (!strcmp(keys[i].key, value->key)) {
            int r = keys[i].read(reading, value, settings, err);
            return r < 0 ? hutch_wrap(err, "%s: ", value->key) : 0;
        }
        hutch_suggestion_offer(&near, keys[i].key, keys[i].key);
    }
    if (near.nearest)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "unknown key '%.100s'; did you mean '%s'?",
                          value->key, near.nearest);
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "unknown key '%.100s'; there are mirrors, insecure, ca and stall",
                      value->key);
}

static int read_registry(struct reading *reading, const struct hutch_value *value,
                         struct registry_settings *settings, struct hutch_error *err)
{
    reading->line = value->line;
    settings->stall_seconds = REGISTRY_STALL_SECONDS;
    settings->name = strdup(value->key);
    if (!settings->name)
        return hutch_fail_nomem(err);
    if (strchr(value->key, '/') || !*value->key)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.100s' is no registry; write HOST or HOST:PORT", value->key);
    if (value->type == HUTCH_VALUE_NULL)
        return 0;
    if (value->type != HUTCH_VALUE_OBJECT) {
        int r = wrong_kind(value, "a map", err);
        return r < 0 ? hutch_wrap(err, "%.100s: ", value->key) : 0;
    }
    for (size_t i = 0; i < value->list.count; i++) {
        int r = read_key(reading, &value->list.items[i], settings, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_all(struct reading *reading, const struct hutch_value *root,
                    struct registries *registries, struct hutch_error *err)
{
    if (root->list.count == 0)
        return 0;
    registries->entries = calloc(root->list.count, sizeof(*registries->entries));
    if (!registries->entries)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < root->list.count; i++) {
        registries->count = i + 1;
        int r = read_registry(reading, &root->list.items[i], &registries->entries[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int load_file(const char *path, struct registries *registries, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    struct hutch_document document = {0};
    struct reading reading = {path, 0};
    const char *ending = strrchr(path, '.');
    bool is_json = ending && !strcmp(ending, ".json");
    size_t length = 0;
    int r = hutch_read_file(path, FILE_CEILING, &text, &length, err);
    if (r < 0)
        return r;
    r = hutch_document_parse(text, length, is_json ? HUTCH_FORMAT_JSON : HUTCH_FORMAT_YAML,
                             &document, err);
    if (r < 0)
        return hutch_wrap(err, "%s: ", path);
    r = read_all(&reading, &document.root, registries, err);
    if (r < 0)
        (void)hutch_wrap(err, "%s:%u: ", path, reading.line);
    hutch_document_done(&document);
    return r;
}

/* False: no such file anywhere, which is the usual case. */
static bool find_file(char path[PATH_BYTES])
{
    const char *named = getenv("HUTCH_REGISTRIES");
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    if (named && *named)
        return snprintf(path, PATH_BYTES, "%s", named) > 0;
    if (config && *config == '/')
        (void)snprintf(path, PATH_BYTES, "%s/hutch/registries.yml", config);
    else
        (void)snprintf(path, PATH_BYTES, "%s/.config/hutch/registries.yml", home ? home : "");
    if (access(path, F_OK) == 0)
        return true;
    (void)snprintf(path, PATH_BYTES, "/etc/hutch/registries.yml");
    return access(path, F_OK) == 0;
}

int registries_load(struct registries *ret_registries, struct hutch_error *err)
{
    char path[PATH_BYTES];
    struct registries registries = {0};
    int r = find_file(path) ? load_file(path, &registries, err) : 0;
    if (r < 0)
        registries_done(&registries);
    else
        *ret_registries = registries;
    return r;
}

void registries_done(struct registries *registries)
{
    for (size_t i = 0; i < registries->count; i++) {
        free(registries->entries[i].name);
        free(registries->entries[i].ca);
        hutch_strlist_done(&registries->entries[i].mirrors);
    }
    free(registries->entries);
    *registries = (struct registries){0};
}

const struct registry_settings *registries_find(const struct registries *registries,
                                                const char *name)
{
    for (size_t i = 0; i < registries->count; i++)
        if (!strcmp(registries->entries[i].name, name))
            return &registries->entries[i];
    return NULL;
}
